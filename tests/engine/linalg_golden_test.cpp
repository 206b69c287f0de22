// Linear algebra beside NumPy's and SciPy's: golden/linalg.txt, which golden/make_linalg.py writes.
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/golden_calls.h"
#include "tests/support/golden_file.h"
#include "tests/support/test_util.h"

namespace sluice::test {
namespace {

using X = std::span<const Tensor>;
using A = const Attributes&;
using Results = std::vector<Tensor>;

template <typename T>
T given_or(A given, const char* name, T otherwise) {
  const auto found = given.find(name);
  return found == given.end() ? otherwise : std::get<T>(found->second);
}
std::optional<double> rtol_of(A given) {
  if (!given.contains("rtol")) return std::nullopt;
  return given_or(given, "rtol", 0.0);
}
Axes axes_of(A given) {
  const auto axes = given_or(given, "axes", std::vector<int64_t>());
  return {std::vector<int>(axes.begin(), axes.end())};
}
linalg::Norm norm_of(A given, const char* name) {
  const Attribute& order = given.find(name)->second;
  if (const auto* named = std::get_if<std::string>(&order)) return named->c_str();
  return std::get<double>(order);
}

// 1, or -1 for the columns whose greatest element is negative.
Tensor signs_of(const Tensor& columns) {
  if (columns.numel() == 0) return sum(columns, {-2}, true);
  const Tensor at = argmax(abs(columns), {-2}, true);
  return where(take_along_axis(columns, at, -2) < 0, full({}, -1, columns.dtype()), 1);
}

// What is unique but for signs, with those of make_linalg.py; what is not unique is left out.
Results qr(X x, A given) {
  const auto [q, r] = linalg::qr(x[0], given_or(given, "mode", std::string()));
  const int64_t k = std::min(x[0].shape(-2), x[0].shape(-1));
  const Tensor diagonal = linalg::diagonal(r);
  const Tensor signs = where(diagonal < 0, full({}, -1, r.dtype()), 1);
  const Tensor rows = slice(r, -2, 0, k) * expand_dims(signs, -1);
  return {slice(q, -1, 0, k) * expand_dims(signs, -2),
          concat({rows, slice(r, -2, k, r.shape(-2))}, -2)};
}
Results svd(X x, A given) {
  const auto [u, s, vh] = linalg::svd(x[0], given_or(given, "full_matrices", true));
  const Tensor columns = slice(u, -1, 0, s.shape(-1)), signs = signs_of(columns);
  return {columns * signs, s, slice(vh, -2, 0, s.shape(-1)) * matrix_transpose(signs)};
}
Results eigh(X x, A) {
  const auto [w, v] = linalg::eigh(x[0]);
  return {w, v * signs_of(v)};
}

const GoldenForms& forms() {
  static const GoldenForms forms = {
      {"qr", qr},
      {"svd", svd},
      {"eigh", eigh},
      {"cholesky",
       [](X x, A given) -> Results {
         return {linalg::cholesky(x[0], given_or(given, "upper", false))};
       }},
      {"svdvals", [](X x, A) -> Results { return {linalg::svdvals(x[0])}; }},
      {"eigvalsh", [](X x, A) -> Results { return {linalg::eigvalsh(x[0])}; }},
      {"solve", [](X x, A) -> Results { return {linalg::solve(x[0], x[1])}; }},
      {"inv", [](X x, A) -> Results { return {linalg::inv(x[0])}; }},
      {"pinv", [](X x, A given) -> Results { return {linalg::pinv(x[0], rtol_of(given))}; }},
      {"lstsq",
       [](X x, A given) -> Results {
         const auto [solution, residuals, rank, s] = linalg::lstsq(x[0], x[1], rtol_of(given));
         return {solution, residuals, rank, s};
       }},
      {"det", [](X x, A) -> Results { return {linalg::det(x[0])}; }},
      {"slogdet",
       [](X x, A) -> Results {
         const auto [sign, logabsdet] = linalg::slogdet(x[0]);
         return {sign, logabsdet};
       }},
      {"matrix_rank",
       [](X x, A given) -> Results { return {linalg::matrix_rank(x[0], rtol_of(given))}; }},
      {"cond", [](X x, A given) -> Results { return {linalg::cond(x[0], norm_of(given, "p"))}; }},
      {"vector_norm",
       [](X x, A given) -> Results {
         return {linalg::vector_norm(x[0], axes_of(given), given_or(given, "keepdims", false),
                                     given_or(given, "ord", 2.0))};
       }},
      {"matrix_norm",
       [](X x, A given) -> Results {
         return {
             linalg::matrix_norm(x[0], norm_of(given, "ord"), given_or(given, "keepdims", false))};
       }},
      {"matrix_power",
       [](X x, A given) -> Results {
         return {linalg::matrix_power(x[0], given_or(given, "n", int64_t{}))};
       }},
      {"expm", [](X x, A) -> Results { return {linalg::expm(x[0])}; }},
      {"cross",
       [](X x, A given) -> Results {
         return {linalg::cross(x[0], x[1], static_cast<int>(given_or(given, "axis", int64_t{-1})))};
       }},
      {"trace",
       [](X x, A given) -> Results {
         return {linalg::trace(x[0], given_or(given, "offset", int64_t{}))};
       }},
      {"linalg.diagonal",
       [](X x, A given) -> Results {
         return {linalg::diagonal(x[0], given_or(given, "offset", int64_t{}))};
       }},
  };
  return forms;
}

TEST(LinalgGolden, FunctionsGiveWhatNumPyAndSciPyGive) {
  EXPECT_GT(expect_golden_calls(golden_file("linalg.txt"), forms()), 2000);
}

}  // namespace
}  // namespace sluice::test

// Linear algebra: the functions of the Python array API standard's linalg extension, and some of
// NumPy's beside them.
//
// A matrix is the last two axes of a tensor; the axes before them are a batch, and broadcast where
// there are two operands. Computed in float64 of float64, else in float32: half types are rounded
// once at the end, integers and bool become float32. Factors and solutions are those of LAPACK, a
// thread for each matrix, and take their turn like any other op: only expm() waits.
//
// A bad call throws Error (kInvalidArgument) at once. A matrix that cannot be taken apart
// (singular, not positive definite) is an error (kFailedPrecondition) where the result is read, or
// at the next sync(), that names the function, its place and which matrix of the batch. Without a
// LAPACK to be found (see docs/guide/linalg.md), so is all that needs it (kUnimplemented).
#ifndef SLUICE_LINALG_H_
#define SLUICE_LINALG_H_

#include <concepts>
#include <cstdint>
#include <limits>
#include <optional>
#include <string_view>

#include <sluice/ops.h>
#include <sluice/tensor.h>

#pragma GCC visibility push(default)
namespace sluice {
namespace linalg {

// Which norm: "fro" (Frobenius), "nuc" (the sum of the singular values), or a number.
class Norm {
 public:
  Norm(const char* name) : name_(name) {}
  template <typename T>
  requires(std::integral<T> || std::floating_point<T>) && (!std::same_as<T, bool>)Norm(T order)
      : order_(static_cast<double>(order)) {}

  [[nodiscard]] std::string_view name() const { return name_; }  // empty: a number
  [[nodiscard]] double order() const { return order_; }

 private:
  std::string_view name_;
  double order_ = 0;
};

// ---- Factors.

// x (.., n, n) = l l^T: the lower triangle l, of x's lower triangle; or x = u^T u and u, of the
// upper.
Tensor cholesky(Arg x, bool upper = false);

struct QrResult {
  Tensor q, r;
};
// x (.., m, n) = q r: orthonormal columns, and an upper triangle. mode "reduced": q (.., m, k) and
// r (.., k, n), k = min(m, n). "complete": q (.., m, m) and r (.., m, n).
[[nodiscard]] QrResult qr(Arg x, std::string_view mode = "reduced");

struct SvdResult {
  Tensor u, s, vh;
};
// x (.., m, n) = u diag(s) vh: singular values s (.., k) >= 0 in descending order, k = min(m, n),
// and orthonormal u (.., m, m) and vh (.., n, n); (.., m, k) and (.., k, n) unless full_matrices.
[[nodiscard]] SvdResult svd(Arg x, bool full_matrices = true);
Tensor svdvals(Arg x);

struct EighResult {
  Tensor eigenvalues, eigenvectors;
};
// Of symmetric x (.., n, n), of which the lower triangle is read: eigenvalues (.., n) in ascending
// order, and eigenvectors, the columns of (.., n, n).
[[nodiscard]] EighResult eigh(Arg x);
Tensor eigvalsh(Arg x);

// ---- Systems of equations.

// x of a x = b, of a (.., n, n) and b (n,), a vector, or (.., n, k).
Tensor solve(Arg a, Arg b);

struct LstsqResult {
  Tensor solution, residuals, rank, singular_values;
};
// The shortest x of those that minimise |a x - b|, of a (.., m, n) and b (m,) or (.., m, k), by a's
// singular values: those of at most rtol times the greatest count as 0 (rtol: as of matrix_rank()).
// residuals: |a x - b|^2, (.., k), also where a's rank is not n.
[[nodiscard]] LstsqResult lstsq(Arg a, Arg b, std::optional<double> rtol = std::nullopt);

// The inverse of x (.., n, n); the pseudo-inverse (.., n, m) of x (.., m, n), of the singular
// values above rtol times the greatest.
Tensor inv(Arg x);
Tensor pinv(Arg x, std::optional<double> rtol = std::nullopt);

// The determinant of x (.., n, n), 1 of 0x0 matrices.
Tensor det(Arg x);
struct SlogdetResult {
  Tensor sign, logabsdet;
};
// sign * exp(logabsdet) is the determinant; of a singular matrix they are 0 and -inf.
[[nodiscard]] SlogdetResult slogdet(Arg x);

// How many singular values are above rtol (max(m, n) times the dtype's epsilon) times the greatest:
// int64.
Tensor matrix_rank(Arg x, std::optional<double> rtol = std::nullopt);
// |x| |x^-1| in a norm of matrix_norm(); by default the 2-norm, which need not be square: the
// greatest singular value over the least. inf of a singular matrix.
Tensor cond(Arg x, Norm p = 2);

// ---- Norms.

// sum(abs(x)^ord)^(1 / ord) over the axes (all of them, if none is named); ord inf and -inf: the
// greatest and the least of abs(x); 0: how many are not 0. Of nothing 0; the least is an error.
Tensor vector_norm(Arg x, const Axes& axes = {}, bool keepdims = false, double ord = 2);
// Of the last two axes: "fro", "nuc", 1 and inf (the greatest sum of a column's, of a row's
// absolute values), 2 (the greatest singular value), -1, -inf and -2 (the least of them).
Tensor matrix_norm(Arg x, Norm ord = "fro", bool keepdims = false);
// As the standard orders them.
template <std::same_as<bool> B>
Tensor matrix_norm(Arg x, B keepdims, Norm ord = "fro") {
  return matrix_norm(x, ord, keepdims);
}

// ---- Products and powers.

// x x .. x, n times, of x (.., m, m); the inverse's if n is negative. Integers stay, if it is not.
Tensor matrix_power(Arg x, int64_t n);
// e to the power x (.., n, n): Padé's approximation of x scaled down, and squared (Higham, 2005).
// Waits for x, which says how often.
Tensor expm(Arg x);
// The vector that is at right angles to both, of extent 3 along an axis; the others broadcast.
Tensor cross(Arg a, Arg b, int axis = -1);
// The sum of diagonal(x, offset), in `dtype`, or as sum().
Tensor trace(Arg x, int64_t offset = 0, std::optional<DType> dtype = std::nullopt);
// The elements of the last two axes where column = row + offset.
Tensor diagonal(Arg x, int64_t offset = 0);

// Those of ops.h.
using sluice::matmul;
using sluice::matrix_transpose;
using sluice::outer;
using sluice::tensordot;
using sluice::vecdot;

}  // namespace linalg
}  // namespace sluice
#pragma GCC visibility pop

#endif  // SLUICE_LINALG_H_

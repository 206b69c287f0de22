// einsum(): the subscripts are parsed, terms simplified one by one, and then contracted in pairs.
#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <string>

#include <sluice/ops.h>
#include "absl/strings/ascii.h"
#include "absl/strings/str_split.h"
#include "frontend/composed/compose.h"
#include "frontend/composed/contract.h"
#include "frontend/dims.h"
#include "frontend/record.h"
#include "frontend/reduce.h"

namespace sluice {
namespace {

using frontend::describe;
using frontend::Dims;
using frontend::fail;
using frontend::make_shape;
using frontend::span_of;

constexpr const char* kOp = "einsum";

// One for each axis: a letter, or for those of an ellipsis kEllipsis and more, counted from the
// last, as they broadcast.
using Labels = std::vector<int>;
constexpr int kEllipsis = 256;

struct Term {
  Tensor x;
  Labels labels;
};

bool has(const Labels& labels, int label) {
  return std::find(labels.begin(), labels.end(), label) != labels.end();
}
size_t position(const Labels& labels, int label) {
  return std::find(labels.begin(), labels.end(), label) - labels.begin();
}

class Einsum {
 public:
  Einsum(std::string_view subscripts, std::span<const Tensor> operands) : subscripts_(subscripts) {
    std::erase(subscripts_, ' ');
    parse(operands);
    for (Term& term : terms_) {
      drop_broadcast_axes(&term);
      take_diagonals(&term);
    }
  }

  Tensor run() {
    DType dtype = terms_[0].x.dtype();
    for (const Term& term : terms_) dtype = promote(dtype, term.x.dtype());
    const bool is_view = terms_.size() == 1 && terms_[0].labels.size() == output_.size();
    if (!is_view) {
      if (dtype == DType::kBool) fail_here("is not defined for bool");
      // Of half types each sum of products is rounded once, at the end.
      for (Term& term : terms_) term.x = astype(term.x, compute_type(dtype));
    }
    for (size_t i = 0; i < terms_.size(); ++i) sum_alone(i);
    while (terms_.size() > 1) contract_cheapest_pair();
    Dims order;
    for (const int label : output_) order.push_back(position(terms_[0].labels, label));
    const Tensor& x = terms_[0].x;
    const bool in_order = std::is_sorted(order.begin(), order.end());
    return astype(in_order ? x : frontend::permuted(kOp, x, order), dtype);
  }

 private:
  template <typename... Parts>
  [[noreturn]] void fail_here(const Parts&... parts) const {
    fail(kOp, "\"", subscripts_, "\" ", parts...);
  }

  static std::string written(int label) {
    return label < kEllipsis ? std::string(1, static_cast<char>(label)) : "...";
  }

  // The letters of a term, and how many axes its ellipsis stands for: as many as `rank` leaves.
  Labels parse_term(std::string_view text, std::optional<int> rank, int ellipsis_rank) const {
    Labels labels;
    bool has_ellipsis = false;
    const auto letters = static_cast<int>(
        std::count_if(text.begin(), text.end(), [](char c) { return absl::ascii_isalpha(c); }));
    for (size_t i = 0; i < text.size(); ++i) {
      if (absl::ascii_isalpha(text[i])) {
        labels.push_back(text[i]);
      } else if (text.substr(i, 3) == "..." && !has_ellipsis) {
        has_ellipsis = true;
        for (int k = rank ? *rank - letters : ellipsis_rank; k > 0; --k) {
          labels.push_back(kEllipsis + k - 1);
        }
        i += 2;
      } else {
        fail_here("has '", std::string(1, text[i]), "' where a letter or one ellipsis belongs");
      }
    }
    return labels;
  }

  void parse(std::span<const Tensor> operands) {
    const std::vector<std::string> sides = absl::StrSplit(subscripts_, "->");
    if (sides.size() > 2) fail_here("has more than one \"->\"");
    const std::vector<std::string> texts = absl::StrSplit(sides[0], ',');
    if (texts.size() != operands.size()) {
      fail_here("names ", texts.size(), " operands, was given ", operands.size());
    }
    int ellipsis_rank = 0;
    for (size_t i = 0; i < texts.size(); ++i) {
      const Tensor& x = operands[i];
      frontend::node_of(kOp, x);
      frontend::common_device(kOp, operands[0], x);
      Labels labels = parse_term(texts[i], x.ndim(), 0);
      if (static_cast<int>(labels.size()) != x.ndim()) {
        fail_here("names ", labels.size(), " axes (", texts[i], ") of ", describe(x));
      }
      for (int axis = 0; axis < x.ndim(); ++axis) {
        check_repeated(labels, axis, x);
        add_extent(labels[axis], x.shape()[axis], x);
        ellipsis_rank = std::max(ellipsis_rank, labels[axis] - kEllipsis + 1);
      }
      terms_.push_back({x, std::move(labels)});
    }
    if (sides.size() == 2) {
      output_ = parse_term(sides[1], std::nullopt, ellipsis_rank);
    } else {
      output_ = implicit_output(ellipsis_rank);
    }
    check_output(ellipsis_rank);
  }

  // Of a diagonal both extents are the same.
  void check_repeated(const Labels& labels, int axis, const Tensor& x) const {
    const auto first = static_cast<int>(position(labels, labels[axis]));
    if (x.shape()[first] == x.shape()[axis]) return;
    fail_here("has ", written(labels[axis]), " of extents ", x.shape()[first], " and ",
              x.shape()[axis], " in ", describe(x));
  }

  void add_extent(int label, int64_t extent, const Tensor& x) {
    int64_t& known = extents_.emplace(label, extent).first->second;
    if (known == 1) known = extent;
    if (extent != 1 && extent != known) {
      fail_here("has ", written(label), " of extent ", known, " and, of ", describe(x), ", ",
                extent);
    }
  }

  // The ellipsis, then the letters that are there once.
  Labels implicit_output(int ellipsis_rank) const {
    Labels labels;
    for (int k = ellipsis_rank; k > 0; --k) labels.push_back(kEllipsis + k - 1);
    for (const auto& [label, extent] : extents_) {
      ptrdiff_t count = 0;
      for (const Term& term : terms_) {
        count += std::count(term.labels.begin(), term.labels.end(), label);
      }
      if (label < kEllipsis && count == 1) labels.push_back(label);
    }
    return labels;
  }

  void check_output(int ellipsis_rank) const {
    for (size_t i = 0; i < output_.size(); ++i) {
      if (position(output_, output_[i]) != i) {
        fail_here("has ", written(output_[i]), " twice in its result");
      }
      if (!extents_.contains(output_[i])) {
        fail_here("has ", written(output_[i]), " in its result alone");
      }
    }
    if (ellipsis_rank > 0 && !has(output_, kEllipsis)) fail_here("has no ellipsis in its result");
    if (output_.size() > kMaxRank) fail_here("gives more than ", kMaxRank, " dimensions");
  }

  // Axes of extent 1 that others have more of.
  void drop_broadcast_axes(Term* term) const {
    Labels labels;
    Dims dims;
    for (size_t axis = 0; axis < term->labels.size(); ++axis) {
      const int64_t extent = term->x.shape()[static_cast<int>(axis)];
      if (extent != extents_.at(term->labels[axis])) continue;
      labels.push_back(term->labels[axis]);
      dims.push_back(extent);
    }
    if (labels.size() == term->labels.size()) return;
    *term = {reshape(term->x, make_shape(kOp, span_of(dims), term->x)), std::move(labels)};
  }

  static void take_diagonals(Term* term) {
    Labels& labels = term->labels;
    for (size_t i = 0; i < labels.size();) {
      const int label = labels[i];
      const auto again = std::find(labels.begin() + i + 1, labels.end(), label);
      if (again == labels.end()) {
        ++i;
        continue;
      }
      term->x = diagonal(term->x, 0, static_cast<int>(i), static_cast<int>(again - labels.begin()));
      labels.erase(again);
      labels.erase(labels.begin() + i);
      labels.push_back(label);
    }
  }

  // Whether the result or a term that is none of these two has the label.
  bool is_kept(int label, size_t i, size_t j) const {
    if (has(output_, label)) return true;
    for (size_t k = 0; k < terms_.size(); ++k) {
      if (k != i && k != j && has(terms_[k].labels, label)) return true;
    }
    return false;
  }

  // Sums over the labels that nothing else has.
  void sum_alone(size_t i) {
    Term& term = terms_[i];
    Labels kept;
    std::vector<int> axes;
    for (size_t axis = 0; axis < term.labels.size(); ++axis) {
      if (is_kept(term.labels[axis], i, i)) {
        kept.push_back(term.labels[axis]);
      } else {
        axes.push_back(static_cast<int>(axis));
      }
    }
    if (axes.empty()) return;
    term.x = frontend::reduce(kOp, fusion::Op::kSum, term.x, axes, false, term.x.dtype());
    term.labels = std::move(kept);
  }

  double count(const Labels& labels) const {
    double count = 1;
    for (const int label : labels) count *= static_cast<double>(extents_.at(label));
    return count;
  }

  // Greedily: the pair whose product takes the least room beside what it replaces, then the one
  // that takes the fewest multiplications.
  void contract_cheapest_pair() {
    using Cost = std::pair<double, double>;
    Cost least(std::numeric_limits<double>::infinity(), 0);
    size_t first = 0, second = 1;
    for (size_t i = 0; i < terms_.size(); ++i) {
      for (size_t j = i + 1; j < terms_.size(); ++j) {
        Labels all = terms_[i].labels;
        for (const int label : terms_[j].labels) {
          if (!has(all, label)) all.push_back(label);
        }
        Labels kept;
        for (const int label : all) {
          if (is_kept(label, i, j)) kept.push_back(label);
        }
        const Cost cost(count(kept) - count(terms_[i].labels) - count(terms_[j].labels),
                        count(all));
        if (cost >= least) continue;
        least = cost;
        first = i;
        second = j;
      }
    }
    Term product = contract(first, second);
    terms_.erase(terms_.begin() + static_cast<ptrdiff_t>(second));
    terms_[first] = std::move(product);
  }

  // Where a label is in the result; those that are not come last.
  size_t rank_in_output(int label) const { return position(output_, label); }

  Term contract(size_t i, size_t j) const {
    Labels batch, summed, rest_a, rest_b;
    for (const int label : terms_[i].labels) {
      if (!has(terms_[j].labels, label)) {
        rest_a.push_back(label);
      } else {
        (is_kept(label, i, j) ? batch : summed).push_back(label);
      }
    }
    for (const int label : terms_[j].labels) {
      if (!has(terms_[i].labels, label)) rest_b.push_back(label);
    }
    const size_t rank = batch.size() + summed.size() + rest_a.size() + rest_b.size();
    const bool is_product = count(summed) > 1 && count(rest_a) > 1 && count(rest_b) > 1;
    if (!is_product && rank <= kMaxRank) return multiply_and_sum(terms_[i], terms_[j], summed);
    // Rows and columns as the result has them.
    auto first = [&](const Labels& labels) {
      return labels.empty() ? output_.size() : rank_in_output(labels.front());
    };
    const bool turned = first(rest_b) < first(rest_a);
    return multiply_matrices(turned ? terms_[j] : terms_[i], turned ? terms_[i] : terms_[j], batch,
                             summed);
  }

  static Term multiply_matrices(const Term& a, const Term& b, const Labels& batch,
                                const Labels& summed) {
    frontend::Contraction axes;
    for (const int label : batch) {
      axes.batch_a.push_back(static_cast<int>(position(a.labels, label)));
      axes.batch_b.push_back(static_cast<int>(position(b.labels, label)));
    }
    for (const int label : a.labels) {
      if (!has(summed, label)) continue;
      axes.summed_a.push_back(static_cast<int>(position(a.labels, label)));
      axes.summed_b.push_back(static_cast<int>(position(b.labels, label)));
    }
    Labels labels = batch;
    for (const Term* term : {&a, &b}) {
      for (const int label : term->labels) {
        if (!has(batch, label) && !has(summed, label)) labels.push_back(label);
      }
    }
    return {frontend::contracted(kOp, a.x, b.x, axes), std::move(labels)};
  }

  // One kernel, with what the terms are made of.
  Term multiply_and_sum(const Term& a, const Term& b, const Labels& summed) const {
    Labels labels;
    for (const Term* term : {&a, &b}) {
      for (const int label : term->labels) {
        if (!has(summed, label) && !has(labels, label)) labels.push_back(label);
      }
    }
    std::sort(labels.begin(), labels.end(), [&](int left, int right) {
      return std::pair(rank_in_output(left), left) < std::pair(rank_in_output(right), right);
    });
    const size_t kept = labels.size();
    labels.insert(labels.end(), summed.begin(), summed.end());
    Tensor product = aligned(a, labels) * aligned(b, labels);
    if (!summed.empty()) {
      std::vector<int> axes;
      for (size_t axis = kept; axis < labels.size(); ++axis) axes.push_back(static_cast<int>(axis));
      const DType dtype = product.dtype();
      product = frontend::reduce(kOp, fusion::Op::kSum, product, axes, false, dtype);
      labels.resize(kept);
    }
    return {std::move(product), std::move(labels)};
  }

  // With an axis for each label, of extent 1 where the term has none.
  static Tensor aligned(const Term& term, const Labels& labels) {
    Dims order, dims;
    for (const int label : labels) {
      const size_t axis = position(term.labels, label);
      const bool is_there = axis < term.labels.size();
      dims.push_back(is_there ? term.x.shape()[static_cast<int>(axis)] : 1);
      if (is_there) order.push_back(static_cast<int64_t>(axis));
    }
    const bool in_order = std::is_sorted(order.begin(), order.end());
    return reshape(in_order ? term.x : frontend::permuted(kOp, term.x, order),
                   make_shape(kOp, span_of(dims), term.x));
  }

  std::string subscripts_;
  std::vector<Term> terms_;
  Labels output_;
  std::map<int, int64_t> extents_;
};

}  // namespace

Tensor einsum(std::string_view subscripts, std::span<const Tensor> operands, Location where) {
  const engine::CallSite site(where, kOp);
  return frontend::in_name_of(kOp, [&] { return Einsum(subscripts, operands).run(); });
}
Tensor einsum(std::string_view subscripts, std::initializer_list<Tensor> operands, Location where) {
  return einsum(subscripts, std::span(operands.begin(), operands.size()), where);
}

}  // namespace sluice

#include "kernels/cuda/library/attention/dnn_attention.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace sluice::kernels::cuda {
namespace {

// For one query the library has an engine that divides keys, as our own kernel does; of so few
// more, one that leaves most of its rows empty (H200: 16 queries of 32 heads 101 us, our own kernel
// 77).
constexpr int64_t kFewQueries = 32;
constexpr int64_t kLeastVersion = 91002;  // those before have faults
constexpr int kLeastCapability = 80;
constexpr int64_t kDepthUnit = 8, kMostDepth = 256;

size_t index_of(DnnAttention::Id id) { return static_cast<size_t>(id - DnnAttention::kQueries); }

// Writes the graph. Engines are found by its pattern: they know attention by exactly these
// operations, with the rows' statistics though nobody reads them.
class AttentionGraph {
 public:
  AttentionGraph(DnnDescriptors* made, const DnnAttention& of) : made_(*made), of_(of) {
    scores_ = {of.batch, of.heads, of.length, of.key_length};
    rows_ = {of.batch, of.heads, of.length, 1};
  }

  std::vector<DnnDescriptor> build() {
    const DnnDataType half = dnn_type(of_.dtype);
    // The second operand of the first product has a key in each column.
    const DnnAttention::Extents keys = of_.extents_of(DnnAttention::kKeys);
    Extents strides = of_.strides[1];
    std::swap(strides[2], strides[3]);
    const DnnDescriptor transposed = make_tensor(&made_, DnnAttention::kKeys, half,
                                                 {keys[0], keys[1], keys[3], keys[2]}, strides);

    DnnDescriptor scores = next(scores_);
    multiply(tensor(DnnAttention::kQueries), transposed, scores);
    scores = apply(DnnPointwise::kMultiply, scores_, scores, value(DnnAttention::kScale));
    if (of_.is_causal) scores = mask_later_keys(scores);

    const DnnDescriptor greatest = reduce(DnnReduction::kMaximum, scores);
    const DnnDescriptor shares = apply(DnnPointwise::kExp, scores_,
                                       apply(DnnPointwise::kSubtract, scores_, scores, greatest));
    const DnnDescriptor totals = reduce(DnnReduction::kAdd, shares);
    apply(DnnPointwise::kAdd, rows_, greatest, apply(DnnPointwise::kLog, rows_, totals));
    const DnnDescriptor rounded = next(scores_, half);
    apply_to(rounded, DnnPointwise::kDivide, shares, totals);
    multiply(rounded, tensor(DnnAttention::kValues), tensor(DnnAttention::kResult));
    return std::move(operations_);
  }

 private:
  using Extents = DnnAttention::Extents;
  using A = DnnAttribute;
  using D = DnnDescriptorType;

  DnnDescriptor mask_later_keys(DnnDescriptor scores) {
    const DnnDescriptor rows = index(scores, 2), columns = index(scores, 3);
    const DnnDescriptor is_seen = next(scores_, DnnDataType::kBoolean);
    apply_to(is_seen, DnnPointwise::kGreaterEqual, rows, columns, nullptr, DnnDataType::kBoolean);
    const DnnDescriptor masked = next(scores_);
    apply_to(masked, DnnPointwise::kSelect, scores, value(DnnAttention::kNever), is_seen);
    return masked;
  }

  DnnDescriptor tensor(DnnAttention::Id id) {
    const Extents extents = of_.extents_of(id);
    const std::vector<int64_t> dense = dense_strides(extents);
    return make_tensor(
        &made_, id, dnn_type(of_.dtype), extents,
        id == DnnAttention::kResult ? absl::MakeConstSpan(dense) : of_.strides[index_of(id)]);
  }
  DnnDescriptor value(DnnAttention::Id id) {
    const Extents one = {1, 1, 1, 1};
    return make_tensor(&made_, id, DnnDataType::kFloat32, one, one, DnnTensorKind::kValue);
  }
  DnnDescriptor next(const Extents& extents, DnnDataType type = DnnDataType::kFloat32) {
    return make_tensor(&made_, next_id_++, type, extents, dense_strides(extents),
                       DnnTensorKind::kVirtual);
  }

  void put(DnnDescriptor operation) {
    made_.finalize(operation);
    operations_.push_back(operation);
  }
  void multiply(DnnDescriptor a, DnnDescriptor b, DnnDescriptor c) {
    const DnnDescriptor how = made_.make(D::kMatmul);
    made_.set(how, A::kMatmulCompType, DnnType::kDataType, DnnDataType::kFloat32);
    made_.finalize(how);
    const DnnDescriptor operation = made_.make(D::kOperationMatmul);
    made_.set(operation, A::kOperationMatmulA, DnnType::kDescriptor, a);
    made_.set(operation, A::kOperationMatmulB, DnnType::kDescriptor, b);
    made_.set(operation, A::kOperationMatmulC, DnnType::kDescriptor, c);
    made_.set(operation, A::kOperationMatmul, DnnType::kDescriptor, how);
    put(operation);
  }
  // Of each row.
  DnnDescriptor reduce(DnnReduction by, DnnDescriptor x) {
    const DnnDescriptor how = made_.make(D::kReduction);
    made_.set(how, A::kReductionOperator, DnnType::kReductionOperator, by);
    made_.set(how, A::kReductionCompType, DnnType::kDataType, DnnDataType::kFloat32);
    made_.finalize(how);
    const DnnDescriptor y = next(rows_), operation = made_.make(D::kOperationReduction);
    made_.set(operation, A::kOperationReductionX, DnnType::kDescriptor, x);
    made_.set(operation, A::kOperationReductionY, DnnType::kDescriptor, y);
    made_.set(operation, A::kOperationReduction, DnnType::kDescriptor, how);
    put(operation);
    return y;
  }
  DnnDescriptor index(DnnDescriptor like, int64_t axis) {
    const DnnDescriptor y = next(scores_, DnnDataType::kInt32);
    apply_to(y, DnnPointwise::kIndex, like, nullptr, nullptr, DnnDataType::kFloat32, axis);
    return y;
  }
  DnnDescriptor apply(DnnPointwise f, const Extents& extents, DnnDescriptor x,
                      DnnDescriptor b = nullptr) {
    const DnnDescriptor y = next(extents);
    apply_to(y, f, x, b);
    return y;
  }
  void apply_to(DnnDescriptor y, DnnPointwise f, DnnDescriptor x, DnnDescriptor b,
                DnnDescriptor t = nullptr, DnnDataType precision = DnnDataType::kFloat32,
                int64_t axis = -1) {
    const DnnDescriptor how = made_.make(D::kPointwise);
    made_.set(how, A::kPointwiseMode, DnnType::kPointwiseMode, f);
    made_.set(how, A::kPointwiseCompType, DnnType::kDataType, precision);
    if (axis >= 0) made_.set(how, A::kPointwiseAxis, DnnType::kInt64, axis);
    made_.finalize(how);
    const DnnDescriptor operation = made_.make(D::kOperationPointwise);
    made_.set(operation, A::kOperationPointwise, DnnType::kDescriptor, how);
    made_.set(operation, A::kOperationPointwiseX, DnnType::kDescriptor, x);
    if (b != nullptr) made_.set(operation, A::kOperationPointwiseB, DnnType::kDescriptor, b);
    if (t != nullptr) made_.set(operation, A::kOperationPointwiseT, DnnType::kDescriptor, t);
    made_.set(operation, A::kOperationPointwiseY, DnnType::kDescriptor, y);
    put(operation);
  }

  DnnDescriptors& made_;
  const DnnAttention& of_;
  Extents scores_{}, rows_{};
  int64_t next_id_ = DnnAttention::kFirstVirtual;
  std::vector<DnnDescriptor> operations_;
};

}  // namespace

DnnAttention::DnnAttention(const fusion::AttentionAttributes& of)
    : dtype(of.dtype),
      batch(of.batch),
      heads(of.heads),
      key_heads(of.key_heads),
      length(of.length),
      key_length(of.key_length),
      depth(of.depth),
      value_depth(of.value_depth),
      is_causal(of.flags.causal != 0) {
  for (const Id id : {kQueries, kKeys, kValues}) {
    const std::vector<int64_t> dense = dense_strides(extents_of(id));
    std::copy(dense.begin(), dense.end(), strides[index_of(id)].begin());
  }
}

bool DnnAttention::can_be(const fusion::AttentionAttributes& of, int capability, int64_t version) {
  // A mask may leave a row without keys, of which the library makes something of its own.
  return is_half(of.dtype) && of.mask() == fusion::AttentionMask::kNone &&
         capability >= kLeastCapability && version >= kLeastVersion && of.depth % kDepthUnit == 0 &&
         of.value_depth % kDepthUnit == 0 && of.depth <= kMostDepth &&
         of.value_depth <= kMostDepth && of.depth > 0 && of.value_depth > 0 && of.key_length > 0 &&
         (of.length == 1 || of.length > kFewQueries);
}

DnnAttention::Extents DnnAttention::extents_of(Id id) const {
  switch (id) {
    case kQueries: return {batch, heads, length, depth};
    case kKeys: return {batch, key_heads, key_length, depth};
    case kValues: return {batch, key_heads, key_length, value_depth};
    default: return {batch, heads, length, value_depth};
  }
}

bool DnnAttention::place(Id id, const Extents& of) {
  const Extents extents = extents_of(id);
  const int64_t unit = kDnnAlignment / static_cast<int64_t>(size_of(dtype));
  Extents& to = strides[index_of(id)];
  Extents taken = to;
  for (size_t i = 0; i < of.size(); ++i) {
    if (extents[i] == 1) continue;
    if (i == 3 ? of[i] != 1 : of[i] <= 0 || of[i] % unit != 0) return false;
    taken[i] = of[i];
  }
  to = taken;
  return true;
}

DnnWork DnnAttention::work() const {
  int64_t elements = 0;
  for (const Id id : {kQueries, kKeys, kValues, kResult}) {
    const Extents extents = extents_of(id);
    elements += extents[0] * extents[1] * extents[2] * extents[3];
  }
  return {.make_operations =
              [*this](DnnDescriptors* made) { return AttentionGraph(made, *this).build(); },
          .may_round = true,
          .bytes = elements * static_cast<int64_t>(size_of(dtype))};
}

}  // namespace sluice::kernels::cuda

// Random programs: ops of all types on random views, gathers, predicates, reductions.
#ifndef SLUICE_TESTS_CUDA_CUDA_RANDOM_PROGRAM_H_
#define SLUICE_TESTS_CUDA_CUDA_RANDOM_PROGRAM_H_

#include <algorithm>
#include <random>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/cuda/cuda_cases.h"
#include "tests/support/strange_floats.h"

namespace sluice::kernels::cuda::testing {

using fusion::Level;
using fusion::Op;
using sluice::testing::floats;
using sluice::testing::strange_floats;

// Adds a case, the same for the same seed.
class RandomProgram {
 public:
  RandomProgram(uint64_t seed, Cases* cases) : rng_(seed) {
    const Schedule schedule = static_cast<Schedule>(pick(0, 2));
    for (int64_t d = pick(1, 3); d > 0; --d) kept_.push_back(pick(1, 9));
    if (schedule != Schedule::kPointwise) {
      for (int64_t d = pick(1, 2); d > 0; --d) reduced_.push_back(pick(1, 40));
    }
    extents_ = kept_;
    extents_.insert(extents_.end(), reduced_.begin(), reduced_.end());
    c_ = &cases->add(absl::StrCat("seed ", seed), schedule, kept_, reduced_);
    for (int64_t i = pick(1, 4); i > 0; --i) add_load(/*along_reduced=*/true);
    for (int64_t i = pick(3, 40); i > 0; --i) add_value();
    for (int64_t i = pick(1, 5); i > 0; --i) store(any_value());
    store(static_cast<ValueId>(program().body.size() - 1));
  }

 private:
  Case& c() { return *c_; }
  const Program& program() const { return c_->program(); }
  int64_t pick(int64_t low, int64_t high) {
    return low + static_cast<int64_t>(rng_() % static_cast<uint64_t>(high - low + 1));
  }
  DType any_dtype() { return static_cast<DType>(pick(0, kNumDTypes - 1)); }
  ValueId any_value() {
    return static_cast<ValueId>(pick(0, static_cast<int64_t>(program().body.size()) - 1));
  }
  ValueId value_as(DType dtype) {
    const ValueId v = any_value();
    return c()->dtype_of_value(v) == dtype ? v : c()->cast(v, dtype);
  }
  std::vector<int64_t> any_strides(int64_t* count, int64_t* offset, bool along_reduced) {
    std::vector<int64_t> strides(extents_.size(), 0);
    *count = 1;
    *offset = 0;
    for (size_t d = extents_.size(); d-- > 0;) {
      if (pick(0, 4) == 0 || (d >= kept_.size() && !along_reduced)) continue;
      strides[d] = *count;
      *count *= extents_[d];
      if (pick(0, 3) > 0) continue;
      *offset += strides[d] * (extents_[d] - 1);
      strides[d] = -strides[d];
    }
    return strides;
  }
  uint16_t any_access(int64_t* count, bool along_reduced) {
    int64_t offset = 0;
    const std::vector<int64_t> strides = any_strides(count, &offset, along_reduced);
    const DType dtype = any_dtype();
    const std::vector<float> values = pick(0, 1)
                                          ? floats(*count, static_cast<uint32_t>(rng_()))
                                          : strange_floats(*count, static_cast<uint32_t>(rng_()));
    return c()->access(c().input(dtype, values), dtype, strides, offset, pick(0, 1));
  }
  void add_load(bool along_reduced) {
    int64_t count = 0;
    const uint16_t access = any_access(&count, along_reduced);
    c()->load(access);
  }
  ValueId add_coordinate() {
    int64_t count = 0, offset = 0;
    const std::vector<int64_t> strides = any_strides(&count, &offset, pick(0, 1));
    return c()->coordinate(strides, offset);
  }
  void add_predicated() {
    const ValueId predicate = c()->op(Op::kLess, {add_coordinate(), c()->param(pick(0, 20))});
    int64_t count = 0;
    const uint16_t access = any_access(&count, pick(0, 1));
    c()->load(access, {predicate});
  }
  void add_gather() {
    const int64_t count = pick(1, 30);
    const DType dtype = any_dtype();
    const uint16_t access = c()->access(c().input(dtype, floats(count)), dtype,
                                        std::vector<int64_t>(extents_.size(), 0));
    const ValueId index = value_as(kInt64), extent = c()->param(count);
    if (pick(0, 1)) {
      c()->gather(access, {c()->check_index({index, extent})});
    } else {
      const ValueId predicate = value_as(kBool);
      c()->gather(access, {c()->check_index({index, extent, predicate}), predicate});
    }
  }
  void add_scalar() {
    visit_dtype(any_dtype(), [&]<typename T>() {
      c()->scalar(element_of<T>(static_cast<float>(pick(-300, 300)) / 16, 1));
    });
  }
  void add_reduction() {
    const Op ops[] = {Op::kSum,    Op::kProd,   Op::kMax, Op::kMin,
                      Op::kArgMax, Op::kArgMin, Op::kAny, Op::kAll};
    const Op op = ops[pick(0, 7)];
    ValueId v = any_value();
    if (c()->level_of_value(v) != Level::kElement) v = c()->op(Op::kExpand, {v});
    const fusion::Domain domain = is_arg_reduction(op) ? fusion::kAll : fusion::op_info(op).domain;
    if (in_domain(domain, c()->dtype_of_value(v))) c()->op(op, {v});
  }
  void add_op() {
    const Op op = static_cast<Op>(pick(0, fusion::kNumOps - 1));
    if (!is_pointwise(op) || op == Op::kCast) return;
    const fusion::OpInfo& info = fusion::op_info(op);
    DType dtype = info.operand_dtype;
    if (info.rule != fusion::TypeRule::kFixed) {
      dtype = c()->dtype_of_value(any_value());
      if (!in_domain(info.domain, dtype)) return;
    }
    const bool is_select = info.rule == fusion::TypeRule::kSelect;
    const ValueId first = value_as(is_select ? kBool : dtype);
    if (info.arity == 1) {
      c()->op(op, {first});
    } else if (info.arity == 2) {
      c()->op(op, {first, value_as(dtype)});
    } else {
      const ValueId second = value_as(dtype);
      c()->op(op, {first, second, value_as(dtype)});
    }
  }
  void add_value() {
    switch (pick(0, 19)) {
      case 0: return add_load(pick(0, 1));
      case 1: return add_predicated();
      case 2: return add_gather();
      case 3: return add_scalar();
      case 4: (void)c()->cast(any_value(), any_dtype()); return;
      case 5:
      case 6:
      case 7:
      case 8:
        if (!reduced_.empty()) return add_reduction();
        [[fallthrough]];
      default: return add_op();
    }
  }
  void store(ValueId v) {
    std::vector<int64_t> extents = extents_;
    if (c()->level_of_value(v) != Level::kElement && pick(0, 3) > 0) {
      std::fill(extents.begin() + kept_.size(), extents.end(), 0);
    }
    c().store(v, extents);
  }

  std::mt19937_64 rng_;
  Case* c_;
  std::vector<int64_t> kept_, reduced_, extents_;
};

}  // namespace sluice::kernels::cuda::testing

#endif  // SLUICE_TESTS_CUDA_CUDA_RANDOM_PROGRAM_H_

// Writes Programs tersely, together with the arguments that they run on.
#ifndef SLUICE_TESTS_SUPPORT_PROGRAM_BUILDER_H_
#define SLUICE_TESTS_SUPPORT_PROGRAM_BUILDER_H_

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <vector>

#include "fusion/ir/program.h"
#include "kernels/executable.h"

namespace sluice::testing {

// Values are added in order; levels and operand counts are filled in. Example: y = x + 1,
//
//   ProgramBuilder b(fusion::Schedule::kPointwise, {n});
//   const auto x = b.load(b.access(in.data(), {1}));
//   b.store(b.op(fusion::Op::kAdd, {x, b.scalar(1.f)}), b.access(out.data(), {1}));
//   launch(b.program(), *make_interpreter(b.program()), b.args());
class ProgramBuilder {
 public:
  using ValueId = fusion::ValueId;

  ProgramBuilder(fusion::Schedule schedule, std::vector<int64_t> kept,
                 std::vector<int64_t> reduced = {})
      : extents_(kept) {
    program_.schedule = schedule;
    program_.outer_rank = static_cast<uint8_t>(kept.size());
    program_.reduced_rank = static_cast<uint8_t>(reduced.size());
    extents_.insert(extents_.end(), reduced.begin(), reduced.end());
  }

  // An access of `data` (one buffer for each address) with a stride for each dim, in elements.
  // kAny instead of a stride's exact class along the lanes: `general`.
  uint16_t access(void* data, DType dtype, std::vector<int64_t> strides, int64_t offset = 0,
                  bool general = false) {
    fusion::Access form;
    if (data != nullptr) form.buffer = buffer(data);
    form.dtype = dtype;
    const int64_t lane = strides[program_.lane_dim()];
    form.lanes = lane == 0   ? fusion::StrideClass::kZero
                 : lane == 1 ? fusion::StrideClass::kUnit
                             : fusion::StrideClass::kAny;
    auto varies = [](int64_t stride) { return stride != 0; };
    const auto middle = strides.begin() + program_.outer_rank;
    form.varies_along_outer = std::any_of(strides.begin(), middle, varies);
    form.varies_along_reduced = std::any_of(middle, strides.end(), varies);
    const bool lanes_vary = program_.schedule == fusion::Schedule::kRow ? form.varies_along_reduced
                                                                        : form.varies_along_outer;
    if (general && lanes_vary) form.lanes = fusion::StrideClass::kAny;
    program_.accesses.push_back(form);
    strides.push_back(offset);
    access_args_.insert(access_args_.end(), strides.begin(), strides.end());
    return static_cast<uint16_t>(program_.accesses.size() - 1);
  }
  template <Element T>
  uint16_t access(T* data, std::vector<int64_t> strides, int64_t offset = 0) {
    return access(data, dtype_of<T>(), std::move(strides), offset);
  }

  ValueId load(uint16_t access, std::initializer_list<ValueId> predicate = {}) {
    return add(fusion::Op::kLoad, program_.accesses[access].dtype, predicate, access);
  }
  ValueId gather(uint16_t access, std::initializer_list<ValueId> index_and_predicate) {
    return add(fusion::Op::kGather, program_.accesses[access].dtype, index_and_predicate, access);
  }
  ValueId coordinate(std::vector<int64_t> strides, int64_t offset = 0) {
    return add(fusion::Op::kCoordinate, DType::kInt64, {},
               access(nullptr, DType::kInt64, std::move(strides), offset));
  }
  // index, extent[, predicate]
  ValueId check_index(std::initializer_list<ValueId> operands) {
    return add(fusion::Op::kCheckIndex, DType::kInt64, operands, program_.num_error_slots++);
  }
  template <Element T>
  ValueId scalar(T value) {
    scalars_.push_back(0);
    std::memcpy(&scalars_.back(), &value, sizeof(value));
    return add(fusion::Op::kScalar, dtype_of<T>(), {}, program_.num_scalars++);
  }
  ValueId param(int64_t value) {
    params_.push_back(value);
    return add(fusion::Op::kParam, DType::kInt64, {}, program_.num_params++);
  }
  ValueId cast(ValueId value, DType dtype) { return add(fusion::Op::kCast, dtype, {value}, 0); }
  // A pointwise op, a reduction or kExpand. The dtype is that of the last operand where the op's
  // rule does not say another.
  ValueId op(fusion::Op op, std::initializer_list<ValueId> operands) {
    const fusion::OpInfo& info = fusion::op_info(op);
    DType dtype = program_.body[*(operands.end() - 1)].dtype;
    if (fusion::is_arg_reduction(op))
      dtype = DType::kInt64;
    else if (fusion::is_reduction(op)) {
    } else if (info.rule == fusion::TypeRule::kPredicate)
      dtype = DType::kBool;
    else if (info.rule == fusion::TypeRule::kFixed)
      dtype = info.result_dtype;
    return add(op, dtype, operands, 0);
  }
  void store(ValueId value, uint16_t access) { program_.stores.push_back({value, access}); }

  const fusion::Program& program() const { return program_; }
  fusion::Program& program() { return program_; }
  DType dtype_of_value(ValueId value) const { return program_.body[value].dtype; }
  fusion::Level level_of_value(ValueId value) const { return program_.body[value].level; }
  // Valid until the builder changes. Error slots are reset.
  kernels::KernelArgs args() {
    errors_ = std::vector<kernels::ErrorSlot>(program_.num_error_slots);
    return {buffers_.data(), extents_.data(), access_args_.data(),
            scalars_.data(), params_.data(),  errors_.data()};
  }
  // Of the last args().
  const kernels::ErrorSlot& error(int slot) const { return errors_[slot]; }

 private:
  uint16_t buffer(void* data) {
    const auto found = std::find(buffers_.begin(), buffers_.end(), data);
    if (found != buffers_.end()) return static_cast<uint16_t>(found - buffers_.begin());
    buffers_.push_back(data);
    return program_.num_buffers++;
  }

  ValueId add(fusion::Op op, DType dtype, std::initializer_list<ValueId> operands, uint16_t aux) {
    fusion::Instr instr;
    instr.op = op;
    instr.dtype = dtype;
    instr.aux = aux;
    instr.num_operands = static_cast<uint8_t>(operands.size());
    std::copy(operands.begin(), operands.end(), instr.operands);
    instr.level = fusion::Level::kUniform;
    for (ValueId operand : operands) {
      instr.level = std::max(instr.level, program_.body[operand].level);
    }
    if (op == fusion::Op::kLoad || op == fusion::Op::kGather || op == fusion::Op::kCoordinate) {
      const fusion::Access& access = program_.accesses[aux];
      if (access.varies_along_outer) instr.level = std::max(instr.level, fusion::Level::kRow);
      if (access.varies_along_reduced) instr.level = fusion::Level::kElement;
    }
    if (fusion::is_reduction(op)) instr.level = fusion::Level::kRow;
    if (op == fusion::Op::kExpand) instr.level = fusion::Level::kElement;
    program_.body.push_back(instr);
    return static_cast<ValueId>(program_.body.size() - 1);
  }

  fusion::Program program_;
  std::vector<int64_t> extents_;
  std::vector<void*> buffers_;
  std::vector<int64_t> access_args_;
  std::vector<uint64_t> scalars_;
  std::vector<int64_t> params_;
  std::vector<kernels::ErrorSlot> errors_;
};

}  // namespace sluice::testing

#endif  // SLUICE_TESTS_SUPPORT_PROGRAM_BUILDER_H_

// Emits single instructions and stores of a Program into a function: arguments, addresses, memory.
// KernelEmitter emits the loops around them. Includes LLVM.
#ifndef SLUICE_KERNELS_LLVM_BODY_EMITTER_H_
#define SLUICE_KERNELS_LLVM_BODY_EMITTER_H_

#include <map>
#include <utility>
#include <vector>

#include "fusion/ir/program.h"
#include "kernels/llvm/ir_builder.h"
#include "kernels/llvm/packed_plan.h"

namespace sluice::kernels {

class BodyEmitter {
 public:
  // `args_block` is where kernel arguments are loaded, on first use; it ends in no terminator yet
  // and dominates all else. `args` is the KernelArgs pointer.
  BodyEmitter(const fusion::Program& program, llvm::BasicBlock* args_block, llvm::Value* args);

  llvm::Value* extent(int dim);

  // The place that emitted instructions stand at. Outer dims first: `outer` are the indices of all
  // but the last.
  void set_outer(const std::vector<llvm::Value*>& outer);
  // Lanes along a reduced dim: the index of the last outer dim.
  void set_row(llvm::Value* index);
  // Lanes along an outer dim: the first lane's index.
  void set_lane_start(llvm::Value* index) { lane_start_ = index; }
  // The linear index along the reduced dims; of the first lane if lanes run along them.
  void set_reduced(llvm::Value* index);
  // Where an access that is read by tiles finds the element of lane index 0.
  void set_tile(uint16_t access, llvm::Value* pointer) { tiles_[access] = pointer; }
  // The element of `access` at the indices of all outer dims.
  llvm::Value* pointer_at(uint16_t access, const std::vector<llvm::Value*>& indices);
  // Of a comparison between an index along the lanes and a value that is the same in all lanes: the
  // outcome at `lane_index`, and the first lane index whose outcome differs from all before it (0
  // if there is none).
  llvm::Value* compare_index(fusion::ValueId comparison, llvm::Value* lane_index);
  llvm::Value* comparison_change(fusion::ValueId comparison);
  llvm::Value* lane_stride(uint16_t access) { return stride(access, program_.lane_dim()); }
  // Packed rows, in blocks that begin at `row`: lanes are its rows, or the points of its vector
  // `v`. With `windows` the lanes of loads of which that is true may be picked from whole vectors.
  void set_packed_rows(const PackedPlan* plan, llvm::Value* row);
  void set_packed_points(const PackedPlan* plan, llvm::Value* row, int v, bool windows);
  // Lanes are rows: loads each column of an interleaved load, for set_packed_points().
  void load_columns(fusion::ValueId id);
  // Which lanes exist; null for all.
  void set_active(llvm::Value* mask) { active_ = mask; }
  llvm::Value* active() const { return active_; }

  void emit(fusion::ValueId id);
  void emit_store(const fusion::Store& store);

  // The value in the current lane count: one that has a single lane is splat.
  llvm::Value* value(fusion::ValueId id);
  // A value that is the same in all lanes, as a scalar.
  llvm::Value* scalar(fusion::ValueId id) { return values_[id]; }
  void set_value(fusion::ValueId id, llvm::Value* value) { values_[id] = value; }
  // Makes the splats here that the instructions and stores will need, not inside a loop.
  void splat_operands(const std::vector<fusion::ValueId>& instrs,
                      const std::vector<fusion::Store>& stores);
  // A value of a compute type, rounded to the half type that `dtype` may be.
  llvm::Value* round(DType dtype, llvm::Value* value);

 private:
  // A lane's element lies at base + scalar + lane offset, in elements.
  struct Address {
    fusion::StrideClass lanes = fusion::StrideClass::kZero;
    llvm::Value* base = nullptr;     // a pointer, or an int64 for an access with no buffer
    llvm::Value* scalar = nullptr;   // null: 0
    llvm::Value* offsets = nullptr;  // kAny: of each lane
  };

  // Loads `KernelArgs.*field[index]`, in the arguments' block.
  llvm::Value* argument(size_t field, size_t index, llvm::Type* type);
  llvm::Value* stride(uint16_t access, int dim);
  llvm::Value* offset(uint16_t access);
  llvm::Value* buffer(uint16_t access);
  llvm::Value* lane_strides(uint16_t access);

  // The address of `access` at the indices of the first so many outer dims, in elements.
  llvm::Value* element_at(uint16_t access, const std::vector<llvm::Value*>& indices);
  llvm::Value* base(uint16_t access);
  Address address(uint16_t access, fusion::Level level);
  Address packed_address(uint16_t access);
  // Of each lane's row and column, in vector `v` of a block of packed rows.
  llvm::Value* packed_offsets(uint16_t access, int v);
  llvm::Value* load_window(const fusion::Instr& instr);
  llvm::Value* interleave(fusion::ValueId id);
  llvm::Value* scalar_pointer(const Address& address, DType dtype);
  llvm::Value* lane_pointers(const Address& address, DType dtype);
  llvm::Value* lane_indices(const Address& address);

  llvm::Value* load(const Address& address, DType dtype, llvm::Value* mask);
  llvm::Value* load_lanes(llvm::Value* pointers, DType dtype, llvm::Value* mask);
  void store_lanes(llvm::Value* value, llvm::Value* pointers, DType dtype, llvm::Value* mask);
  // Between memory and compute types.
  llvm::Value* decode(DType dtype, llvm::Value* stored);
  llvm::Value* encode(DType dtype, llvm::Value* value);

  // The operand of a comparison that is the index along the lanes.
  int index_operand(const fusion::Instr& comparison) const;
  llvm::Value* emit_scalar(const fusion::Instr& instr);
  llvm::Value* emit_load(fusion::ValueId id);
  llvm::Value* emit_gather(const fusion::Instr& instr);
  llvm::Value* emit_check_index(const fusion::Instr& instr);

  const fusion::Program& program_;
  ir::Builder& builder_;
  llvm::IRBuilder<>& ir_;
  llvm::BasicBlock* args_block_;
  llvm::Value* args_;
  llvm::AllocaInst* zeros_;  // a vector of zeros: inactive lanes read from here
  llvm::AllocaInst* sink_;   // and write to here
  std::map<std::pair<size_t, size_t>, llvm::Value*> arguments_;
  std::map<uint16_t, llvm::Value*> lane_strides_;

  std::vector<llvm::Value*> outer_bases_;  // by access: its address at the outer indices
  std::vector<llvm::Value*> bases_;        // likewise, and in the row
  std::map<uint16_t, llvm::Value*> tiles_;
  llvm::Value* lane_start_ = nullptr;
  std::vector<llvm::Value*> reduced_;  // index of each reduced dim, of every lane if they differ
  llvm::Value* active_ = nullptr;

  // Packed rows.
  struct Packed {
    const PackedPlan* plan = nullptr;
    llvm::Value* row = nullptr;
    int vector = -1;  // -1: lanes are rows
    bool windows = false;
    std::map<std::pair<uint16_t, int>, llvm::Value*> offsets;  // by access and vector
    std::map<fusion::ValueId, std::vector<llvm::Value*>> columns;
  };
  Packed packed_;

  std::vector<llvm::Value*> values_;
  // For a single-lane value: the value and its splat.
  std::vector<std::pair<llvm::Value*, llvm::Value*>> splats_;
};

}  // namespace sluice::kernels

#endif  // SLUICE_KERNELS_LLVM_BODY_EMITTER_H_

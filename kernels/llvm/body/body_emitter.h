// Emits single instructions and stores of a Program into a function: arguments, addresses, memory.
// KernelEmitter emits the loops around them. Includes LLVM.
#ifndef SLUICE_KERNELS_LLVM_BODY_EMITTER_H_
#define SLUICE_KERNELS_LLVM_BODY_EMITTER_H_

#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "fusion/ir/packed_rows.h"
#include "fusion/ir/program.h"
#include "kernels/llvm/ir/builder.h"
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
  llvm::Value* lane_start() const { return lane_start_; }
  // The linear index along the reduced dims; of the first lane if lanes run along them.
  void set_reduced(llvm::Value* index);
  // The index of each reduced dim; lanes along reduced dims: the linear one only.
  const std::vector<llvm::Value*>& reduced() const { return reduced_; }
  // Lanes along several reduced dims: the indices of all but the last of them, and the linear index
  // of the element there whose last index is 0. Lanes are of this run, until the next call.
  void set_run(const std::vector<llvm::Value*>& indices, llvm::Value* start);
  // Where an access that is read by tiles finds the element of lane index 0; where lanes run along
  // reduced dims, of linear index 0; in a column reduction, of reduced index 0, the others
  // following a vector apart.
  void set_tile(uint16_t access, llvm::Value* pointer) { tiles_[access] = pointer; }
  // It is read where it is again.
  void clear_tile(uint16_t access) { tiles_.erase(access); }
  // What loads of `access` have read, as memory holds it, until this is null again.
  void set_read(uint16_t access, llvm::Value* lanes) { reads_[access] = lanes; }
  // The element of `access` at the indices of all outer dims.
  llvm::Value* pointer_at(uint16_t access, const std::vector<llvm::Value*>& indices);
  // Whether all that is read by steps is read from end to begin, where that is to be asked once: a
  // load that asks by itself is twice the code. Null: it is not. What is emitted after
  // set_flipped() relies on the answer.
  llvm::Value* are_flipped();
  void set_flipped(bool are_flipped) { flips_ = are_flipped ? Flips::kAll : Flips::kNone; }
  // Where the row, or the row of a block, begins.
  llvm::Value* row_pointer(uint16_t access);
  // The first lane's element at the current index along the reduced dims.
  llvm::Value* element_pointer(uint16_t access);
  // The first lane's element of `access` in the current row at these indices along reduced dims.
  llvm::Value* pointer_in_row(uint16_t access, const std::vector<llvm::Value*>& reduced);
  // Of a comparison between an index along the lanes and a value that is the same in all lanes: the
  // outcome at `lane_index`, and the first lane index whose outcome differs from all before it (0
  // if there is none).
  llvm::Value* compare_index(fusion::ValueId comparison, llvm::Value* lane_index);
  llvm::Value* comparison_change(fusion::ValueId comparison);
  llvm::Value* stride(uint16_t access, int dim);
  // The address of an access where all indices are 0.
  llvm::Value* start_of(uint16_t access) { return pointer_at(access, {}); }
  llvm::Value* lane_stride(uint16_t access) { return stride(access, program_.lane_dim()); }
  // Packed rows, in blocks that begin at `row`: lanes are its rows, or the points of its vector
  // `v`. With `windows` the lanes of loads of which that is true may be picked from whole vectors.
  void set_packed_rows(const PackedPlan* plan, llvm::Value* row);
  void set_packed_points(const PackedPlan* plan, llvm::Value* row, int v, bool windows);
  // Where each row is a block: whether what the row reads in windows lies in one page each.
  llvm::Value* reads_one_page();
  // Finds here, once for all blocks, which lanes of the current vector a predicate has loads read,
  // or, with `otherwise`, those where it does not hold.
  void prepare_predicate(fusion::ValueId predicate, bool otherwise = false);
  // Lanes are rows: loads each column of an interleaved load, for set_packed_points().
  void load_columns(fusion::ValueId id);
  // Which lanes exist, the first `count` (an i32); null for all.
  void set_active(llvm::Value* mask, llvm::Value* count = nullptr) {
    active_ = mask;
    active_count_ = count;
  }
  llvm::Value* active() const { return active_; }
  llvm::Value* active_count() const { return active_count_; }

  void emit(fusion::ValueId id);
  void emit_store(const fusion::Store& store);
  void emit_store(const fusion::Store& store, llvm::Value* stored);

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
  // A float16 value, which is a float32 here, as a half; and a half as a value.
  llvm::Value* narrowed(llvm::Value* value);
  llvm::Value* widened(llvm::Value* half);

 private:
  // A lane's element lies at base + scalar + lane offset, in elements.
  struct Address {
    fusion::StrideClass lanes = fusion::StrideClass::kZero;
    llvm::Value* base = nullptr;     // a pointer, or an int64 for an access with no buffer
    llvm::Value* scalar = nullptr;   // null: 0
    llvm::Value* offsets = nullptr;  // kAny: of each lane
    llvm::Value* step = nullptr;     // kAny: from lane to lane, if that is always the same
  };

  // Loads `KernelArgs.*field[index]`, in the arguments' block.
  llvm::Value* argument(size_t field, size_t index, llvm::Type* type);
  llvm::Value* offset(uint16_t access);
  llvm::Value* buffer(uint16_t access);
  llvm::Value* lane_strides(uint16_t access);

  // The address of `access` at the indices of the first so many outer dims, in elements.
  llvm::Value* element_at(uint16_t access, const std::vector<llvm::Value*>& indices);
  llvm::Value* base(uint16_t access);
  Address address(uint16_t access, fusion::Level level);
  // Of an index that is one more from lane to lane, that of the first lane; else null.
  llvm::Value* first_index(fusion::ValueId id);
  // A comparison of such an index with what is the same in all lanes: by lanes of 32 bits, however
  // wide the index is. Null for another.
  llvm::Value* emit_index_comparison(const fusion::Instr& instr);
  Address packed_address(uint16_t access);
  // Of each lane's row and column, in vector `v` of a block of packed rows.
  llvm::Value* packed_offsets(uint16_t access, int v);
  // By element of a vector from `first` on: whether one of the wanted lanes of a window takes it.
  llvm::Value* wanted_elements(const Window& window, int first, llvm::Value* wanted);
  // `distance`: null for 0. Of `wanted` lanes nothing else is read; null: all lanes of the window's
  // vectors are read, wanted or not.
  llvm::Value* load_window(const fusion::Instr& instr, llvm::Value* distance, llvm::Value* wanted);
  // Lanes are elements of one row, picked from whole vectors of it.
  llvm::Value* load_picked(fusion::ValueId id);
  // Lanes are elements of one row, at one of two distances (fusion::chooser_of).
  llvm::Value* load_rolled(fusion::ValueId gather);
  // What was read, by an instruction of its own.
  llvm::Value* apart(llvm::Value* read, DType dtype);
  // Consecutive lanes, wanted or not.
  llvm::Value* load_whole(const Address& address, DType dtype);
  // An index with a chooser, where that holds or where it does not.
  llvm::Value* distance_if(bool holds, fusion::ValueId index);
  // Of a gather: where its lanes are consecutive, if they are all of one row, whose index they
  // share.
  std::optional<Address> packed_run(const fusion::Instr& gather);
  // A gather of whole rows, of which a vector has several.
  llvm::Value* load_rows(fusion::ValueId gather);
  llvm::Value* interleave(fusion::ValueId id);
  llvm::Value* scalar_pointer(const Address& address, DType dtype);
  llvm::Value* lane_pointers(const Address& address, DType dtype);
  llvm::Value* lane_indices(const Address& address);

  llvm::Value* load(const Address& address, DType dtype, llvm::Value* mask);
  // Consecutive lanes of a mask, as memory holds them; zeros elsewhere.
  llvm::Value* load_masked(llvm::Type* vector, llvm::Value* pointer, DType dtype,
                           llvm::Value* mask);
  // Lanes that are some step apart, as memory holds them: whole vectors, if the step is -1.
  llvm::Value* load_flipped(const Address& address, DType dtype);
  // `mostly_same`: this is not where lanes mostly come from.
  llvm::Value* load_lanes(llvm::Value* pointers, DType dtype, llvm::Value* mask,
                          bool mostly_same = false);
  llvm::Value* gather_narrow(llvm::Value* pointers, DType dtype, llvm::Value* mask);
  // The active lanes, which are the first so many.
  void store_first(llvm::Value* lanes, llvm::Value* pointer, DType dtype);
  void store_lanes(llvm::Value* value, llvm::Value* pointers, DType dtype, llvm::Value* mask);
  // Between memory and compute types.
  llvm::Value* decode(DType dtype, llvm::Value* stored);
  llvm::Value* encode(DType dtype, llvm::Value* value);
  llvm::Value* canonical_half(DType dtype, llvm::Value* bits);

  // One of Program::interleaved.
  struct Interleaved {
    // Where vectors were loaded: they serve the other loads of the same lanes.
    struct Point {
      llvm::BasicBlock* block = nullptr;
      llvm::Value* lane_start = nullptr;
      llvm::Value* reduced = nullptr;
      llvm::Value* active = nullptr;
      bool operator==(const Point&) const = default;
    };
    const std::vector<uint16_t>* accesses;
    Point point;
    // By place: what has been loaded, as memory holds it, or is yet to be stored.
    std::vector<llvm::Value*> vectors;
  };
  // The list that `access` is in, if whole vectors are best moved here; else null.
  Interleaved* interleaved(uint16_t access);
  // Which lanes of the `part`-th of its consecutive vectors exist and may be read; null for all.
  llvm::Value* mask_of_part(int part, const Interleaved& group);
  // The places at the end that nobody needs.
  static int unread(const Interleaved& group);
  llvm::Value* load_interleaved(Interleaved* group, const fusion::Instr& instr);
  // By place, from the first element at `start` on.
  std::vector<llvm::Value*> load_vectors(const Interleaved& group, llvm::Value* start, DType dtype);
  // The same, where nothing is unread: a part of each row at a time, which are transposed.
  std::vector<llvm::Value*> load_transposed(const Interleaved& group, llvm::Value* start,
                                            DType dtype);
  // Stores once it has the values of all places.
  void store_interleaved(Interleaved* group, const fusion::Store& store, llvm::Value* encoded);

  // A comparison of an index along the lanes, which is operand `operand` and which at lane index 0
  // is `start`, with `bound`.
  struct IndexComparison {
    int operand;
    llvm::Value* start;
    uint16_t access;
    llvm::Value* bound;
  };
  IndexComparison index_comparison(fusion::ValueId comparison);
  llvm::Value* emit_scalar(const fusion::Instr& instr);
  // `predicate`: kNoValue for none.
  llvm::Value* emit_read(Address at, DType dtype, fusion::ValueId predicate);
  llvm::Value* emit_load(fusion::ValueId id);
  llvm::Value* emit_gather(fusion::ValueId id);
  // An index of a gather as it lies in memory, one lane behind the other. To read it from there
  // once more, lane by lane, takes less than to take a vector of it apart, or than gathers of the
  // hardware (measured on Zen 5: 0.23 ns an element, 0.37 by gathers).
  struct StoredIndex {
    llvm::Value* pointer = nullptr;
    DType dtype = DType::kInt64;
    llvm::Value* index = nullptr;    // in lanes, as read
    llvm::Value* checked = nullptr;  // the same if none is negative or out of range
    llvm::Value* scale = nullptr;    // a scalar that it is multiplied by; null for none
  };
  std::optional<StoredIndex> stored_index(const fusion::Instr& gather);
  // Where each lane begins, of an access whose lanes are near each other or rows.
  bool has_lane_offsets(uint16_t access, const Address& start) const;
  llvm::Value* lane_offset(uint16_t access, const Address& start, int lane);
  llvm::Value* gather_by_stored(const fusion::Instr& gather, const Address& start,
                                const StoredIndex& stored);
  llvm::Value* emit_check_index(const fusion::Instr& instr);
  // Where an index is below zero, or outside.
  llvm::Value* wrap_and_check(const fusion::Instr& instr, llvm::Value* index, llvm::Value* extent);
  llvm::Value* emit_native_half(const fusion::Instr& instr);
  // Copies of `value` in all lanes.
  llvm::Value* splat(llvm::Value* value);

  const fusion::Program& program_;
  const bool moves_halves_;
  enum class Flips { kNone, kAll, kByLoad } flips_;
  ir::Builder& builder_;
  llvm::IRBuilder<>& ir_;
  llvm::BasicBlock* args_block_;
  llvm::Value* args_;
  llvm::AllocaInst* zeros_;  // a vector of zeros: inactive lanes read from here
  llvm::AllocaInst* sink_;   // and write to here
  std::map<std::pair<size_t, size_t>, llvm::Value*> arguments_;
  std::map<std::pair<uint16_t, int>, llvm::Value*> lane_strides_;  // by access and lane count

  const std::vector<bool> selected_;       // by value
  std::vector<llvm::Value*> outer_bases_;  // by access: its address at the outer indices
  std::vector<llvm::Value*> bases_;        // likewise, and in the row
  std::map<uint16_t, llvm::Value*> tiles_;
  std::map<uint16_t, llvm::Value*> reads_;
  llvm::Value* lane_start_ = nullptr;
  // By access: what to add to the linear index of an element of the run, times the last stride.
  std::vector<llvm::Value*> run_offsets_;
  std::vector<llvm::Value*> reduced_;
  llvm::Value* reduced_index_ = nullptr;  // the linear one
  llvm::Value* active_ = nullptr;
  llvm::Value* active_count_ = nullptr;
  std::vector<Interleaved> interleaved_;
  std::map<uint16_t, size_t> interleaved_of_;  // by access: where in interleaved_

  // Packed rows.
  struct Packed {
    const PackedPlan* plan = nullptr;
    llvm::Value* row = nullptr;
    int vector = -1;  // -1: lanes are rows
    bool windows = false;
    std::map<std::pair<uint16_t, int>, llvm::Value*> offsets;  // by access and vector
    std::map<fusion::ValueId, std::vector<llvm::Value*>> columns;
    // By predicate and active lanes: both, and whether there are any.
    std::map<std::pair<llvm::Value*, llvm::Value*>, std::pair<llvm::Value*, llvm::Value*>> masks;
    // By predicate that was prepared to hold nowhere else: where it does not hold.
    std::map<std::pair<llvm::Value*, llvm::Value*>, llvm::Value*> otherwise;
  };
  Packed packed_;
  std::vector<fusion::Variation> variation_;  // by value of a packed program

  std::vector<llvm::Value*> values_;
  // For a single-lane value: the value and its splat.
  std::vector<std::pair<llvm::Value*, llvm::Value*>> splats_;
};

}  // namespace sluice::kernels

#endif  // SLUICE_KERNELS_LLVM_BODY_EMITTER_H_

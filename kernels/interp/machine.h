// Runs bytecode: one Machine for each call of an entry point, on the scratch of its thread.
#ifndef SLUICE_KERNELS_INTERP_MACHINE_H_
#define SLUICE_KERNELS_INTERP_MACHINE_H_

#include <cstdint>
#include <vector>

#include "kernels/executable.h"
#include "kernels/interp/access.h"
#include "kernels/interp/bytecode.h"
#include "kernels/interp/prefix.h"
#include "kernels/interp/tree.h"

namespace sluice::kernels::interp {

// Where a register's value lies: in the register, or directly in a buffer if the elements there are
// consecutive and need no conversion.
struct Value {
  const void* data;
  bool uniform;  // one element stands for all
};

// Reused by all calls on a thread, which never nest.
struct Scratch {
  std::vector<char> storage;
  std::vector<Value> values;
  std::vector<BoundAccess> accesses;
  std::vector<Tree> trees;
  std::vector<Prefix> prefixes;
};

class Machine {
 public:
  Machine(const Bytecode& code, const KernelArgs& args, Scratch* scratch);

  // The three entry points of kernels/executable.h.
  void rows(int64_t begin, int64_t end);
  void block(int64_t begin, int64_t end, int64_t first, int64_t last, char* partials);
  void finish(int64_t begin, int64_t end, int64_t num_blocks, const char* partials,
              int64_t partial_stride);

 private:
  void bind();
  void bind(const Binding& binding, BoundAccess* access) const;
  // Decides how [begin, end) is cut into batches of rows and tiles of elements.
  void plan(int64_t begin, int64_t end);
  // Calls f() for each batch, with row_ and num_rows_ set.
  template <typename F>
  void for_each_batch(int64_t begin, int64_t end, F&& f);

  // The element code of a pass over elements [begin, end) of the batch's rows, of whole leaves but
  // for the rows' last. Reductions are left unrounded.
  void run_pass(const Pass& pass, int64_t begin, int64_t end);
  // Rounds the results of a pass's reductions and makes them the values of their registers.
  void publish(const Pass& pass);

  // Runs `code` over n points, numbered from `start` in the order that its bindings follow.
  void run(const std::vector<Instruction>& code, int64_t start, int64_t n);
  void map(const Instruction& instr, int64_t n);
  void load(const Instruction& instr, int64_t start, int64_t n);
  void load_where(const Instruction& instr, const bool* predicate, int64_t start, int64_t n);
  void gather(const Instruction& instr, int64_t start, int64_t n);
  void coordinate(const Instruction& instr, int64_t start, int64_t n);
  void scalar(const Instruction& instr);
  void check_index(const Instruction& instr, int64_t n);
  void expand(const Instruction& instr);
  void reduce(const Instruction& instr, int64_t n);
  void scan(const Instruction& instr, int64_t n);
  void reduce_arg(const Reduction& reduction, const char* x, int64_t n);
  void store(const Instruction& instr, int64_t start, int64_t n);

  char* memory(Register reg) const { return scratch_ + code_.registers[reg]; }
  char* temporary(int k) const { return scratch_ + code_.temporaries + k * code_.tile * 8; }
  // `value` with an element for each of n points, in temporary k if it has to be copied.
  const void* expanded(const Value& value, size_t size, int64_t n, int k) const;
  void set_constant(const Instruction& instr, uint64_t bits);

  const Bytecode& code_;
  const KernelArgs& args_;
  const LoopTable& table_;
  char* scratch_;
  Value* values_;
  BoundAccess* accesses_;
  Tree* trees_;       // by reduction
  Prefix* prefixes_;  // by scan

  int64_t num_outer_ = 1;    // rows in all
  int64_t num_reduced_ = 1;  // elements in a row
  int64_t batch_ = 1;        // rows in a batch, at most
  // A tile spans several rows (row schedule) or several elements of each of all rows (column
  // schedule); else it is a part of one row, or one element of each row of the batch.
  bool spans_ = false;
  int64_t row_ = 0;       // the batch's first
  int64_t num_rows_ = 0;  // in the batch
  int64_t element_ = 0;   // the tile's first, within its row
  int64_t end_ = 0;       // the last that the pass is run on, plus 1
};

}  // namespace sluice::kernels::interp

#endif  // SLUICE_KERNELS_INTERP_MACHINE_H_

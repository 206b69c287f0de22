#include "kernels/llvm/body/instr_order.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "kernels/llvm/host.h"

namespace sluice::kernels {

using fusion::Instr;
using fusion::Op;
using fusion::Program;
using fusion::Store;
using fusion::ValueId;

int most_alive(const Program& program, const std::vector<ValueId>& instrs,
               const std::vector<bool>& varying) {
  const size_t end = instrs.size();
  std::vector<size_t> last_use(program.body.size(), end);
  for (size_t i = 0; i < end; ++i) {
    const Instr& instr = program.body[instrs[i]];
    last_use[instrs[i]] = i;
    for (int k = 0; k < instr.num_operands; ++k) last_use[instr.operands[k]] = i;
  }
  for (const Store& store : program.stores) last_use[store.value] = end;
  std::vector<int> dying(end + 1);
  for (const ValueId id : instrs) dying[last_use[id]] += varying[id];
  int alive = 0, most = 0;
  for (size_t i = 0; i < end; ++i) {
    alive += varying[instrs[i]];
    most = std::max(most, alive);
    alive -= dying[i];
  }
  return most;
}

namespace {

// `instrs`, which is in the order of the body, with those of short chains of operands ahead of
// those of long ones: what a step of a recurrence adds to a result is added before the next step.
std::vector<ValueId> short_chains_first(const Program& program,
                                        const std::vector<ValueId>& instrs) {
  std::vector<int> depth(program.body.size(), 0);
  std::vector<bool> waits(program.body.size(), false);
  for (const ValueId id : instrs) {
    const Instr& instr = program.body[id];
    waits[id] = true;
    for (int k = 0; k < instr.num_operands; ++k) {
      depth[id] = std::max(depth[id], depth[instr.operands[k]] + 1);
    }
  }
  std::vector<ValueId> order, stack;
  for (auto store = program.stores.rbegin(); store != program.stores.rend(); ++store) {
    stack.push_back(store->value);
  }
  while (!stack.empty()) {
    const ValueId id = stack.back();
    const Instr& instr = program.body[id];
    std::vector<ValueId> missing;
    for (int k = 0; waits[id] && k < instr.num_operands; ++k) {
      if (waits[instr.operands[k]]) missing.push_back(instr.operands[k]);
    }
    if (!missing.empty()) {
      // The last of the stack is the first to be computed; equals as in the body.
      std::sort(missing.begin(), missing.end(), [&](ValueId a, ValueId b) {
        return std::pair(depth[a], a) > std::pair(depth[b], b);
      });
      stack.insert(stack.end(), missing.begin(), missing.end());
      continue;
    }
    stack.pop_back();
    if (waits[id]) order.push_back(id);
    waits[id] = false;
  }
  return order;
}

}  // namespace

void save_registers(const Program& program, const std::vector<bool>& varying, int vectors,
                    std::vector<ValueId>* instrs) {
  const int registers = host().masked_vectors ? 32 : 16;
  const bool is_pure = std::none_of(instrs->begin(), instrs->end(), [&](ValueId id) {
    const Op op = program.body[id].op;
    return op == Op::kCheckIndex || op == Op::kGather;
  });
  if (!is_pure) return;
  const int alive = most_alive(program, *instrs, varying);
  if (vectors * alive <= registers) return;
  std::vector<ValueId> order = short_chains_first(program, *instrs);
  if (order.size() == instrs->size() && most_alive(program, order, varying) < alive) {
    *instrs = std::move(order);
  }
}

}  // namespace sluice::kernels

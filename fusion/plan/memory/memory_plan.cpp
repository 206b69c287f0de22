#include "fusion/plan/memory/memory_plan.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "fusion/ir/packed_rows.h"
#include "fusion/ir/scan.h"
#include "fusion/library/matmul.h"

namespace sluice::fusion {
namespace {

// True if the kernel touches buffer `b` only where it stores that result, in elements of its size.
bool is_read_in_place(const KernelCall& call, int32_t b, const Store& store) {
  const Program& program = call.program;
  // What is stored once a row may be read before the row and after it, and what an earlier pass
  // stores may be read by a later one.
  if (program.reduced_rank > 0 && (program.body[store.value].level != Level::kElement ||
                                   pass_of(program)[store.value] + 1 < num_passes(program))) {
    return false;
  }
  const size_t words = program.rank() + 1;
  for (size_t i = 0; i < program.accesses.size(); ++i) {
    const Access& access = program.accesses[i];
    if (access.buffer != b) continue;
    if (size_of(access.dtype) != size_of(program.accesses[store.access].dtype) ||
        !std::equal(call.accesses.begin() + i * words, call.accesses.begin() + (i + 1) * words,
                    call.accesses.begin() + store.access * words)) {
      return false;
    }
  }
  return std::none_of(program.body.begin(), program.body.end(),
                      [](const Instr& instr) { return instr.op == Op::kGather; });
}

// Such kernels load everything that a point needs before they store its results, if these are of
// the last pass, and then are done with it.
bool may_work_in_place(const Program& program, InPlace in_place) {
  return program.schedule == Schedule::kPointwise || (in_place.rows && !has_scans(program));
}

class DonorFinder {
 public:
  DonorFinder(Plan* plan, InPlace in_place) : plan_(*plan), in_place_(in_place) {
    for (int32_t s = 0; s < static_cast<int32_t>(plan_.steps.size()); ++s) {
      for_each_memory(plan_.steps[s], [&](const MemoryRef& memory) {
        if (memory.kind != MemoryRef::Kind::kInput) return;
        last_input_use_.resize(std::max<size_t>(last_input_use_.size(), memory.index + 1), -1);
        last_input_use_[memory.index] = s;
      });
    }
    // An output may be a view of an input, which then lives on.
    for (const Output& output : plan_.outputs) {
      if (output.memory.kind != MemoryRef::Kind::kInput) continue;
      const auto input = static_cast<size_t>(output.memory.index);
      if (input < last_input_use_.size()) last_input_use_[input] = -1;
    }
  }

  void run() {
    for (int32_t s = 0; s < static_cast<int32_t>(plan_.steps.size()); ++s) {
      if (plan_.steps[s].library) find_donors_of(*plan_.steps[s].library, s);
      std::vector<KernelCall>& calls = plan_.steps[s].kernels;
      const bool is_shared = calls.size() > 1;
      // By block: in how many calls of the launch it takes part. Calls run side by side.
      absl::flat_hash_map<std::pair<MemoryRef::Kind, int32_t>, int> uses;
      if (is_shared) {
        for (const KernelCall& call : calls) {
          for (const MemoryRef& memory : call.buffers) ++uses[{memory.kind, memory.index}];
        }
      }
      for (KernelCall& call : calls) {
        if (!may_work_in_place(call.program, in_place_)) continue;
        find_donors_of(call, s, [&](const MemoryRef& memory) {
          return !is_shared || uses[{memory.kind, memory.index}] == 1;
        });
      }
    }
  }

 private:
  void find_donors_of(const LibraryCall& call, int32_t step) {
    for (size_t b = 0; b < call.buffers.size(); ++b) {
      if (!dies_at(call.buffers[b], step) || !may_write_over(call, b, in_place_)) continue;
      plan_.results[call.output().index].donors.push_back(call.buffers[b]);
    }
  }

  template <typename F>
  void find_donors_of(KernelCall& call, int32_t step, F is_used_once) {
    std::vector<bool> is_output(call.buffers.size(), false);
    for (const OutputDependence& output : call.outputs) is_output[output.buffer] = true;
    for (size_t b = 0; b < call.buffers.size(); ++b) {
      const MemoryRef& donor = call.buffers[b];
      if (is_output[b] || !is_used_once(donor) || !dies_at(donor, step)) continue;
      for (size_t o = 0; o < call.outputs.size(); ++o) {
        // Of one that several calls write, each writes a part.
        if (!is_used_once(call.memory_of(call.outputs[o]))) continue;
        if (!is_read_in_place(call, static_cast<int32_t>(b), call.program.stores[o])) continue;
        Result& result = plan_.results[call.memory_of(call.outputs[o]).index];
        // What an earlier step stores too has its memory when the donor is still to be read.
        if (result.first_use != step) continue;
        result.donors.push_back(donor);
        call.program.in_place = call.program.schedule != Schedule::kPointwise;
      }
    }
  }

  bool dies_at(const MemoryRef& memory, int32_t step) const {
    if (memory.kind == MemoryRef::Kind::kInput) return last_input_use_[memory.index] == step;
    const Result& result = plan_.results[memory.index];
    return !result.observed && result.last_use == step;
  }

  Plan& plan_;
  const InPlace in_place_;
  std::vector<int32_t> last_input_use_;  // -1: it lives on
};

// Whether vectors begin at multiples of their length along the lane dim, or along the packed rows.
bool has_aligned_runs(const KernelCall& call, uint16_t access) {
  const Program& program = call.program;
  const auto size = static_cast<int64_t>(size_of(program.accesses[access].dtype));
  const size_t words = program.rank() + 1;
  const int64_t* strides = call.accesses.data() + access * words;
  const int first_lane_dim = program.lane_dim() - program.packed_rank;
  for (int d = 0; d < program.rank(); ++d) {
    const bool along_lanes = first_lane_dim <= d && d <= program.lane_dim();
    if (!along_lanes && strides[d] * size % kNontemporalAlignment != 0) return false;
  }
  return strides[program.rank()] * size % kNontemporalAlignment == 0;
}

// Whether what runs have before the first aligned vector, and behind the last, is a small part.
bool may_cut_lines(const KernelCall& call) {
  constexpr int64_t kLeastBytes = 3072;
  const Program& program = call.program;
  if (program.schedule != Schedule::kPointwise || program.tiled || program.packed_rank > 0 ||
      program.stores.size() != 1) {
    return false;
  }
  const DType dtype = program.accesses[program.stores[0].access].dtype;
  return call.extents.back() * static_cast<int64_t>(size_of(dtype)) >= kLeastBytes;
}

// Of calls whose outputs bypass the caches.
void bypass_caches(const Plan& plan, KernelCall* call) {
  Program& program = call->program;
  program.nontemporal = program.runs_cut_lines = false;
  int64_t bytes = 0;
  bool are_aligned = true;
  for (size_t o = 0; o < call->outputs.size(); ++o) {
    const Result& result = plan.results[call->memory_of(call->outputs[o]).index];
    const uint16_t number = program.stores[o].access;
    const Access& access = program.accesses[number];
    if (program.reduced_rank > 0 && !access.varies_along_reduced) continue;
    if (access.lanes != StrideClass::kUnit) return;
    if (program.packed_rank > 0) {
      // Each row of a short run may be stored by itself, wherever it begins.
      if (program.short_runs) return;
      if (access.row_stride != program.packed_points()) return;
      if (!is_consecutive_in_row(program, access)) return;
      if (!fits_lanes(program) || picks_in_row(program)) return;
    }
    are_aligned = are_aligned && has_aligned_runs(*call, number);
    // Several stores may write a part each.
    const auto& memory = call->memory_of(call->outputs[o]);
    const bool is_counted = std::any_of(
        call->outputs.begin(), call->outputs.begin() + o,
        [&](const OutputDependence& output) { return call->memory_of(output) == memory; });
    if (!is_counted) bytes += result.bytes;
  }
  if (bytes < kLeastNontemporalBytes) return;
  program.nontemporal = are_aligned || may_cut_lines(*call);
  program.runs_cut_lines = program.nontemporal && !are_aligned;
}

}  // namespace

void find_lifetimes(Plan* plan) {
  for (int32_t s = 0; s < static_cast<int32_t>(plan->steps.size()); ++s) {
    for_each_memory(plan->steps[s], [&](const MemoryRef& memory) {
      if (memory.kind == MemoryRef::Kind::kInput) return;
      Result& result = plan->results[memory.index];
      if (result.first_use < 0) result.first_use = s;
      result.last_use = s;
    });
  }
}

bool may_write_over(const KernelCall& call, size_t buffer, size_t output, InPlace in_place) {
  return may_work_in_place(call.program, in_place) &&
         is_read_in_place(call, static_cast<int32_t>(buffer), call.program.stores[output]);
}

bool may_write_over(const LibraryCall& call, size_t buffer, InPlace in_place) {
  if (!in_place.products || call.kind != LibraryKind::kMatmul) return false;
  if (!has_parts_of_rows(matmul_of(call).shape)) return false;
  const MemoryRef& memory = call.buffers[buffer];
  return std::count(call.buffers.begin(), call.buffers.end(), memory) == 1 &&
         std::any_of(call.epilogues.begin(), call.epilogues.end(), [&](const Epilogue& epilogue) {
           return epilogue.operand == static_cast<int32_t>(buffer) && !epilogue.one_row &&
                  epilogue.offset == 0;
         });
}

void find_donors(Plan* plan, InPlace in_place) { DonorFinder(plan, in_place).run(); }

// Kernels that turn out to work in place too: what they have read is in the caches, but has to be
// written back all the same.
void find_nontemporal_stores(Plan* plan) {
  for (Step& step : plan->steps) {
    for (KernelCall& call : step.kernels) bypass_caches(*plan, &call);
  }
}

}  // namespace sluice::fusion

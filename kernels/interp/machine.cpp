#include "kernels/interp/machine.h"

#include <algorithm>
#include <cstring>

#include "kernels/reduction.h"

namespace sluice::kernels::interp {
namespace {

constexpr size_t kAlignment = kRegisterAlignment;

fusion::Schedule schedule_of(const Bytecode& code) {
  return code.column ? fusion::Schedule::kColumn : fusion::Schedule::kRow;
}

}  // namespace

Machine::Machine(const Bytecode& code, const KernelArgs& args, Scratch* scratch)
    : code_(code), args_(args), table_(loops()) {
  if (scratch->storage.size() < code.scratch_bytes + kAlignment) {
    scratch->storage.resize(code.scratch_bytes + kAlignment);
  }
  if (scratch->values.size() < code.registers.size()) {
    scratch->values.resize(code.registers.size());
  }
  if (scratch->accesses.size() < code.bindings.size()) {
    scratch->accesses.resize(code.bindings.size());
  }
  const uintptr_t start = reinterpret_cast<uintptr_t>(scratch->storage.data());
  scratch_ = scratch->storage.data() + (kAlignment - start % kAlignment) % kAlignment;
  if (scratch->trees.size() < code.reductions.size()) {
    scratch->trees.resize(code.reductions.size());
  }
  if (scratch->prefixes.size() < code.scans.size()) scratch->prefixes.resize(code.scans.size());
  values_ = scratch->values.data();
  accesses_ = scratch->accesses.data();
  trees_ = scratch->trees.data();
  prefixes_ = scratch->prefixes.data();
  for (int d = 0; d < code.outer_rank; ++d) num_outer_ *= args.extents[d];
  for (int d = 0; d < code.reduced_rank; ++d) num_reduced_ *= args.extents[code.outer_rank + d];
  bind();
  run(code.uniform_code, 0, 1);
}

void Machine::bind() {
  for (size_t b = 0; b < code_.bindings.size(); ++b) bind(code_.bindings[b], &accesses_[b]);
}

void Machine::bind(const Binding& binding, BoundAccess* access) const {
  const fusion::Access& form = code_.accesses[binding.access];
  const int rank = code_.outer_rank + code_.reduced_rank;
  const int64_t* strides = args_.accesses + binding.access * (rank + 1);
  access->base = nullptr;
  access->shared = false;
  if (form.buffer != fusion::kNoBuffer) {
    access->base = static_cast<char*>(args_.buffers[form.buffer]);
    for (uint16_t stored : code_.stored_buffers) {
      access->shared |= args_.buffers[stored] == access->base;
    }
  }
  access->offset = strides[rank];
  access->element_size = size_of(form.dtype);
  access->num_dims = 0;
  auto append = [&](int first, int count) {
    for (int d = first; d < first + count; ++d) access->append_dim(args_.extents[d], strides[d]);
  };
  if (binding.element && code_.column) append(code_.outer_rank, code_.reduced_rank);
  append(0, code_.outer_rank);
  if (binding.element && !code_.column) append(code_.outer_rank, code_.reduced_rank);
  access->finish();
}

void Machine::plan(int64_t begin, int64_t end) {
  batch_ = code_.tile;
  spans_ = false;
  if (!code_.has_reduced) return;
  if (code_.column) {
    spans_ = end - begin == num_outer_ && num_outer_ * 2 <= code_.tile;
  } else {
    spans_ = num_reduced_ > 0 && num_reduced_ <= fusion::leaf_size(schedule_of(code_)) &&
             num_reduced_ * 2 <= code_.tile;
    batch_ = spans_ ? code_.tile / num_reduced_ : 1;
  }
}

template <typename F>
void Machine::for_each_batch(int64_t begin, int64_t end, F&& f) {
  plan(begin, end);
  for (row_ = begin; row_ < end; row_ += num_rows_) {
    num_rows_ = std::min(batch_, end - row_);
    f();
  }
}

void Machine::rows(int64_t begin, int64_t end) {
  for_each_batch(begin, end, [&] {
    for (int p = 0; p <= code_.num_passes; ++p) {
      const Pass& pass = code_.passes[p];
      run(pass.row_code, row_, num_rows_);
      if (p < code_.num_passes) {
        run_pass(pass, 0, num_reduced_);
        publish(pass);
      }
    }
    run(code_.row_stores, row_, num_rows_);
  });
  if (code_.nontemporal) fence_nontemporal_stores();
}

void Machine::block(int64_t begin, int64_t end, int64_t first, int64_t last, char* partials) {
  const Pass& pass = code_.passes[0];
  const int64_t plane = 8 * (end - begin);
  for_each_batch(begin, end, [&] {
    run(pass.row_code, row_, num_rows_);
    run_pass(pass, first, last);
    for (size_t j = 0; j < code_.reductions.size(); ++j) {
      const Reduction& reduction = code_.reductions[j];
      const int64_t size = size_of(reduction.type);
      char* values = partials + 2 * j * plane + (row_ - begin) * size;
      if (reduction.is_arg()) {
        std::memcpy(values, memory(reduction.values), num_rows_ * size);
        std::memcpy(partials + (2 * j + 1) * plane + (row_ - begin) * 8, memory(reduction.result),
                    num_rows_ * 8);
      } else {
        std::memcpy(values, memory(reduction.result), num_rows_ * size);
      }
    }
  });
}

void Machine::finish(int64_t begin, int64_t end, int64_t num_blocks, const char* partials,
                     int64_t partial_stride) {
  const int64_t plane = 8 * (end - begin);
  for_each_batch(begin, end, [&] {
    run(code_.passes[0].row_code, row_, num_rows_);
    for (size_t j = 0; j < code_.reductions.size(); ++j) {
      const Reduction& reduction = code_.reductions[j];
      const int64_t size = size_of(reduction.type);
      char* result = memory(reduction.result);
      if (!reduction.is_arg()) trees_[j].begin(*reduction.loops, num_rows_, size);
      for (int64_t b = 0; b < num_blocks; ++b) {
        const char* planes = partials + b * partial_stride + 2 * j * plane;
        const char* values = planes + (row_ - begin) * size;
        const char* positions = planes + plane + (row_ - begin) * 8;
        if (!reduction.is_arg()) {
          trees_[j].add(values);
        } else if (b == 0) {
          std::memcpy(memory(reduction.values), values, num_rows_ * size);
          std::memcpy(result, positions, num_rows_ * 8);
        } else {
          reduction.arg->combine(memory(reduction.values), reinterpret_cast<int64_t*>(result),
                                 values, reinterpret_cast<const int64_t*>(positions), num_rows_);
        }
      }
      if (!reduction.is_arg()) trees_[j].end(result);
    }
    publish(code_.passes[0]);
    run(code_.passes[1].row_code, row_, num_rows_);
    run(code_.row_stores, row_, num_rows_);
  });
  if (code_.nontemporal) fence_nontemporal_stores();
}

void Machine::run_pass(const Pass& pass, int64_t begin, int64_t end) {
  run(pass.expansions, 0, 1);
  const bool one_leaf = spans_ && !code_.column;
  for (uint16_t j : pass.reductions) {
    const Reduction& reduction = code_.reductions[j];
    if (reduction.is_arg()) {
      reduction.arg->identity(memory(reduction.values),
                              reinterpret_cast<int64_t*>(memory(reduction.result)), begin,
                              num_rows_);
    } else if (!one_leaf) {
      trees_[j].begin(*reduction.loops, num_rows_, size_of(reduction.type));
    }
  }
  for (const uint16_t j : pass.scans) {
    const Scan& scan = code_.scans[j];
    prefixes_[j].begin(*scan.loops, code_.column ? num_rows_ : 1, size_of(scan.type));
  }
  element_ = begin;
  if (one_leaf) {
    run(pass.element_code, row_ * num_reduced_, num_rows_ * num_reduced_);
    return;
  }
  end_ = end;
  const int64_t depth = !code_.column ? code_.tile : spans_ ? code_.tile / num_outer_ : 1;
  for (; element_ < end; element_ += depth) {
    const int64_t count = std::min(depth, end - element_);
    if (code_.column) {
      run(pass.element_code, element_ * num_outer_ + row_, count * num_rows_);
    } else {
      run(pass.element_code, row_ * num_reduced_ + element_, count);
    }
  }
  for (uint16_t j : pass.reductions) {
    if (!code_.reductions[j].is_arg()) trees_[j].end(memory(code_.reductions[j].result));
  }
}

void Machine::publish(const Pass& pass) {
  for (uint16_t j : pass.reductions) {
    const Reduction& reduction = code_.reductions[j];
    char* result = memory(reduction.result);
    if (num_reduced_ == 0 && reduction.zero_if_empty) {
      std::memset(result, 0, num_rows_ * size_of(reduction.type));
    }
    if (reduction.round != nullptr) {
      const void* in[] = {result};
      reduction.round(result, in, num_rows_);
    }
    values_[reduction.result] = {result, num_rows_ == 1};
  }
}

}  // namespace sluice::kernels::interp

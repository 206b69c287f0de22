// The instructions of a Machine.
#include <algorithm>
#include <cstring>

#include "kernels/interp/machine.h"

namespace sluice::kernels::interp {
namespace {

size_t register_size(DType dtype) { return size_of(compute_type(dtype)); }

void convert(MapFn loop, void* out, const void* in, int64_t n) { loop(out, &in, n); }

// How many indices from the first on are equal to it.
int64_t end_of_equal(const int64_t* indices, int64_t step, int64_t n) {
  if (step == 0) return n;
  int64_t end = 1;
  while (end < n && indices[end] == indices[0]) ++end;
  return end;
}

// The first element in [i, n) that is not `value`, or n.
int64_t end_of_run(const bool* predicate, bool value, int64_t i, int64_t n) {
  const void* found = std::memchr(predicate + i, value ? 0 : 1, n - i);
  return found == nullptr ? n : static_cast<const bool*>(found) - predicate;
}

constexpr uint64_t kZero = 0;

// The planner's alignment is enough for the loops.
static_assert(fusion::kNontemporalAlignment % kNontemporalLoopAlignment == 0);

}  // namespace

void Machine::run(const std::vector<Instruction>& code, int64_t start, int64_t n) {
  for (const Instruction& instr : code) {
    switch (instr.opcode) {
      case Opcode::kMap: map(instr, n); break;
      case Opcode::kLoad: load(instr, start, n); break;
      case Opcode::kGather: gather(instr, start, n); break;
      case Opcode::kCoordinate: coordinate(instr, start, n); break;
      case Opcode::kScalar: scalar(instr); break;
      case Opcode::kParam:
        set_constant(instr, static_cast<uint64_t>(args_.params[instr.aux]));
        break;
      case Opcode::kCheckIndex: check_index(instr, n); break;
      case Opcode::kExpand: expand(instr); break;
      case Opcode::kReduce: reduce(instr, n); break;
      case Opcode::kScan: scan(instr, n); break;
      case Opcode::kStore: store(instr, start, n); break;
    }
  }
}

const void* Machine::expanded(const Value& value, size_t size, int64_t n, int k) const {
  if (!value.uniform || n == 1) return value.data;
  fill_strided(temporary(k), 1, value.data, n, size);
  return temporary(k);
}

void Machine::map(const Instruction& instr, int64_t n) {
  const void* in[3];
  unsigned uniform = 0;
  for (int k = 0; k < instr.num_operands; ++k) {
    const Value& value = values_[instr.in[k]];
    in[k] = value.data;
    uniform |= static_cast<unsigned>(value.uniform) << k;
  }
  if (uniform == (1u << instr.num_operands) - 1) {
    uniform = 0;
    n = 1;
  }
  void* out = memory(instr.out);
  instr.loops->form[uniform](out, in, n);
  if (instr.round != nullptr) convert(instr.round, out, out, n);
  values_[instr.out] = {out, n == 1};
}

void Machine::load(const Instruction& instr, int64_t start, int64_t n) {
  const BoundAccess& access = accesses_[instr.aux];
  char* out = memory(instr.out);
  if (instr.num_operands > 0) {
    const Value& value = values_[instr.in[0]];
    const bool* predicate = static_cast<const bool*>(value.data);
    const int64_t run = end_of_run(predicate, predicate[0], 0, value.uniform ? 1 : n);
    if (!value.uniform && run < n) return load_where(instr, predicate, start, n);
    if (!predicate[0]) {
      values_[instr.out] = {&kZero, true};
      return;
    }
  }
  const MapFn conversion = table_.load[static_cast<int>(instr.dtype)];
  const size_t size = access.element_size;
  const Run run = single_run(access, start, n);
  const char* in = access.base + run.element * size;
  if (!run.single) {
    char* raw = conversion == nullptr ? out : temporary(3);
    for_each_run(
        access, start, n, [&](int64_t done, int64_t element, int64_t stride, int64_t count) {
          gather_strided(raw + done * size, access.base + element * size, stride, count, size);
        });
    in = raw;
  } else if (run.stride == 0) {
    n = 1;
  } else if (run.stride != 1) {
    char* raw = conversion == nullptr ? out : temporary(3);
    gather_strided(raw, in, run.stride, n, size);
    in = raw;
  }
  if (conversion != nullptr) {
    convert(conversion, out, in, n);
    in = out;
  } else if (access.shared && in != out) {
    std::memcpy(out, in, n * size);
    in = out;
  }
  values_[instr.out] = {in, n == 1};
}

void Machine::load_where(const Instruction& instr, const bool* predicate, int64_t start,
                         int64_t n) {
  const BoundAccess& access = accesses_[instr.aux];
  const MapFn conversion = table_.load[static_cast<int>(instr.dtype)];
  const size_t size = access.element_size;
  char* out = memory(instr.out);
  char* raw = conversion == nullptr ? out : temporary(3);
  for (int64_t i = 0; i < n;) {
    const bool holds = predicate[i];
    const int64_t last = end_of_run(predicate, holds, i, n);
    if (holds) {
      for_each_run(access, start + i, last - i,
                   [&](int64_t done, int64_t element, int64_t stride, int64_t count) {
                     gather_strided(raw + (i + done) * size, access.base + element * size, stride,
                                    count, size);
                   });
    } else {
      std::memset(raw + i * size, 0, (last - i) * size);
    }
    i = last;
  }
  if (conversion != nullptr) convert(conversion, out, raw, n);
  values_[instr.out] = {out, n == 1};
}

void Machine::gather(const Instruction& instr, int64_t start, int64_t n) {
  const BoundAccess& access = accesses_[instr.aux];
  const Value& index = values_[instr.in[0]];
  const Value always = {"\1", true};
  const Value& predicate = instr.num_operands > 1 ? values_[instr.in[1]] : always;
  const Run run = single_run(access, start, n);
  if (run.single && run.stride == 0 && index.uniform && predicate.uniform) n = 1;
  const int64_t* indices = static_cast<const int64_t*>(index.data);
  const bool* holds = static_cast<const bool*>(predicate.data);
  const int64_t index_step = index.uniform ? 0 : 1;
  const int64_t holds_step = predicate.uniform ? 0 : 1;
  const MapFn conversion = table_.load[static_cast<int>(instr.dtype)];
  char* out = memory(instr.out);
  char* raw = conversion == nullptr ? out : temporary(3);
  visit_size(access.element_size, [&](auto zero) {
    using T = decltype(zero);
    const T* base = reinterpret_cast<const T*>(access.base);
    for_each_run(access, start, n,
                 [&](int64_t done, int64_t element, int64_t stride, int64_t count) {
                   T* o = reinterpret_cast<T*>(raw) + done;
                   for (int64_t i = 0; i < count;) {
                     const int64_t at = done + i;
                     const bool there = holds[at * holds_step];
                     const int64_t from = element + i * stride + indices[at * index_step];
                     int64_t run = 1;
                     if (predicate.uniform)
                       run = end_of_equal(indices + at * index_step, index_step, count - i);
                     if (there && run > 1) {
                       gather_strided(o + i, base + from, stride, run, sizeof(T));
                     } else {
                       std::fill_n(o + i, run, there ? base[from] : T{0});
                     }
                     i += run;
                   }
                 });
  });
  if (conversion != nullptr) convert(conversion, out, raw, n);
  values_[instr.out] = {out, n == 1};
}

void Machine::coordinate(const Instruction& instr, int64_t start, int64_t n) {
  const BoundAccess& access = accesses_[instr.aux];
  const Run run = single_run(access, start, n);
  if (run.single && run.stride == 0) n = 1;
  int64_t* out = reinterpret_cast<int64_t*>(memory(instr.out));
  for_each_run(access, start, n, [&](int64_t done, int64_t element, int64_t stride, int64_t count) {
    for (int64_t i = 0; i < count; ++i) out[done + i] = element + i * stride;
  });
  values_[instr.out] = {out, n == 1};
}

void Machine::scalar(const Instruction& instr) {
  const uint64_t bits = args_.scalars[instr.aux];
  const MapFn conversion = table_.load[static_cast<int>(instr.dtype)];
  if (conversion == nullptr) return set_constant(instr, bits);
  convert(conversion, memory(instr.out), &bits, 1);
  values_[instr.out] = {memory(instr.out), true};
}

void Machine::set_constant(const Instruction& instr, uint64_t bits) {
  std::memcpy(memory(instr.out), &bits, sizeof(bits));
  values_[instr.out] = {memory(instr.out), true};
}

void Machine::check_index(const Instruction& instr, int64_t n) {
  const Value& index = values_[instr.in[0]];
  const Value& extent = values_[instr.in[1]];
  const Value always = {"\1", true};
  const Value& predicate = instr.num_operands > 2 ? values_[instr.in[2]] : always;
  if (index.uniform && extent.uniform && predicate.uniform) n = 1;
  const int64_t* indices = static_cast<const int64_t*>(index.data);
  const int64_t* extents = static_cast<const int64_t*>(extent.data);
  const bool* holds = static_cast<const bool*>(predicate.data);
  const int64_t index_step = index.uniform ? 0 : 1;
  const int64_t extent_step = extent.uniform ? 0 : 1;
  const int64_t holds_step = predicate.uniform ? 0 : 1;
  int64_t* out = reinterpret_cast<int64_t*>(memory(instr.out));
  for (int64_t i = 0; i < n; ++i) {
    const int64_t given = indices[i * index_step];
    const int64_t limit = extents[i * extent_step];
    const int64_t place = given + (given < 0 ? limit : 0);
    const bool fails = (place < 0 || place >= limit) && holds[i * holds_step];
    if (fails) raise_error(args_.errors, instr.aux, given, limit);
    out[i] = fails ? 0 : place;
  }
  values_[instr.out] = {out, n == 1};
}

// A tile that spans rows has each row's value repeated along the row (row schedule), or the tile of
// all rows' values repeated (column schedule). Else the row's value is uniform or of tile shape.
void Machine::expand(const Instruction& instr) {
  const Value& value = values_[instr.in[0]];
  values_[instr.out] = value;
  if (!spans_ || value.uniform) return;
  const size_t size = register_size(instr.dtype);
  const char* in = static_cast<const char*>(value.data);
  char* out = memory(instr.out);
  if (code_.column) {
    const int64_t bytes = num_outer_ * size;
    for (int64_t k = 0; k < code_.tile / num_outer_; ++k) std::memcpy(out + k * bytes, in, bytes);
  } else {
    for (int64_t k = 0; k < num_rows_; ++k) {
      fill_strided(out + k * num_reduced_ * size, 1, in + k * size, num_reduced_, size);
    }
  }
  values_[instr.out] = {out, false};
}

void Machine::reduce(const Instruction& instr, int64_t n) {
  const Reduction& reduction = code_.reductions[instr.aux];
  const int64_t size = size_of(reduction.type);
  const char* x = static_cast<const char*>(expanded(values_[instr.in[0]], size, n, 0));
  if (reduction.is_arg()) return reduce_arg(reduction, x, n);
  if (spans_ && !code_.column) {
    return reduction.loops->rows(memory(reduction.result), x, num_rows_, num_reduced_);
  }
  const int64_t leaf_size =
      fusion::leaf_size(code_.column ? fusion::Schedule::kColumn : fusion::Schedule::kRow);
  const int64_t rows = code_.column ? num_rows_ : 1;
  char* const leaf = code_.column ? memory(reduction.leaf) : scratch_ + reduction.lanes;
  for (int64_t r = element_, last = element_ + n / rows; r < last;) {
    if (r % leaf_size == 0) reduction.loops->identity(leaf, code_.column ? rows : kLanes);
    const int64_t next = std::min(last, (r / leaf_size + 1) * leaf_size);
    if (code_.column) {
      for (; r < next; ++r, x += rows * size) reduction.loops->combine(leaf, x, rows);
    } else {
      reduction.loops->lanes(leaf, x, next - r);
      x += (next - r) * size;
      r = next;
    }
    if (r % leaf_size != 0 && r != end_) continue;
    if (!code_.column) reduction.loops->fold(leaf, leaf);
    trees_[instr.aux].add(leaf);
  }
}

void Machine::scan(const Instruction& instr, int64_t n) {
  const Scan& scan = code_.scans[instr.aux];
  const ScanLoops& loops = *scan.loops;
  Prefix& prefix = prefixes_[instr.aux];
  const int64_t size = size_of(scan.type);
  const char* x = static_cast<const char*>(expanded(values_[instr.in[0]], size, n, 0));
  char* const result = memory(instr.out);
  char* out = result;
  if (spans_ && !code_.column) {  // rows of one leaf each
    for (int64_t k = 0; k < num_rows_; ++k) {
      if (k > 0) prefix.begin(loops, 1, size);
      loops.row(out, x, num_reduced_, prefix.before(), prefix.leaf());
      x += num_reduced_ * size;
      out += num_reduced_ * size;
    }
  } else {
    const int64_t leaf_size =
        fusion::leaf_size(code_.column ? fusion::Schedule::kColumn : fusion::Schedule::kRow);
    const int64_t rows = code_.column ? num_rows_ : 1;
    for (int64_t r = element_, last = element_ + n / rows; r < last;) {
      if (r % leaf_size == 0 && r > 0) prefix.end_leaf();
      const int64_t next = std::min(last, (r / leaf_size + 1) * leaf_size);
      if (code_.column) {
        for (; r < next; ++r, x += rows * size, out += rows * size) {
          loops.combine(prefix.leaf(), prefix.leaf(), x, rows);
          loops.combine(out, prefix.before(), prefix.leaf(), rows);
        }
      } else {
        loops.row(out, x, next - r, prefix.before(), prefix.leaf());
        x += (next - r) * size;
        out += (next - r) * size;
        r = next;
      }
    }
  }
  if (scan.round != nullptr) convert(scan.round, result, result, n);
  values_[instr.out] = {result, n == 1};
}

void Machine::reduce_arg(const Reduction& reduction, const char* x, int64_t n) {
  const int64_t size = size_of(reduction.type);
  char* const values = memory(reduction.values);
  int64_t* const positions = reinterpret_cast<int64_t*>(memory(reduction.result));
  if (code_.column) {
    for (int64_t k = 0; k < n / num_rows_; ++k) {
      reduction.arg->step(values, positions, x + k * num_rows_ * size, element_ + k, num_rows_);
    }
    return;
  }
  const int64_t length = spans_ ? num_reduced_ : n;
  for (int64_t k = 0; k < n / length; ++k) {
    reduction.arg->row(values + k * size, positions + k, x + k * length * size, element_, length);
  }
}

void Machine::store(const Instruction& instr, int64_t start, int64_t n) {
  const BoundAccess& access = accesses_[instr.aux];
  const Value& value = values_[instr.in[0]];
  const MapFn conversion = table_.store[static_cast<int>(instr.dtype)];
  const MapFn nontemporal =
      code_.nontemporal ? table_.nontemporal[static_cast<int>(instr.dtype)] : nullptr;
  const size_t size = access.element_size;
  const size_t in_size = register_size(instr.dtype);
  const char* in = static_cast<const char*>(value.data);
  // A run of consecutive elements is converted on its way; anything else beforehand.
  const char* converted = in;
  if (conversion != nullptr && (value.uniform || access.strides[access.num_dims - 1] != 1)) {
    convert(conversion, temporary(3), in, value.uniform ? 1 : n);
    converted = temporary(3);
  }
  for_each_run(access, start, n, [&](int64_t done, int64_t element, int64_t stride, int64_t count) {
    char* out = access.base + element * size;
    if (value.uniform) {
      fill_strided(out, stride, converted, count, size);
    } else if (nontemporal != nullptr && stride == 1 &&
               reinterpret_cast<uintptr_t>(out) % kNontemporalLoopAlignment == 0) {
      convert(nontemporal, out, in + done * in_size, count);
    } else if (stride == 1 && conversion != nullptr) {
      convert(conversion, out, in + done * in_size, count);
    } else {
      scatter_strided(out, stride, converted + done * size, count, size);
    }
  });
}

}  // namespace sluice::kernels::interp

// The steps of a Machine.
#include <cstring>

#include "kernels/interp/machine.h"

namespace sluice::kernels::interp {
namespace {

size_t register_size(DType dtype) { return size_of(compute_type(dtype)); }

void convert(MapFn loop, void* out, const void* in, int64_t n) { loop(out, &in, n); }

// The first element in [i, n) that is not `value`, or n.
int64_t end_of_run(const bool* predicate, bool value, int64_t i, int64_t n) {
  const void* found = std::memchr(predicate + i, value ? 0 : 1, n - i);
  return found == nullptr ? n : static_cast<const bool*>(found) - predicate;
}

constexpr uint64_t kZero = 0;

// What the planner takes care of is enough for the loops.
static_assert(fusion::kNontemporalAlignment % kNontemporalLoopAlignment == 0);

}  // namespace

void Machine::run(const std::vector<Step>& steps, int64_t start, int64_t n) {
  for (const Step& step : steps) {
    switch (step.kind) {
      case StepKind::kMap: map(step, n); break;
      case StepKind::kExternal: external(step, n); break;
      case StepKind::kLoad: load(step, start, n); break;
      case StepKind::kGather: gather(step, start, n); break;
      case StepKind::kCoordinate: coordinate(step, start, n); break;
      case StepKind::kScalar: scalar(step); break;
      case StepKind::kParam:
        set_constant(step, static_cast<uint64_t>(args_.params[step.aux]));
        break;
      case StepKind::kCheckIndex: check_index(step, n); break;
      case StepKind::kExpand: expand(step); break;
      case StepKind::kReduce: reduce(step, n); break;
      case StepKind::kStore: store(step, start, n); break;
    }
  }
}

const void* Machine::expanded(const Value& value, size_t size, int64_t n, int k) const {
  if (!value.uniform || n == 1) return value.data;
  fill_strided(temporary(k), 1, value.data, n, size);
  return temporary(k);
}

void Machine::map(const Step& step, int64_t n) {
  const void* in[3];
  unsigned uniform = 0;
  for (int k = 0; k < step.num_operands; ++k) {
    const Value& value = values_[step.in[k]];
    in[k] = value.data;
    uniform |= static_cast<unsigned>(value.uniform) << k;
  }
  if (uniform == (1u << step.num_operands) - 1) {
    uniform = 0;
    n = 1;
  }
  void* out = memory(step.out);
  step.loops->form[uniform](out, in, n);
  if (step.round != nullptr) convert(step.round, out, out, n);
  values_[step.out] = {out, n == 1};
}

void Machine::external(const Step& step, int64_t n) {
  const Value& a = values_[step.in[0]];
  const bool is_binary = step.num_operands == 2;
  if (a.uniform && (!is_binary || values_[step.in[1]].uniform)) n = 1;
  const size_t size = register_size(step.dtype);
  const void* first = expanded(a, size, n, 0);
  const void* second = is_binary ? expanded(values_[step.in[1]], size, n, 1) : nullptr;
  void* out = memory(step.out);
  math::external_array(step.external, first, second, out, n);
  if (step.round != nullptr) convert(step.round, out, out, n);
  values_[step.out] = {out, n == 1};
}

void Machine::load(const Step& step, int64_t start, int64_t n) {
  const BoundAccess& access = accesses_[step.aux];
  char* out = memory(step.out);
  if (step.num_operands > 0) {
    const Value& value = values_[step.in[0]];
    const bool* predicate = static_cast<const bool*>(value.data);
    const int64_t run = end_of_run(predicate, predicate[0], 0, value.uniform ? 1 : n);
    if (!value.uniform && run < n) return load_where(step, predicate, start, n);
    if (!predicate[0]) {
      values_[step.out] = {&kZero, true};
      return;
    }
  }
  const MapFn conversion = table_.load[static_cast<int>(step.dtype)];
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
  values_[step.out] = {in, n == 1};
}

void Machine::load_where(const Step& step, const bool* predicate, int64_t start, int64_t n) {
  const BoundAccess& access = accesses_[step.aux];
  const MapFn conversion = table_.load[static_cast<int>(step.dtype)];
  const size_t size = access.element_size;
  char* out = memory(step.out);
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
  values_[step.out] = {out, n == 1};
}

void Machine::gather(const Step& step, int64_t start, int64_t n) {
  const BoundAccess& access = accesses_[step.aux];
  const Value& index = values_[step.in[0]];
  const Value always = {"\1", true};
  const Value& predicate = step.num_operands > 1 ? values_[step.in[1]] : always;
  const Run run = single_run(access, start, n);
  if (run.single && run.stride == 0 && index.uniform && predicate.uniform) n = 1;
  const int64_t* indices = static_cast<const int64_t*>(index.data);
  const bool* holds = static_cast<const bool*>(predicate.data);
  const int64_t index_step = index.uniform ? 0 : 1;
  const int64_t holds_step = predicate.uniform ? 0 : 1;
  const MapFn conversion = table_.load[static_cast<int>(step.dtype)];
  char* out = memory(step.out);
  char* raw = conversion == nullptr ? out : temporary(3);
  visit_size(access.element_size, [&](auto zero) {
    using T = decltype(zero);
    const T* base = reinterpret_cast<const T*>(access.base);
    for_each_run(access, start, n,
                 [&](int64_t done, int64_t element, int64_t stride, int64_t count) {
                   T* o = reinterpret_cast<T*>(raw) + done;
                   for (int64_t i = 0; i < count; ++i) {
                     const int64_t at = done + i;
                     const bool there = holds[at * holds_step];
                     o[i] = there ? base[element + i * stride + indices[at * index_step]] : T{0};
                   }
                 });
  });
  if (conversion != nullptr) convert(conversion, out, raw, n);
  values_[step.out] = {out, n == 1};
}

void Machine::coordinate(const Step& step, int64_t start, int64_t n) {
  const BoundAccess& access = accesses_[step.aux];
  const Run run = single_run(access, start, n);
  if (run.single && run.stride == 0) n = 1;
  int64_t* out = reinterpret_cast<int64_t*>(memory(step.out));
  for_each_run(access, start, n, [&](int64_t done, int64_t element, int64_t stride, int64_t count) {
    for (int64_t i = 0; i < count; ++i) out[done + i] = element + i * stride;
  });
  values_[step.out] = {out, n == 1};
}

void Machine::scalar(const Step& step) {
  const uint64_t bits = args_.scalars[step.aux];
  const MapFn conversion = table_.load[static_cast<int>(step.dtype)];
  if (conversion == nullptr) return set_constant(step, bits);
  convert(conversion, memory(step.out), &bits, 1);
  values_[step.out] = {memory(step.out), true};
}

void Machine::set_constant(const Step& step, uint64_t bits) {
  std::memcpy(memory(step.out), &bits, sizeof(bits));
  values_[step.out] = {memory(step.out), true};
}

void Machine::check_index(const Step& step, int64_t n) {
  const Value& index = values_[step.in[0]];
  const Value& extent = values_[step.in[1]];
  const Value always = {"\1", true};
  const Value& predicate = step.num_operands > 2 ? values_[step.in[2]] : always;
  if (index.uniform && extent.uniform && predicate.uniform) n = 1;
  const int64_t* indices = static_cast<const int64_t*>(index.data);
  const int64_t* extents = static_cast<const int64_t*>(extent.data);
  const bool* holds = static_cast<const bool*>(predicate.data);
  const int64_t index_step = index.uniform ? 0 : 1;
  const int64_t extent_step = extent.uniform ? 0 : 1;
  const int64_t holds_step = predicate.uniform ? 0 : 1;
  int64_t* out = reinterpret_cast<int64_t*>(memory(step.out));
  for (int64_t i = 0; i < n; ++i) {
    const int64_t given = indices[i * index_step];
    const int64_t limit = extents[i * extent_step];
    const int64_t place = given + (given < 0 ? limit : 0);
    const bool fails = (place < 0 || place >= limit) && holds[i * holds_step];
    if (fails) raise_error(args_.errors, step.aux, given, limit);
    out[i] = fails ? 0 : place;
  }
  values_[step.out] = {out, n == 1};
}

// A tile that spans rows has each row's value repeated along the row (row schedule), or the tile of
// all rows' values repeated (column schedule). Else the row's value is uniform or of tile shape.
void Machine::expand(const Step& step) {
  const Value& value = values_[step.in[0]];
  values_[step.out] = value;
  if (!spans_ || value.uniform) return;
  const size_t size = register_size(step.dtype);
  const char* in = static_cast<const char*>(value.data);
  char* out = memory(step.out);
  if (code_.column) {
    const int64_t bytes = num_outer_ * size;
    for (int64_t k = 0; k < code_.tile / num_outer_; ++k) std::memcpy(out + k * bytes, in, bytes);
  } else {
    for (int64_t k = 0; k < num_rows_; ++k) {
      fill_strided(out + k * num_reduced_ * size, 1, in + k * size, num_reduced_, size);
    }
  }
  values_[step.out] = {out, false};
}

void Machine::reduce(const Step& step, int64_t n) {
  const Reduction& reduction = code_.reductions[step.aux];
  const size_t size = size_of(reduction.type);
  const char* x = static_cast<const char*>(expanded(values_[step.in[0]], size, n, 0));
  char* result = memory(reduction.result);
  if (reduction.is_arg()) {
    char* values = memory(reduction.values);
    int64_t* positions = reinterpret_cast<int64_t*>(result);
    if (code_.column) {
      for (int64_t k = 0; k < n / num_rows_; ++k) {
        reduction.arg->step(values, positions, x + k * num_rows_ * size, element_ + k, num_rows_);
      }
    } else {
      const int64_t length = spans_ ? num_reduced_ : n;
      for (int64_t k = 0; k < n / length; ++k) {
        reduction.arg->row(values + k * size, positions + k, x + k * length * size, element_,
                           length);
      }
    }
  } else if (code_.column) {
    for (int64_t k = 0; k < n / num_rows_; ++k) {
      reduction.loops->combine(memory(reduction.block), x + k * num_rows_ * size, num_rows_);
    }
  } else if (spans_) {
    reduction.loops->rows(result, x, num_rows_, num_reduced_);
  } else {
    reduction.loops->lanes(scratch_ + reduction.lanes, x, n);
  }
}

void Machine::store(const Step& step, int64_t start, int64_t n) {
  const BoundAccess& access = accesses_[step.aux];
  const Value& value = values_[step.in[0]];
  const MapFn conversion = table_.store[static_cast<int>(step.dtype)];
  const MapFn nontemporal =
      code_.nontemporal ? table_.nontemporal[static_cast<int>(step.dtype)] : nullptr;
  const size_t size = access.element_size;
  const size_t in_size = register_size(step.dtype);
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

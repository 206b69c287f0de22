#include "kernels/cuda/run/step_code.h"

#include <algorithm>
#include <bit>
#include <optional>
#include <utility>

#include "absl/container/inlined_vector.h"
#include "kernels/gpu/generic/generic.h"
#include "runtime/integers.h"

namespace sluice::kernels::cuda {
namespace {

constexpr int64_t kWordBytes = 8;
constexpr int64_t kPartialAlignment = 256;
constexpr size_t kLeastTableWords = 64;

KernelArgs without_addresses(const fusion::KernelCall& call) {
  KernelArgs args{};
  args.extents = call.extents.data();
  args.accesses = call.accesses.data();
  args.params = call.params.data();
  return args;
}

// The program without the fields that only say how a CPU best walks over the data: programs that
// differ in nothing else share a kernel.
fusion::Program for_gpu(fusion::Program program) {
  using fusion::StrideClass;
  // Threads are laid out by these.
  program.tiled &= program.schedule != fusion::Schedule::kPointwise;
  program.one_leaf &= program.schedule == fusion::Schedule::kColumn;
  for (fusion::Access& access : program.accesses) {
    if (access.lanes == StrideClass::kTile && !program.tiled) access.lanes = StrideClass::kAny;
    access.rows = StrideClass::kZero;
    access.varies_in_row = false;
    access.row_stride = 0;
    access.knows_row = false;
    access.in_row = {};
  }
  program.caches_rows = program.nontemporal = program.runs_cut_lines = false;
  program.runs = fusion::Program::Runs::kLong;
  program.packed = {};
  program.packed_rank = 0;
  program.short_runs = false;
  return program;
}

// The number of `program` among `programs`, to which it is added if it is new.
int number_of(OwnProgram program, std::vector<OwnProgram>* programs) {
  const auto it = std::find(programs->begin(), programs->end(), program);
  const auto number = static_cast<int>(it - programs->begin());
  if (it == programs->end()) programs->push_back(std::move(program));
  return number;
}

}  // namespace

StepCode::StepCode(std::vector<fusion::KernelCall>* kernels, int multiprocessors)
    : multiprocessors_(multiprocessors) {
  for (fusion::KernelCall& call : *kernels) {
    CallCode& code = calls.emplace_back();
    code.call = &call;
    fusion::Program program = for_gpu(std::exchange(call.program, {}));
    wide_ |= needs_wide_indices(program, without_addresses(call));
    code.geometry = geometry_of(program, call.extents.data(), multiprocessors);
    code.program = number_of({std::move(program), code.geometry.way}, &programs_);
    num_stages = std::max(num_stages, code.geometry.num_stages);
    code.partials_at = static_cast<int64_t>(partial_bytes);
    partial_bytes += round_up(code.geometry.partial_bytes, kPartialAlignment);
  }
  by_table_ = calls.size() > 1 || kWordBytes * num_words(programs_[0].program) > kMaxParameterBytes;
  if (!by_table_) return;
  // Launches of other numbers of calls are to share the kernel, so there are few sizes.
  const size_t most = kMaxParameterBytes / kWordBytes, words = words_of_all();
  if (words <= most)
    table_words_ = std::min(most, std::max(kLeastTableWords, std::bit_ceil(words)));
}

LaunchCode StepCode::launch_code(const std::string& label) const {
  return {{programs_.begin(), programs_.end()},
          by_table_,
          wide_,
          label,
          static_cast<int64_t>(table_words_)};
}

bool StepCode::is_encodable() {
  std::call_once(encoded_.once, [this] { encode(); });
  return !encoded_.programs.empty();
}

void StepCode::encode() {
  for (const auto& [program, way] : programs_) {
    std::optional<std::vector<uint64_t>> code = encode_generic(program);
    if (!code) {
      encoded_.programs.clear();
      return;
    }
    encoded_.programs.push_back(*std::move(code));
  }
  for (const CallCode& call : calls) {
    encoded_.geometries.push_back(generic_geometry_of(programs_[call.program].program,
                                                      call.call->extents.data(), multiprocessors_));
  }
}

size_t StepCode::words_of_all() const {
  constexpr size_t kEntryWords = 3;
  size_t words = 1;
  for (const CallCode& call : calls)
    words += kEntryWords + num_words(programs_[call.program].program);
  return words;
}

size_t StepCode::table_bytes(bool generic) const {
  if (!uses_table(generic) || table_words(generic) > 0) return 0;
  size_t words = words_of_all();
  for (const CallCode& call : calls) {
    if (generic) words += encoded_.programs[call.program].size();
  }
  return words * kWordBytes;
}

void StepCode::pack(size_t number, int stage, bool generic, const Bindings& bindings,
                    const StepMemory& memory, std::vector<uint64_t>* words) const {
  const CallCode& own = calls[number];
  const fusion::Program& program = programs_[own.program].program;
  absl::InlinedVector<void*, 16> buffers;
  for (const fusion::MemoryRef& ref : own.call->buffers) buffers.push_back(bindings.at(ref));
  absl::InlinedVector<uint64_t, 16> scalars;
  for (int32_t scalar : own.call->scalars) scalars.push_back(bindings.scalars[scalar]);
  KernelArgs args = without_addresses(*own.call);
  args.buffers = buffers.data();
  args.scalars = scalars.data();
  args.errors = memory.errors[number];
  void* partials = own.geometry.partial_bytes == 0
                       ? nullptr
                       : static_cast<std::byte*>(memory.partials) + own.partials_at;
  if (generic) {
    *words = pack_generic(program, encoded_.programs[own.program], encoded_.geometries[number],
                          args, stage, partials);
  } else {
    words->resize(num_words(program));
    pack_call(program, own.geometry, args, stage, partials, words->data());
  }
}

}  // namespace sluice::kernels::cuda

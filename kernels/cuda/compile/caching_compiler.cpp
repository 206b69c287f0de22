#include "kernels/cuda/compile/caching_compiler.h"

#include <cstring>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace sluice::kernels::cuda {
namespace {

// The version of the format. Raise it when the members of CompiledCode change.
constexpr int kFormat = 1;

// Serialises members: numbers as they lie in memory, strings after their size.
class Writer {
 public:
  void operator()(const std::string& text) {
    (*this)(uint64_t{text.size()});
    bytes_ += text;
  }
  template <typename T>
  requires std::is_arithmetic_v<T>
  void operator()(T number) {
    bytes_.append(reinterpret_cast<const char*>(&number), sizeof(number));
  }

  const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;
};

// Stops at the first member that is missing.
class Reader {
 public:
  explicit Reader(absl::string_view bytes) : rest_(bytes) {}

  void operator()(std::string& text) {
    uint64_t size = 0;
    (*this)(size);
    if (!take(size)) return;
    text.assign(taken_.data(), taken_.size());
  }
  template <typename T>
  requires std::is_arithmetic_v<T>
  void operator()(T& number) {
    if (take(sizeof(number))) std::memcpy(&number, taken_.data(), sizeof(number));
  }

  bool is_good() const { return is_good_; }
  bool is_at_end() const { return is_good_ && rest_.empty(); }

 private:
  bool take(uint64_t size) {
    is_good_ = is_good_ && size <= rest_.size();
    if (!is_good_) return false;
    taken_ = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return true;
  }

  absl::string_view rest_;
  absl::string_view taken_;
  bool is_good_ = true;
};

template <typename Visitor, typename Resources>
void visit_resources(Visitor& visit, Resources& kernel) {
  visit(kernel.name);
  visit(kernel.registers);
  visit(kernel.stack_bytes);
  visit(kernel.spill_bytes);
  visit(kernel.shared_bytes);
}

std::string to_bytes(const CompiledCode& code) {
  Writer write;
  write(code.image);
  write(static_cast<uint8_t>(code.is_ptx));
  write(code.log);
  write(uint64_t{code.kernels.size()});
  for (const KernelResources& kernel : code.kernels) visit_resources(write, kernel);
  return write.bytes();
}

std::optional<CompiledCode> from_bytes(absl::string_view bytes) {
  Reader read(bytes);
  CompiledCode code;
  uint8_t is_ptx = 0;
  uint64_t num_kernels = 0;
  read(code.image);
  read(is_ptx);
  read(code.log);
  read(num_kernels);
  // Don't reserve memory for a count that was read from disk.
  for (uint64_t i = 0; i < num_kernels && read.is_good(); ++i) {
    visit_resources(read, code.kernels.emplace_back());
  }
  if (!read.is_at_end()) return std::nullopt;
  code.is_ptx = is_ptx != 0;
  code.from_disk = true;
  return code;
}

class CachingCompiler : public Compiler {
 public:
  CachingCompiler(std::unique_ptr<Compiler> compiler, DiskCache* cache)
      : compiler_(std::move(compiler)), cache_(cache) {}

  absl::StatusOr<CompiledCode> compile(const std::string& text, bool contracts) override {
    const std::string source_key = text.empty() ? "" : disk_key(text, contracts);
    if (source_key.empty()) return compiler_->compile(text, contracts);
    const std::string key = absl::StrCat(absl::string_view("cuda\0", 5), kFormat, " ", source_key);
    if (const std::optional<std::string> found = cache_->find(key)) {
      if (std::optional<CompiledCode> code = from_bytes(*found)) return *std::move(code);
    }
    absl::StatusOr<CompiledCode> code = compiler_->compile(text, contracts);
    if (code.ok()) cache_->insert(key, to_bytes(*code));
    return code;
  }

  std::string identity() const override { return compiler_->identity(); }

  std::string disk_key(const std::string& text, bool contracts) const override {
    return compiler_->disk_key(text, contracts);
  }

 private:
  const std::unique_ptr<Compiler> compiler_;
  DiskCache* const cache_;
};

}  // namespace

std::unique_ptr<Compiler> with_disk_cache(std::unique_ptr<Compiler> compiler, DiskCache* cache) {
  if (cache == nullptr) return compiler;
  return std::make_unique<CachingCompiler>(std::move(compiler), cache);
}

}  // namespace sluice::kernels::cuda

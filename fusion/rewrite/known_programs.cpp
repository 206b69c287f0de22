#include "fusion/rewrite/known_programs.h"

#include <memory>
#include <mutex>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/hash/hash.h"
#include "fusion/rewrite/simplify.h"

namespace sluice::fusion {
namespace {

// Beyond this many, all are forgotten.
constexpr size_t kMaxPrograms = 4096;

// Of the body: programs that differ in nothing but the rest are few.
struct BodyHash {
  size_t operator()(const Program& program) const {
    static_assert(std::has_unique_object_representations_v<Instr>);
    const auto* bytes = reinterpret_cast<const char*>(program.body.data());
    return absl::HashOf(std::string_view(bytes, program.body.size() * sizeof(Instr)));
  }
};

// All that simplify() changes.
struct Simplified {
  std::vector<Instr> body;
  std::vector<Store> stores;
};

class KnownPrograms {
 public:
  // Never destroyed, like the queues that plan.
  static KnownPrograms& get(bool fast_math) {
    static auto* exact = new KnownPrograms;
    static auto* fast = new KnownPrograms;
    return fast_math ? *fast : *exact;
  }

  // Null if `program` is not known.
  std::shared_ptr<const Simplified> find(const Program& program) {
    const std::lock_guard lock(mutex_);
    const auto known = programs_.find(program);
    return known == programs_.end() ? nullptr : known->second;
  }

  void insert(Program program, const Program& simplified) {
    auto value = std::make_shared<const Simplified>(Simplified{simplified.body, simplified.stores});
    const std::lock_guard lock(mutex_);
    if (programs_.size() >= kMaxPrograms) programs_.clear();
    programs_.try_emplace(std::move(program), std::move(value));
  }

 private:
  std::mutex mutex_;
  absl::flat_hash_map<Program, std::shared_ptr<const Simplified>, BodyHash> programs_;
};

}  // namespace

absl::Status simplify_once(Program* program, bool fast_math) {
  KnownPrograms& known = KnownPrograms::get(fast_math);
  if (const std::shared_ptr<const Simplified> simplified = known.find(*program)) {
    program->body = simplified->body;
    program->stores = simplified->stores;
    return absl::OkStatus();
  }
  Program original = *program;
  simplify(program, fast_math);
  const absl::Status status = verify(*program);
  if (status.ok()) known.insert(std::move(original), *program);
  return status;
}

}  // namespace sluice::fusion

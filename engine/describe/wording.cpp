#include "engine/describe/wording.h"

#include <sluice/config.h>
#include "absl/strings/str_cat.h"
#include "engine/observe/names.h"
#include "runtime/memory/holders.h"

namespace sluice::engine {
namespace {

// "`h`, a float32(8, 8),"; without a name "a float32(8, 8)".
std::string describe(const Node& node) {
  const std::string name(NodeNames::get().text(&node));
  const std::string type = absl::StrCat(name_of(node.dtype), to_string(node.layout.shape));
  return name.empty() ? absl::StrCat("a ", type) : absl::StrCat("`", name, "`, a ", type, ",");
}

}  // namespace

std::string place_of(const std::source_location& where) { return runtime::place_of(where); }

std::string at_place(const Origin& origin) {
  const std::string place = place_of(origin);
  return place.empty() ? "" : absl::StrCat(" at ", place);
}

const char* name_of(FlushCause cause) {
  switch (cause) {
    case FlushCause::kRead: return "read";
    case FlushCause::kEval: return "eval";
    case FlushCause::kFlush: return "flush";
    case FlushCause::kSync: return "sync";
    case FlushCause::kOps: return "op budget";
    case FlushCause::kLoop: return "loop";
    case FlushCause::kBytes: return "byte budget";
    case FlushCause::kOtherThread: return "other thread";
    case FlushCause::kIdle: return "idle device";
    case FlushCause::kCopy: return "copy";
  }
  return "";
}

std::string explain(FlushCause cause, const Node* target, const Origin& origin) {
  const std::string at = at_place(origin);
  switch (cause) {
    case FlushCause::kRead: return absl::StrCat(describe(*target), " was read", at);
    case FlushCause::kEval: return absl::StrCat("eval() was called on ", describe(*target), at);
    case FlushCause::kFlush: return absl::StrCat("flush() was called", at);
    case FlushCause::kSync: return absl::StrCat("sync() was called", at);
    case FlushCause::kOps:
      return absl::StrCat(config().window_ops, " ops were pending (Config::window_ops)");
    case FlushCause::kLoop: return "the ops began to repeat: it ends where a loop's body does";
    case FlushCause::kBytes:
      if (config().memory_limit != 0) {
        return absl::StrCat("what is pending would take much of the limit of ",
                            config().memory_limit, " bytes (Config::memory_limit)");
      }
      return absl::StrCat("what is pending would take more than ", config().max_pending_bytes,
                          " bytes (Config::max_pending_bytes)");
    case FlushCause::kOtherThread:
      return absl::StrCat(describe(*target), " was needed by another thread", at);
    case FlushCause::kIdle: return "the device was idle and the host recorded nothing for a while";
    case FlushCause::kCopy:
      return absl::StrCat(describe(*target), " was copied to another device", at);
  }
  return "";
}

}  // namespace sluice::engine

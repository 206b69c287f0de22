#include "runtime/memory/holders.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "runtime/size_text.h"

namespace sluice::runtime {
namespace {

constexpr size_t kNamed = 3;

struct Share {
  int64_t bytes = 0, tensors = 0;
};

}  // namespace

std::string place_of(const std::source_location& where) {
  if (where.line() == 0) return "";
  const std::string_view file = where.file_name();
  const size_t slash = file.rfind('/');
  return absl::StrCat(std::string(slash == file.npos ? file : file.substr(slash + 1)), ":",
                      where.line());
}

std::string Holders::largest() const {
  std::map<std::string, Share> shares;
  for (const Buffer* buffer = first_; buffer != nullptr; buffer = buffer->next_) {
    const std::string place = place_of(buffer->held_from());
    const char* name = buffer->holder();
    Share& share = shares[absl::StrCat(name == nullptr ? "a tensor" : name,
                                       place.empty() ? "" : " at ", place)];
    share.bytes += static_cast<int64_t>(buffer->capacity());
    ++share.tensors;
  }
  std::vector<std::pair<std::string, Share>> order(shares.begin(), shares.end());
  std::sort(order.begin(), order.end(), [](const auto& a, const auto& b) {
    return a.second.bytes != b.second.bytes ? a.second.bytes > b.second.bytes : a.first < b.first;
  });
  if (order.size() > kNamed) order.resize(kNamed);
  if (order.empty()) return "";
  return absl::StrCat("; most of it by ",
                      absl::StrJoin(order, ", ", [](std::string* out, const auto& share) {
                        absl::StrAppend(out, share.first, " (", size_text(share.second.bytes));
                        if (share.second.tensors > 1) {
                          absl::StrAppend(out, " in ", share.second.tensors, " tensors");
                        }
                        out->push_back(')');
                      }));
}

}  // namespace sluice::runtime

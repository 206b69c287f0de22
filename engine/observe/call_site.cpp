#include "engine/observe/call_site.h"

#include <string>

#include "engine/observe/names.h"

namespace sluice {
namespace engine {

std::atomic<bool> trace_is_recording{false};
SLUICE_FAST_TLS CallContext call_context;

}  // namespace engine

using engine::call_context;

Scope::Scope(std::string_view name) : is_entered_(engine::is_recording()) {
  if (!is_entered_) return;
  engine::Names& names = engine::Names::of_scopes();
  outer_ = call_context.scope;
  std::string path(names.text(outer_));
  if (!path.empty()) path += '/';
  path += name;
  call_context.scope = names.number_of(path);
}

Scope::~Scope() {
  if (is_entered_) call_context.scope = outer_;
}

}  // namespace sluice

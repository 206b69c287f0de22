#include "engine/run/input_memory.h"

#include <algorithm>
#include <utility>

#include "absl/types/span.h"

namespace sluice::engine {

void find_overwritable(const Window& window, uint64_t pins, InputMemories* memory) {
  const absl::Span<Node* const> inputs = window.inputs();
  memory->resize(inputs.size());
  const auto set = [&](int32_t input, int32_t first) {
    const Node& node = *inputs[input];
    (*memory)[input] = {.bytes = static_cast<int64_t>(node.buffer->bytes()),
                        .same_as = first,
                        .is_at_begin = node.layout.offset == 0};
  };
  absl::InlinedVector<std::pair<runtime::Buffer*, int32_t>, 16> views;
  for (int32_t i = 0; i < static_cast<int32_t>(inputs.size()); ++i) {
    const Node& node = *inputs[i];
    runtime::Buffer* buffer = node.buffer.get();
    if (node.references.load() != pins * Node::kPin || !buffer->writable() ||
        buffer->data() == nullptr || buffer->failure != nullptr) {
      continue;
    }
    node.buffer.unique() ? set(i, i) : views.push_back({buffer, i});
  }
  if (views.empty()) return;
  std::sort(views.begin(), views.end());
  for (auto begin = views.begin(); begin != views.end();) {
    runtime::Buffer* const buffer = begin->first;
    const auto end =
        std::find_if(begin, views.end(), [&](const auto& view) { return view.first != buffer; });
    if (inputs[begin->second]->buffer.count() == end - begin) {
      for (auto view = begin; view != end; ++view) set(view->second, begin->second);
    }
    begin = end;
  }
}

}  // namespace sluice::engine

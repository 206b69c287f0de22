#include "sluice/engine/engine.h"

#include <cstring>
#include <optional>

#include "absl/strings/str_cat.h"
#include "sluice/engine/config.h"
#include "sluice/engine/counters.h"
#include "sluice/fusion/index_map.h"
#include "sluice/runtime/allocator.h"
#include "sluice/runtime/error.h"

namespace sluice::engine {
namespace {

NodeRef alias(const Recording& recording, const Node& operand) {
  fusion::GraphNode view;
  view.op = recording.op;
  view.shape = recording.shape;
  view.attrs.assign(recording.attrs.begin(), recording.attrs.end());
  const std::optional<Layout> layout = fusion::layout_through_view(view, operand.layout);
  if (!layout) return NodeRef();
  NodeRef node(Node::create());
  node->op = recording.op;
  node->dtype = recording.dtype;
  node->operand_dtype = recording.operand_dtype;
  node->device = recording.device;
  node->layout = *layout;
  node->buffer = operand.buffer;
  node->state.store(NodeState::kSubmitted, std::memory_order_release);
  return node;
}

void copy_row_major(const Node& node, char* destination) {
  const Layout& layout = node.layout;
  const size_t size = size_of(node.dtype);
  const char* base =
      static_cast<const char*>(node.buffer->data()) + layout.offset * static_cast<int64_t>(size);
  const int64_t count = layout.shape.numel();
  if (count == 0) return;
  if (is_contiguous(layout)) {
    std::memcpy(destination, base, static_cast<size_t>(count) * size);
    return;
  }
  const int rank = layout.shape.rank();
  std::array<int64_t, kMaxRank> index{};
  int64_t position = 0;
  for (int64_t i = 0; i < count; ++i) {
    std::memcpy(destination + static_cast<size_t>(i) * size,
                base + position * static_cast<int64_t>(size), size);
    for (int k = rank - 1; k >= 0; --k) {
      position += layout.strides[k];
      if (++index[k] < layout.shape[k]) break;
      position -= layout.strides[k] * layout.shape[k];
      index[k] = 0;
    }
  }
}

}  // namespace

NodeRef record(const Recording& recording) {
  if (fusion::is_view(recording.op) && recording.operands[0].node->submitted()) {
    NodeRef node = alias(recording, *recording.operands[0].node);
    if (!(node == nullptr)) {
      Queue::current().count_alias();
      return node;
    }
  }
  return Queue::current().append(recording);
}

NodeRef from_host(const void* data, DType dtype, const Shape& shape, Device device) {
  const size_t bytes = static_cast<size_t>(shape.numel()) * size_of(dtype);
  runtime::set_memory_limit(config().memory_limit);
  absl::StatusOr<runtime::BufferRef> buffer = runtime::allocate(bytes);
  if (!buffer.ok()) {
    throw Error(buffer.status().code(), absl::StrCat("from: ", name_of(dtype), to_string(shape),
                                                     ": ", buffer.status().message()));
  }
  if (bytes > 0) std::memcpy((*buffer)->data(), data, bytes);
  NodeRef node(Node::create());
  node->dtype = node->operand_dtype = dtype;
  node->device = device;
  node->layout = contiguous_layout(shape);
  node->buffer = *std::move(buffer);
  node->state.store(NodeState::kSubmitted, std::memory_order_release);
  return node;
}

void evaluate(Node* node, FlushCause cause, runtime::SubmitMode mode) {
  while (!node->submitted()) {
    // The queue lets go of the node only after it has been submitted.
    if (Queue* queue = node->queue.load(std::memory_order_acquire)) {
      queue->flush_for(node, cause, mode);
    }
  }
}

void wait(Node* node) {
  evaluate(node, FlushCause::kRead, runtime::SubmitMode::kCallerWaits);
  runtime::wait(node->buffer->written);
  if (const runtime::FailureRef& failure = node->buffer->failure; failure != nullptr) {
    failure->reported.store(true, std::memory_order_relaxed);
    throw Error(failure->status);
  }
}

void read(Node* node, void* destination) {
  wait(node);
  copy_row_major(*node, static_cast<char*>(destination));
}

void flush_all() {
  for (Queue* queue : Queue::all()) {
    queue->flush(FlushCause::kFlush, runtime::SubmitMode::kDetached);
  }
}

void sync_all() {
  count(counters().syncs);
  const std::vector<Queue*> queues = Queue::all();
  const auto mode =
      queues.size() == 1 ? runtime::SubmitMode::kCallerWaits : runtime::SubmitMode::kDetached;
  for (Queue* queue : queues) queue->flush(FlushCause::kSync, mode);
  std::optional<absl::Status> first;
  for (Queue* queue : queues) {
    queue->stream().wait(queue->stream().next_ticket() - 1);
    for (const runtime::FailureRef& failure : queue->stream().take_failures()) {
      if (!failure->reported.exchange(true) && !first) first = failure->status;
    }
  }
  if (first) throw Error(*first);
}

}  // namespace sluice::engine

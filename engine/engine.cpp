#include "engine/engine.h"

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include <sluice/config.h>
#include <sluice/error.h>
#include "absl/functional/function_ref.h"
#include "absl/strings/str_cat.h"
#include "engine/observe/counters.h"
#include "engine/observe/names.h"
#include "engine/observe/recorder.h"
#include "engine/record/node_slab.h"
#include "engine/run/reclaim.h"
#include "fusion/graph/index_map.h"
#include "runtime/backend.h"
#include "runtime/memory/host_copies.h"
#include "runtime/memory/lent_buffer.h"
#include "runtime/status_error.h"

namespace sluice::engine {
namespace {

// The view as a submitted node on the operand's buffer; null if strides cannot express it.
NodeRef alias(const OpCall& call, const Node& operand) {
  const fusion::View view{call.op, call.attrs, call.shape};
  const std::optional<Layout> layout = fusion::layout_through_view(view, operand.layout);
  if (!layout) return NodeRef();
  NodeRef node(make_node(Node::kHandle));
  node->dtype = call.dtype;
  node->device = call.device;
  node->layout = *layout;
  node->buffer = operand.buffer;
  node->state.store(NodeState::kSubmitted, std::memory_order_release);
  return node;
}

// All of a value that has been computed, row-major.
absl::Status download(const Node& node, void* destination) {
  const Layout& layout = node.layout;
  if (layout.shape.numel() == 0) return absl::OkStatus();
  const int64_t size = static_cast<int64_t>(size_of(node.dtype));
  // All that the layout reaches, from its first byte in memory on.
  const auto [least, greatest] = address_range(layout);
  const auto bytes = static_cast<size_t>((greatest - least + 1) * size);
  const auto offset = static_cast<size_t>((layout.offset + least) * size);
  const bool in_order = is_contiguous(layout);
  const auto* host = static_cast<const char*>(node.buffer->data()) + offset;
  std::vector<char> copy;
  if (node.device != Device::cpu() || in_order) {
    if (!in_order) copy.resize(bytes);
    void* target = in_order ? destination : copy.data();
    absl::Status status =
        runtime::backend(node.device).download(*node.buffer.get(), offset, bytes, target);
    if (!status.ok() || in_order) return status;
    host = copy.data();
  }
  copy_elements(layout.shape, static_cast<size_t>(size), host - least * size, layout.strides,
                static_cast<char*>(destination), contiguous_layout(layout.shape).strides);
  return absl::OkStatus();
}

// A submitted node with the buffer that `make` gives.
NodeRef submitted(
    const char* op_name, DType dtype, const Shape& shape, Device device,
    absl::FunctionRef<absl::StatusOr<runtime::BufferRef>(runtime::Backend& backend)> make) {
  runtime::Backend& backend = runtime::backend(device);
  backend.set_memory_limit(config().memory_limit);
  absl::StatusOr<runtime::BufferRef> buffer = make(backend);
  const int64_t bytes = shape.numel() * static_cast<int64_t>(size_of(dtype));
  while (!buffer.ok() && reclaim(device, bytes)) buffer = make(backend);
  if (!buffer.ok()) {
    throw Error(code_of(buffer.status()),
                absl::StrCat(op_name, ": ", name_of(dtype), to_string(shape), ": ",
                             buffer.status().message()));
  }
  NodeRef node(make_node(Node::kHandle));
  node->dtype = dtype;
  node->device = device;
  node->layout = contiguous_layout(shape);
  node->buffer = *std::move(buffer);
  node->buffer->note_holder(op_name, current_origin().where);
  node->state.store(NodeState::kSubmitted, std::memory_order_release);
  if (is_recording()) NodeNames::get().forget(node.get());
  return node;
}

}  // namespace

NodeRef record_view(const OpCall& call) {
  const Node& operand = *call.operands[0].node;
  if (operand.submitted()) {
    NodeRef node = alias(call, operand);
    if (!(node == nullptr)) {
      Queue::current(call.device).count_alias();
      return node;
    }
  }
  return record(call);
}

void note_origin(Node* node) {
  NodeNames::get().forget(node);
  if (Queue* queue = node->queue.load(std::memory_order_acquire); !node->submitted()) {
    queue->note_origin(node);
  }
}

NodeRef from_host(const void* data, DType dtype, const Shape& shape, Device device) {
  const size_t bytes = static_cast<size_t>(shape.numel()) * size_of(dtype);
  return submitted("from", dtype, shape, device,
                   [&](runtime::Backend& backend) { return backend.upload(data, bytes); });
}

NodeRef from_lent(void* data, size_t bytes, DType dtype, const Layout& layout,
                  std::function<void()> give_back) {
  runtime::BufferRef buffer = runtime::lend(data, bytes, std::move(give_back));
  NodeRef node = submitted("adopt", dtype, layout.shape, Device::cpu(),
                           [&](runtime::Backend&) { return std::move(buffer); });
  node->layout = layout;
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
    throw error_of(failure->status);
  }
}

void read(Node* node, void* destination) {
  wait(node);
  const absl::Status status = download(*node, destination);
  if (!status.ok()) throw error_of(status);
}

void read(Node* node, void* destination, const Layout& layout) {
  const Shape& shape = layout.shape;
  if (shape.numel() == 0) return wait(node);
  const size_t size = size_of(node->dtype);
  auto* const to = static_cast<char*>(destination) + layout.offset * static_cast<int64_t>(size);
  if (node->device == Device::cpu()) {
    wait(node);
    const auto* from = static_cast<const char*>(node->buffer->data()) +
                       node->layout.offset * static_cast<int64_t>(size);
    return copy_elements(shape, size, from, node->layout.strides, to, layout.strides);
  }
  const auto values = std::make_unique<char[]>(static_cast<size_t>(node->bytes()));
  read(node, values.get());
  copy_elements(shape, size, values.get(), contiguous_layout(shape).strides, to, layout.strides);
}

const void* read_in_place(Node* node) {
  wait(node);
  runtime::Buffer* const buffer = node->buffer.get();
  if (node->device == Device::cpu() && is_contiguous(node->layout)) {
    return static_cast<const char*>(buffer->data()) +
           node->layout.offset * static_cast<int64_t>(size_of(node->dtype));
  }
  const absl::StatusOr<const void*> values =
      runtime::host_copy(buffer, node->layout, static_cast<size_t>(node->bytes()),
                         [node](void* destination) { return download(*node, destination); });
  if (!values.ok()) throw error_of(values.status());
  return *values;
}

NodeRef copy_to(Node* node, Device device) {
  evaluate(node, FlushCause::kCopy, runtime::SubmitMode::kCallerWaits);
  wait(node);
  const Layout& layout = node->layout;
  const auto bytes = static_cast<size_t>(node->bytes());
  const bool direct = device.type() == node->device.type() && is_contiguous(layout);
  NodeRef copy = submitted("to", node->dtype, layout.shape, device, [&](runtime::Backend& backend) {
    if (direct) {
      const auto offset = static_cast<size_t>(layout.offset) * size_of(node->dtype);
      return backend.copy_from(&runtime::backend(node->device), node->buffer, offset, bytes);
    }
    const auto values = std::make_unique<char[]>(bytes);
    read(node, values.get());
    return backend.upload(values.get(), bytes);
  });
  if (is_recording()) Recorder::get().note_copy(*copy, node->device, current_origin());
  return copy;
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
  if (first) throw error_of(*first);
}

}  // namespace sluice::engine

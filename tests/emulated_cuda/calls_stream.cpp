// Streams and events.
#include "tests/emulated_cuda/machine.h"

namespace sluice::emulated {

thread_local bool in_host_function = false;

namespace calls {
namespace {

Result state_of(const Device* device, bool done) {
  if (device->sticky != Result::kSuccess) return device->sticky;
  return done ? Result::kSuccess : Result::kNotReady;
}

}  // namespace

Result stream_create(Machine& machine, StreamHandle* handle, unsigned flags) {
  Device* device = machine.current();
  if (device == nullptr) {
    return machine.violation(Result::kInvalidContext, "no context is current");
  }
  if (flags != kStreamNonBlocking) {
    return machine.violation(Result::kInvalidValue, "the stream would wait for the default one");
  }
  auto stream =
      std::make_shared<Stream>(Stream{device, machine.next_stream++, machine.below(1000), {}});
  machine.schedule(stream);
  machine.streams[*handle = machine.new_handle<StreamHandle>()] = stream;
  return Result::kSuccess;
}

Result stream_destroy(Machine& machine, StreamHandle handle) {
  if (machine.find(machine.streams, handle) == nullptr) return Result::kInvalidHandle;
  machine.streams.erase(handle);  // pending work still runs
  return Result::kSuccess;
}

Result stream_query(Machine& machine, StreamHandle handle) {
  const auto stream = machine.find(machine.streams, handle);
  if (stream == nullptr) return Result::kInvalidHandle;
  machine.make_progress();
  return state_of(stream->device, stream->ops.empty());
}

Result stream_synchronize(Machine& machine, StreamHandle handle) {
  const auto stream = machine.find(machine.streams, handle);
  if (stream == nullptr) return Result::kInvalidHandle;
  return machine.run_until(stream->device, [&] { return stream->ops.empty(); });
}

Result stream_wait_event(Machine& machine, StreamHandle stream_handle, EventHandle event_handle,
                         unsigned) {
  const auto stream = machine.find(machine.streams, stream_handle);
  const auto event = machine.find(machine.events, event_handle);
  if (stream == nullptr || event == nullptr) return Result::kInvalidHandle;
  if (!machine.must_be_current(stream->device)) return Result::kInvalidContext;
  if (event->device->sticky != Result::kSuccess) return event->device->sticky;
  // Waits for the current recording, even if the event is recorded again later.
  if (const std::shared_ptr<bool> recorded = event->recorded) {
    machine.push(
        stream.get(), [] { return true; }, [recorded] { return *recorded; });
  }
  return Result::kSuccess;
}

Result launch_host_func(Machine& machine, StreamHandle handle, HostFunction function, void* data) {
  const auto stream = machine.find(machine.streams, handle);
  if (stream == nullptr) return Result::kInvalidHandle;
  if (!machine.must_be_current(stream->device)) return Result::kInvalidContext;
  machine.push(stream.get(), [function, data] {
    in_host_function = true;
    function(data);
    in_host_function = false;
    return true;
  });
  return Result::kSuccess;
}

Result stream_write_value32(Machine& machine, StreamHandle handle, DevicePtr address,
                            uint32_t value, unsigned) {
  const auto stream = machine.find(machine.streams, handle);
  if (stream == nullptr) return Result::kInvalidHandle;
  if (!machine.must_be_current(stream->device)) return Result::kInvalidContext;
  auto* target = reinterpret_cast<uint32_t*>(address);
  const std::shared_ptr<PinnedBlock> block = machine.pinned(target, sizeof(value));
  if (block == nullptr) {
    return machine.violation(Result::kInvalidValue, "the target is not pinned memory");
  }
  machine.push(stream.get(), [target, value, block] {
    __atomic_store_n(target, value, __ATOMIC_RELEASE);
    return true;
  });
  return Result::kSuccess;
}

Result event_create(Machine& machine, EventHandle* handle, unsigned flags) {
  Device* device = machine.current();
  if (device == nullptr) {
    return machine.violation(Result::kInvalidContext, "no context is current");
  }
  auto event = std::make_shared<Event>();
  event->device = device;
  event->is_timed = (flags & runtime::cuda::kEventDisableTiming) == 0;
  *handle = machine.new_handle<EventHandle>();
  machine.events[*handle] = std::move(event);
  return Result::kSuccess;
}

Result event_destroy(Machine& machine, EventHandle handle) {
  if (machine.find(machine.events, handle) == nullptr) return Result::kInvalidHandle;
  machine.events.erase(handle);
  return Result::kSuccess;
}

Result event_record(Machine& machine, EventHandle event_handle, StreamHandle stream_handle) {
  const auto event = machine.find(machine.events, event_handle);
  const auto stream = machine.find(machine.streams, stream_handle);
  if (stream == nullptr || event == nullptr) return Result::kInvalidHandle;
  if (!machine.must_be_current(stream->device)) return Result::kInvalidContext;
  if (event->device != stream->device) {
    return machine.violation(Result::kInvalidHandle, "event and stream are of two devices");
  }
  event->recorded = machine.push(stream.get(), [&machine, event] {
    event->time = ++machine.clock;
    return true;
  });
  return Result::kSuccess;
}

Result event_query(Machine& machine, EventHandle handle) {
  const auto event = machine.find(machine.events, handle);
  if (event == nullptr) return Result::kInvalidHandle;
  machine.make_progress();
  return state_of(event->device, event->recorded == nullptr || *event->recorded);
}

Result event_synchronize(Machine& machine, EventHandle handle) {
  const auto event = machine.find(machine.events, handle);
  if (event == nullptr) return Result::kInvalidHandle;
  const std::shared_ptr<bool> recorded = event->recorded;
  return machine.run_until(event->device, [&] { return recorded == nullptr || *recorded; });
}

Result event_elapsed_time(Machine& machine, float* milliseconds, EventHandle begin,
                          EventHandle end) {
  const auto first = machine.find(machine.events, begin);
  const auto last = machine.find(machine.events, end);
  if (first == nullptr || last == nullptr) return Result::kInvalidHandle;
  for (const auto& event : {first, last}) {
    if (!event->is_timed || event->recorded == nullptr) {
      return machine.violation(Result::kInvalidHandle, "an event that knows no time");
    }
    if (!*event->recorded) return Result::kNotReady;
  }
  *milliseconds = 1e-3f * static_cast<float>(last->time - first->time);
  return Result::kSuccess;
}

}  // namespace calls
}  // namespace sluice::emulated

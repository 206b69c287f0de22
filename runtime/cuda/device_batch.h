// A batch for a device that runs beside the host.
#ifndef SLUICE_RUNTIME_CUDA_DEVICE_BATCH_H_
#define SLUICE_RUNTIME_CUDA_DEVICE_BATCH_H_

#include "sluice/runtime/stream.h"

namespace sluice::runtime::cuda {

// The life of a batch on a CudaStream: run() on the submitting thread, with the device's context
// current; then, when the device has done all that run() enqueued, finish(); then its ticket is
// done, and the batch is destroyed. If the device does not get that far, fail() comes in place of
// finish(), and in place of run() if that has not been called yet. run() must keep alive what the
// device still reads or writes, except what the stream's order protects (DeviceAllocator).
class DeviceBatch : public CommandBatch {
 public:
  // What the host has to do with the results: an error slot to look at. In the order of tickets, on
  // any thread, and with the stream locked: must not call it.
  virtual void finish() {}

  // Nothing that the batch was to write can be had. Must not call the stream either.
  virtual void fail(const FailureRef& failure) = 0;
};

}  // namespace sluice::runtime::cuda

#endif  // SLUICE_RUNTIME_CUDA_DEVICE_BATCH_H_

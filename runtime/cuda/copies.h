// Copies between the host and a GPU, and between GPUs.
#ifndef SLUICE_RUNTIME_CUDA_COPIES_H_
#define SLUICE_RUNTIME_CUDA_COPIES_H_

#include <array>
#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/cuda/cuda_stream.h"

namespace sluice::runtime::cuda {

// Double buffering in pinned memory: while the GPU copies one chunk, the host copies the other.
// Small copies to the device share a chunk, so that none waits for the one before. What is large
// and in pinned memory already is copied from there, or to there, at once. Chunks are allocated on
// first use. Not thread-safe; the context must be current.
class Staging {
 public:
  static constexpr size_t kChunkBytes = size_t{4} << 20;

  explicit Staging(CudaStream* stream) : stream_(*stream) {}
  ~Staging();
  Staging(const Staging&) = delete;
  Staging& operator=(const Staging&) = delete;

  // Enqueues the copy. `host` may be modified after the call.
  absl::Status to_device(void* target, const void* host, size_t bytes);
  // Enqueues the copy and waits for it.
  absl::Status to_host(void* host, const void* source, size_t bytes);

 private:
  struct Chunk {
    void* memory = nullptr;
    EventRef busy;  // done when the chunk is free; null: free
  };
  // Whether the device is to copy from or to `host` itself.
  bool is_direct(const void* host, size_t bytes) const;
  // Waits for `copy`, which the driver may refuse: then false and nothing is done.
  absl::StatusOr<bool> try_direct(absl::FunctionRef<absl::Status()> copy);
  // Waits until the chunk is free; allocates it on first use.
  absl::Status prepare(Chunk* chunk);
  absl::Status start(Chunk* chunk, absl::FunctionRef<absl::Status()> copy);

  CudaStream& stream_;
  std::array<Chunk, 2> chunks_;
  // The chunk that copies to the device go through, and how much of it is taken: none has been.
  size_t filling_ = 0;
  size_t filled_ = kChunkBytes;
};

// The copies of one device, on separate streams: an upload waits for no kernel, a download for none
// submitted after the one that writes its source, and downloads not for each other. Thread-safe.
class Copies {
 public:
  static absl::StatusOr<std::unique_ptr<Copies>> make(CudaDevice* device);

  // The stream for which targets of upload() must be allocated.
  CudaStream* upload_stream() { return upload_stream_.get(); }

  // Copies from the host, whose memory may be modified after the call. The event is done when the
  // contents are valid.
  absl::StatusOr<Event> upload(void* target, const void* host, size_t bytes);

  // Copies from a buffer of another GPU, after it has been written.
  absl::StatusOr<Event> copy(void* target, const Context& source_context, const BufferRef& source,
                             size_t offset, size_t bytes);

  // Waits until `written` is done and the contents are at `host`.
  absl::Status download(void* host, const void* source, size_t bytes, const Event& written);

 private:
  class Batch;
  using Copy = std::function<absl::Status()>;
  // Keeps `copy` and everything it captures alive until the device is done.
  absl::StatusOr<Event> submit(std::string label, std::vector<Event> waits_for, Copy copy);
  // Used by one download at a time.
  struct Downloader {
    std::unique_ptr<CudaStream> stream;
    std::unique_ptr<Staging> staging;
  };

  explicit Copies(CudaDevice* device) : device_(*device) {}
  static absl::StatusOr<Downloader> make_downloader(CudaDevice* device);
  absl::Status try_download(void* host, const void* source, size_t bytes, const Event& written);

  CudaDevice& device_;
  std::unique_ptr<CudaStream> upload_stream_;
  std::unique_ptr<Staging> uploads_;  // used by upload_stream_'s batches only
  std::mutex mutex_;
  std::vector<Downloader> idle_;  // guarded by mutex_
};

// Copies from the memory of `source_context`'s device, which may differ from the stream's. Called
// within the run() of a batch of `stream`.
absl::Status copy_between(CudaStream* stream, void* target, const Context& source_context,
                          const void* source, size_t bytes);

}  // namespace sluice::runtime::cuda

#endif  // SLUICE_RUNTIME_CUDA_COPIES_H_

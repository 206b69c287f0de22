// Who holds a device's memory: for messages when there is no more.
#ifndef SLUICE_RUNTIME_HOLDERS_H_
#define SLUICE_RUNTIME_HOLDERS_H_

#include <cstdint>
#include <source_location>
#include <string>

#include "runtime/memory/buffer.h"

namespace sluice::runtime {

// "train.cpp:31"; empty if it has no line.
std::string place_of(const std::source_location& where);

// The buffers of one allocator that are in use, under the allocator's lock.
class Holders {
 public:
  void add(Buffer* buffer) {
    buffer->previous_ = nullptr;
    buffer->next_ = first_;
    if (first_ != nullptr) first_->previous_ = buffer;
    first_ = buffer;
  }
  void remove(Buffer* buffer) {
    (buffer->previous_ == nullptr ? first_ : buffer->previous_->next_) = buffer->next_;
    if (buffer->next_ != nullptr) buffer->next_->previous_ = buffer->previous_;
  }

  // The three calls whose results take most: "; most of it by mul at train.cpp:12 (381 MiB in 4
  // tensors), from at ...". Empty if nothing is in use.
  std::string largest() const;

 private:
  Buffer* first_ = nullptr;
};

}  // namespace sluice::runtime

#endif  // SLUICE_RUNTIME_HOLDERS_H_

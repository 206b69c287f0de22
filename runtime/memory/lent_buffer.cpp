#include "runtime/memory/lent_buffer.h"

#include <cstdlib>
#include <memory>
#include <utility>

namespace sluice::runtime {
namespace {

// One a buffer.
class Loan final : public BufferOwner {
 public:
  explicit Loan(std::function<void()> give_back) : give_back_(std::move(give_back)) {}
  ~Loan() {
    if (give_back_) give_back_();
  }

  void release(Buffer* buffer) override {
    delete buffer;
    delete this;
  }
  // Only what is written in place of another stream's result is adopted.
  void adopt(Buffer*, Stream*) override { std::abort(); }

 private:
  std::function<void()> give_back_;
};

}  // namespace

BufferRef lend(void* data, size_t bytes, std::function<void()> give_back) {
  auto loan = std::make_unique<Loan>(std::move(give_back));
  // The loan is let go of once there is memory for the buffer, whose construction cannot fail.
  return BufferRef(new Buffer(data, bytes, bytes, loan.release(), Buffer::Access::kReadOnly));
}

}  // namespace sluice::runtime

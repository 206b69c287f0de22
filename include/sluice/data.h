// Training data: samples, batches, the files they come in; and checkpoints of a training.
#ifndef SLUICE_DATA_H_
#define SLUICE_DATA_H_

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <sluice/detail/function.h>
#include <sluice/nn/module.h>
#include <sluice/optim/optimizer.h>
#include <sluice/progress.h>
#include <sluice/random.h>
#include <sluice/tensor.h>

#pragma GCC visibility push(default)
namespace sluice {
namespace data {

// A tensor for each field: what batches and samples have in common.
using Batch = std::vector<Tensor>;

// Samples: sample i is element i along axis 0 of every field, {images, labels}. The tensors stay on
// their device.
class Dataset {
 public:
  // Throws Error (kInvalidArgument) if there is no field, or the fields do not have as many
  // samples.
  Dataset(std::initializer_list<Tensor> fields) : Dataset(std::vector<Tensor>(fields)) {}
  explicit Dataset(std::vector<Tensor> fields);

  [[nodiscard]] int64_t size() const { return fields_[0].shape(0); }
  [[nodiscard]] const std::vector<Tensor>& fields() const { return fields_; }
  [[nodiscard]] const Tensor& operator[](size_t field) const { return fields_.at(field); }

  // Samples first to last - 1, which are views.
  [[nodiscard]] Dataset slice(int64_t first, int64_t last) const;
  // The samples at these positions, gathered.
  [[nodiscard]] Batch at(const std::vector<int64_t>& positions) const;
  // `count` samples drawn by this seed, and the others.
  [[nodiscard]] std::pair<Dataset, Dataset> split(int64_t count, uint64_t seed = 0) const;

 private:
  std::vector<Tensor> fields_;
};

struct LoaderOptions {
  int64_t batch = 32;
  bool shuffle = false;
  uint64_t seed = 0;
  bool drop_last = false;  // leaves out a last batch that is not whole
  // What becomes of each batch: images distorted, say, or read from files that a sample only names.
  // `random` is the batch's own, of seed, epoch and number.
  std::function<Batch(Batch samples, Generator& random)> transform = nullptr;
  // So many batches are made ahead, in order, by a thread of the loop, on which transform() then
  // runs. They are the same, but in memory when the loop gets them. For a transform() that takes
  // the host's time; what tensors alone do is better left to the kernels that read the batch.
  int64_t prefetch = 0;
};

// The batches of a data set, epoch by epoch:
//
//   for (const data::Batch& batch : loader) step(batch[0], batch[1]);
//
// A loop is an epoch, with an order of its own if `shuffle`. What a batch holds depends on the
// seed, the epoch and its number alone, so that a training can go on at any. Batches are gathered
// by the kernels that read them, where the data is. What transform() throws is thrown where the
// loop gets that batch.
class Loader {
 public:
  Loader(Dataset dataset, const LoaderOptions& options = {});

  [[nodiscard]] int64_t size() const { return batches_; }  // batches in an epoch
  [[nodiscard]] const Dataset& dataset() const { return dataset_; }

  // The epoch that the next loop is; a loop that ends makes it one more.
  [[nodiscard]] int64_t epoch() const { return epoch_; }
  // The next loop is this epoch, from batch `first` on: to go on after `step` steps,
  // set_epoch(step / size(), step % size()).
  void set_epoch(int64_t epoch, int64_t first = 0);

  // Batch i of an epoch.
  [[nodiscard]] Batch batch(int64_t epoch, int64_t i);

  class Iterator {
   public:
    using value_type = Batch;
    using difference_type = std::ptrdiff_t;
    Iterator(Loader* loader, int64_t i) : loader_(loader), i_(i) {}
    // Moves only: it owns the thread that makes the batches ahead.
    Iterator(Iterator&& other) noexcept
        : loader_(other.loader_), i_(other.i_), ahead_(std::exchange(other.ahead_, nullptr)) {}
    Iterator& operator=(Iterator&& other) noexcept {
      std::swap(loader_, other.loader_);
      std::swap(i_, other.i_);
      std::swap(ahead_, other.ahead_);
      return *this;
    }
    ~Iterator();
    Batch operator*() const;
    Iterator& operator++() {
      if (++i_ == loader_->batches_) ++loader_->epoch_;
      return *this;
    }
    void operator++(int) { ++*this; }
    bool operator==(const Iterator& other) const { return i_ == other.i_; }

   private:
    friend Loader;
    class Ahead;  // the thread, and what it has made
    Loader* loader_;
    int64_t i_;
    Ahead* ahead_ = nullptr;  // null without prefetch
  };
  // The loader stays where it is and as it is while an iterator of it lives.
  [[nodiscard]] Iterator begin();
  [[nodiscard]] Iterator end() { return {this, batches_}; }

 private:
  using Order = std::vector<int64_t>;
  // Of an epoch; nothing if they come as they are.
  [[nodiscard]] Order order_of(int64_t epoch) const;
  [[nodiscard]] Batch make(const Order& order, int64_t epoch, int64_t i) const;

  Dataset dataset_;
  LoaderOptions options_;
  int64_t batches_;
  int64_t epoch_ = 0;
  int64_t first_ = 0;
  int64_t order_epoch_ = -1;  // of order_
  Order order_;
};

// Files that are not what they should be are an Error (kInvalidArgument) that names file and place;
// those that are not there kNotFound. Tensors are on default_device().

// An IDX file, the format of MNIST: its elements, in their shape and dtype. Bytes are mapped, as by
// load_raw().
Tensor load_idx(const std::string& path);

// Files of CIFAR-10's binary version, one after another: images (n, 3, 32, 32) uint8 and labels (n)
// int64.
Dataset load_cifar10(const std::vector<std::string>& paths);

struct CsvOptions {
  char separator = ',';
  int64_t skip = 0;  // lines at the beginning: a header, say
  DType dtype = DType::kFloat32;
};
// A text file of numbers, a line for each row: (rows, columns). Empty lines do not count.
Tensor load_csv(const std::string& path, const CsvOptions& options = {});

struct RawOptions {
  int64_t skip = 0;    // bytes before the first sample
  int64_t record = 0;  // bytes from one sample to the next; 0: they follow one another
};
// A file of samples and nothing else, of any size, as numpy.tofile() writes it: (n, ...sample), of
// all samples that are whole. The file is mapped, like those of load() and load_safetensors(): on
// the CPU a batch reads its own samples from it, and no more, so that the data may be larger than
// memory. Whoever cuts or changes the file meanwhile changes the tensor, or ends the program.
// Values of kBool are read once, to see that they are 0 or 1.
//
//   const data::Dataset set{data::load_raw("images", {3, 32, 32}, kUInt8, {.skip = 1, .record =
//   3073}),
//                           data::load_raw("images", {}, kUInt8, {.record = 3073})};
Tensor load_raw(const std::string& path, const Shape& sample, DType dtype,
                const RawOptions& options = {}, Location where = Location::current());

struct ImageOptions {
  // 1: grey; 3: red, green, blue; 4: and how opaque it is, 255 in a JPEG. Transparency is left out,
  // not blended. 0: as many as the file has, of which 2 are grey and opaqueness.
  int64_t channels = 0;
};
// The image in a PNG or JPEG file, whichever it is: (channels, height, width) uint8 in sRGB. 16
// bits become 8, palettes colors. How a camera was held (EXIF) is not looked at. Throws Error also
// where the file ends early, has more than 2^28 pixels (kInvalidArgument), or libpng or
// libjpeg-turbo, which are looked for at the first image, is not installed (kUnimplemented).
Tensor load_image(const std::string& path, const ImageOptions& options = {},
                  Location where = Location::current());
// Likewise of a file's bytes.
Tensor decode_image(std::span<const uint8_t> file, const ImageOptions& options = {},
                    Location where = Location::current());

struct SaveImageOptions {
  int quality = 90;  // of a JPEG: 1 to 100
};
// Writes (channels, height, width) or (height, width) uint8, as `path` ends: .png, of 1 to 4
// channels, or .jpg and .jpeg, of 1 or 3. An old file is replaced once the new one is whole.
void save_image(const std::string& path, const Tensor& image, const SaveImageOptions& options = {},
                Location where = Location::current());

// What a training that goes on needs, in one .safetensors file, which replaces that of before once
// it is whole. Null pointers are left out.
struct Checkpoint {
  nn::Module* model = nullptr;
  optim::Optimizer* optimizer = nullptr;
  int64_t step = 0;
  std::map<std::string, Tensor> more = {};  // of the program's own
};
// Beside them the state of the process's random numbers is saved.
void save_checkpoint(const std::string& path, const Checkpoint& checkpoint,
                     Location where = Location::current());
// Puts all back: what is computed from then on has the bits that it would have had. Throws Error,
// as load_safetensors() and load_state_dict() do. `step` and `more` become the file's.
void load_checkpoint(const std::string& path, Checkpoint* checkpoint,
                     Location where = Location::current());

}  // namespace data
}  // namespace sluice
#pragma GCC visibility pop

#endif  // SLUICE_DATA_H_

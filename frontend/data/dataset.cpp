#include <sluice/data.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <utility>

#include <sluice/ops.h>
#include "frontend/checks.h"

namespace sluice::data {
namespace {

using frontend::describe;
using frontend::fail;

// 0 to count - 1 in an order that these two numbers choose: Fisher and Yates's shuffle.
// std::shuffle differs between standard libraries.
std::vector<int64_t> shuffled(int64_t count, uint64_t seed, uint64_t epoch) {
  std::vector<int64_t> order(count);
  std::iota(order.begin(), order.end(), 0);
  std::seed_seq words{seed & 0xffffffff, seed >> 32, epoch & 0xffffffff, epoch >> 32};
  std::mt19937_64 random(words);
  for (size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[random() % i]);
  return order;
}

}  // namespace

Dataset::Dataset(std::vector<Tensor> fields) : fields_(std::move(fields)) {
  if (fields_.empty()) fail("Dataset", "there is no field");
  for (const Tensor& field : fields_) {
    if (field.ndim() == 0 || field.shape(0) != fields_[0].shape(0)) {
      fail("Dataset", describe(field), " has not as many samples as ", describe(fields_[0]));
    }
  }
}

Dataset Dataset::slice(int64_t first, int64_t last) const {
  std::vector<Tensor> fields;
  for (const Tensor& field : fields_) fields.push_back(sluice::slice(field, 0, first, last));
  return Dataset(std::move(fields));
}

Batch Dataset::at(const std::vector<int64_t>& positions) const {
  const Tensor rows = Tensor::from(positions).to(fields_[0].device());
  Batch batch;
  for (const Tensor& field : fields_) batch.push_back(take(field, rows, 0));
  return batch;
}

std::pair<Dataset, Dataset> Dataset::split(int64_t count, uint64_t seed) const {
  if (count < 0 || count > size()) fail("Dataset::split", count, " of ", size(), " samples");
  const std::vector<int64_t> order = shuffled(size(), seed, 0);
  return {Dataset(at({order.begin(), order.begin() + count})),
          Dataset(at({order.begin() + count, order.end()}))};
}

Loader::Loader(Dataset dataset, const LoaderOptions& options)
    : dataset_(std::move(dataset)), options_(options) {
  if (options.batch < 1) fail("Loader", "batch is ", options.batch, ", not positive");
  const int64_t more = options.drop_last ? 0 : options.batch - 1;
  batches_ = (dataset_.size() + more) / options.batch;
}

Batch Loader::batch(int64_t epoch, int64_t i) {
  if (i < 0 || i >= batches_) fail("Loader", "there is no batch ", i, " of ", batches_);
  const int64_t first = i * options_.batch;
  const int64_t last = std::min(first + options_.batch, dataset_.size());
  if (!options_.shuffle) return dataset_.slice(first, last).fields();
  if (order_epoch_ != epoch) {
    order_ = shuffled(dataset_.size(), options_.seed, static_cast<uint64_t>(epoch));
    order_epoch_ = epoch;
  }
  return dataset_.at({order_.begin() + first, order_.begin() + last});
}

}  // namespace sluice::data

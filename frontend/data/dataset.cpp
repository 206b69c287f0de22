#include <sluice/data.h>

#include <utility>

#include <sluice/ops.h>
#include "frontend/checks.h"
#include "frontend/data/shuffled.h"

namespace sluice::data {
namespace {

using frontend::describe;
using frontend::fail;

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

}  // namespace sluice::data

#include <utility>

#include <sluice/creation.h>
#include <sluice/data.h>
#include <sluice/files.h>
#include <sluice/random.h>
#include "absl/strings/str_cat.h"
#include "frontend/checks.h"
#include "frontend/files/file.h"

namespace sluice::data {
namespace {

// What the names in the file begin with.
constexpr const char* kModel = "model.";
constexpr const char* kOptimizer = "optimizer.";
constexpr const char* kMore = "more.";
constexpr const char* kStep = "step";
constexpr const char* kRandom = "random";

using Tensors = std::map<std::string, Tensor>;

void insert(const char* prefix, Tensors part, Tensors* all) {
  for (auto& [name, tensor] : part) (*all)[prefix + name] = std::move(tensor);
}

Tensors part_of(const Tensors& all, const std::string& prefix) {
  Tensors part;
  for (const auto& [name, tensor] : all) {
    if (name.starts_with(prefix)) part[name.substr(prefix.size())] = tensor;
  }
  return part;
}

}  // namespace

void save_checkpoint(const std::string& path, const Checkpoint& checkpoint, Location where) {
  Tensors all;
  if (checkpoint.model != nullptr) insert(kModel, checkpoint.model->state_dict(), &all);
  if (checkpoint.optimizer != nullptr) {
    insert(kOptimizer, checkpoint.optimizer->state_dict(), &all);
  }
  insert(kMore, checkpoint.more, &all);
  all[kStep] = full({}, checkpoint.step, DType::kInt64);
  const RandomState random = random_state();
  all[kRandom] = Tensor::from<uint64_t>({random.seed, random.next_call});
  save_safetensors(path, all, {{"format", "sluice checkpoint"}}, where);
}

void load_checkpoint(const std::string& path, Checkpoint* checkpoint, Location where) {
  const Tensors all = load_safetensors(path, nullptr, where);
  const frontend::FileName file{"load_checkpoint", path};
  const auto find = [&](const char* name, DType dtype, int64_t count) {
    const auto found = all.find(name);
    const bool is_there =
        found != all.end() && found->second.dtype() == dtype && found->second.numel() == count;
    if (!is_there) file.fail("has no \"", name, "\": it is no checkpoint");
    return found->second;
  };
  const Tensor step = find(kStep, DType::kInt64, 1);
  const std::vector<uint64_t> random = find(kRandom, DType::kUInt64, 2).to_vector<uint64_t>();
  if (checkpoint->model != nullptr) checkpoint->model->load_state_dict(part_of(all, kModel));
  if (checkpoint->optimizer != nullptr) {
    checkpoint->optimizer->load_state_dict(part_of(all, kOptimizer));
  }
  checkpoint->more = part_of(all, kMore);
  checkpoint->step = step.item<int64_t>();
  set_random_state({.seed = random[0], .next_call = random[1]});
}

}  // namespace sluice::data

#include <sluice/nn/containers.h>

#include <sluice/ops.h>
#include "frontend/checks.h"
#include "frontend/nn/observed.h"

namespace sluice::nn {

Sequential::Sequential(Empty) {
  register_modules("", &steps_, [](void* member, const Visit& visit) {
    size_t number = 0;
    for (StepHolder& holder : *static_cast<std::vector<StepHolder>*>(member)) {
      Module* module = holder.step->module();
      if (module != nullptr) visit(std::to_string(number), *module);
      ++number;
    }
  });
}

Sequential::Step& Sequential::step(size_t i) const {
  if (i >= steps_.size()) {
    frontend::fail("Sequential::at", "there is no module ", i, " of ", steps_.size());
  }
  return *steps_[i].step;
}

void Sequential::fail_type(size_t i) {
  frontend::fail("Sequential::at", "module ", i, " is of another type");
}

Tensor Sequential::operator()(const Tensor& x) const {
  Tensor result = x;
  for (const StepHolder& holder : steps_) result = holder.step->forward(result);
  return frontend::observed(*this, std::move(result));
}

Residual::Residual(Sequential body) : body_(std::move(body)) { register_module("body", body_); }

Tensor Residual::operator()(const Tensor& x) const {
  return frontend::observed(*this, x + body_(x));
}

}  // namespace sluice::nn

// oneDNN's part in bench/scoreboard, called directly.
#include <string>
#include <unordered_map>

#include "bench/contestants/contestant.h"
#include "oneapi/dnnl/dnnl.hpp"

namespace {

using scoreboard::Array;
using scoreboard::Arrays;
using scoreboard::Floats;
using scoreboard::Work;

// a * b; with a bias gelu(a * b + bias).
Work product(const Arrays& in, int64_t) {
  using dnnl::memory;
  const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  const auto inputs = std::make_shared<Arrays>(in);
  const int64_t rows = in[0].shape[0], columns = in[1].shape[1];
  const auto out = std::make_shared<Arrays>(1, Array{{rows, columns}, Floats(rows * columns)});
  const auto descriptor_of = [](int64_t m, int64_t n) {
    return memory::desc({m, n}, memory::data_type::f32, memory::dims{n, 1});
  };
  const auto a = descriptor_of(in[0].shape[0], in[0].shape[1]);
  const auto b = descriptor_of(in[1].shape[0], in[1].shape[1]);
  const auto c = descriptor_of(rows, columns);
  const bool biased = in.size() > 2;
  const auto bias = biased ? descriptor_of(1, columns) : memory::desc();
  dnnl::primitive_attr attributes;
  if (biased) {
    dnnl::post_ops after;
#if DNNL_VERSION_MAJOR >= 3
    after.append_eltwise(dnnl::algorithm::eltwise_gelu_erf, 0, 0);
#else
    after.append_eltwise(1, dnnl::algorithm::eltwise_gelu_erf, 0, 0);
#endif
    attributes.set_post_ops(after);
  }
#if DNNL_VERSION_MAJOR >= 3
  const dnnl::matmul::primitive_desc descriptor =
      biased ? dnnl::matmul::primitive_desc(engine, a, b, bias, c, attributes)
             : dnnl::matmul::primitive_desc(engine, a, b, c, attributes);
#else
  const dnnl::matmul::primitive_desc descriptor(
      biased ? dnnl::matmul::desc(a, b, bias, c) : dnnl::matmul::desc(a, b, c), attributes, engine);
#endif
  const auto memory_of = [&](const memory::desc& layout, Array& array) {
    return memory(layout, engine, array.values.data());
  };
  std::unordered_map<int, memory> arguments = {{DNNL_ARG_SRC, memory_of(a, (*inputs)[0])},
                                               {DNNL_ARG_WEIGHTS, memory_of(b, (*inputs)[1])},
                                               {DNNL_ARG_DST, memory_of(c, (*out)[0])}};
  if (biased) arguments.emplace(DNNL_ARG_BIAS, memory_of(bias, (*inputs)[2]));
  return scoreboard::work_of(
      out, [=, stream = dnnl::stream(engine), product = dnnl::matmul(descriptor)]() mutable {
        product.execute(stream, arguments);
        stream.wait();
        (void)inputs;  // kept as long as this
      });
}

}  // namespace

int main(int argc, char** argv) {
  const dnnl_version_t* version = dnnl::version();
  scoreboard::Contestant contestant;
  contestant.version = "oneDNN " + std::to_string(version->major) + "." +
                       std::to_string(version->minor) + "." + std::to_string(version->patch);
  contestant.programs["matmul"] = product;
  contestant.programs["linear_gelu"] = product;
  return scoreboard::contestant_main(argc, argv, contestant);
}

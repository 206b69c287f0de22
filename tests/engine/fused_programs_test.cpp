// The fused programs: each takes no more kernels than it may, neither fusing nor compiling changes
// a bit of it, and what it computes is right.
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <functional>
#include <ostream>
#include <string>
#include <vector>

#include <sluice/sluice.h>
#include "tests/support/test_util.h"
#include "workloads/fused_programs.h"

namespace sluice::workloads {

// Found by GoogleTest, which would print the bytes of the struct.
static void PrintTo(const FusedProgram& program, std::ostream* out) { *out << program.name; }

}  // namespace sluice::workloads

namespace sluice::test {
namespace {

using workloads::fused_programs;
using workloads::FusedProgram;
using workloads::Size;
using workloads::Tensors;

class FusedPrograms : public testing::TestWithParam<FusedProgram> {};

std::vector<std::vector<uint8_t>> bytes_of(const Tensors& outputs) {
  std::vector<std::vector<uint8_t>> result;
  for (const Tensor& x : outputs) result.push_back(read_bytes(x));
  return result;
}

TEST_P(FusedPrograms, TakeFewKernelsAndChangeNoBits) {
  const ConfigGuard guard;
  const Tensors inputs = GetParam().make_inputs(Size::kSmall);
  config().compile = CompileMode::kBlocking;

  config().fuse = false;
  const auto op_by_op = bytes_of(GetParam().run(inputs));
  config().fuse = true;
  config().compile = CompileMode::kOff;
  EXPECT_EQ(bytes_of(GetParam().run(inputs)), op_by_op) << "interpreted";
  config().compile = CompileMode::kBlocking;
  const Stats before = stats();
  const Tensors outputs = GetParam().run(inputs);
  sync();
  const Stats after = stats();
  EXPECT_LE(after.kernels_launched - before.kernels_launched, GetParam().kernels);
  EXPECT_EQ(after.library_calls - before.library_calls, GetParam().library_calls);
  EXPECT_EQ(bytes_of(outputs), op_by_op) << "compiled";
}

INSTANTIATE_TEST_SUITE_P(ByHand, FusedPrograms, testing::ValuesIn(fused_programs()),
                         [](const testing::TestParamInfo<FusedProgram>& info) {
                           std::string name = info.param.name;
                           for (char& c : name) {
                             if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '_';
                           }
                           return name;
                         });

// Plain loops in float64 over what the programs read.

using Doubles = std::vector<double>;

Doubles doubles_of(const Tensor& x) {
  const std::vector<float> values = x.to_vector<float>();
  return {values.begin(), values.end()};
}

// The outputs that `reference` says the program of this name has, within `tolerance` of each
// element's magnitude, or of 1 if that is less.
void expect_agreement(
    const std::string& name, double tolerance,
    const std::function<std::vector<Doubles>(const std::vector<Doubles>&)>& reference) {
  SCOPED_TRACE(name);
  const std::vector<FusedProgram> programs = fused_programs();
  const auto program = std::find_if(programs.begin(), programs.end(),
                                    [&](const FusedProgram& p) { return p.name == name; });
  ASSERT_NE(program, programs.end());
  const Tensors inputs = program->make_inputs(Size::kSmall);
  const Tensors outputs = program->run(inputs);
  std::vector<Doubles> in;
  for (const Tensor& x : inputs) in.push_back(doubles_of(x));
  const std::vector<Doubles> expected = reference(in);
  ASSERT_EQ(outputs.size(), expected.size());
  for (size_t k = 0; k < outputs.size(); ++k) {
    const Doubles actual = doubles_of(outputs[k]);
    ASSERT_EQ(actual.size(), expected[k].size());
    for (size_t i = 0; i < actual.size(); ++i) {
      ASSERT_NEAR(actual[i], expected[k][i], tolerance * std::max(1., std::fabs(expected[k][i])))
          << "element " << i << " of output " << k;
    }
  }
}

// The rows along one axis: `length` elements each, `stride` apart.
struct Rows {
  std::string place;
  size_t length, stride;
};

std::vector<Rows> all_rows() {
  return {{"the last axis", 300, 1}, {"the first axis", 48, 300}, {"a middle axis", 33, 9}};
}

// `x` with each of its rows changed by `row`.
Doubles map_rows(const Rows& rows, const Doubles& x, const std::function<void(Doubles*)>& row) {
  Doubles result(x.size());
  for (size_t first = 0; first < x.size(); ++first) {
    if (first / rows.stride % rows.length != 0) continue;
    Doubles values(rows.length);
    for (size_t i = 0; i < rows.length; ++i) values[i] = x[first + i * rows.stride];
    row(&values);
    for (size_t i = 0; i < rows.length; ++i) result[first + i * rows.stride] = values[i];
  }
  return result;
}

double mean_of(const Doubles& x) {
  double sum = 0;
  for (const double v : x) sum += v;
  return sum / static_cast<double>(x.size());
}

TEST(FusedProgramsInFloat64, Softmax) {
  for (const Rows& rows : all_rows()) {
    expect_agreement("softmax over " + rows.place, 1e-6, [&](const std::vector<Doubles>& in) {
      return std::vector<Doubles>{map_rows(rows, in[0], [](Doubles* x) {
        double sum = 0;
        for (const double v : *x) sum += std::exp(v);
        for (double& v : *x) v = std::exp(v) / sum;
      })};
    });
  }
}

TEST(FusedProgramsInFloat64, LayerNorm) {
  for (const Rows& rows : all_rows()) {
    expect_agreement("layer norm over " + rows.place, 1e-5, [&](const std::vector<Doubles>& in) {
      return std::vector<Doubles>{map_rows(rows, in[0], [](Doubles* x) {
        const double mean = mean_of(*x);
        Doubles squares;
        for (const double v : *x) squares.push_back((v - mean) * (v - mean));
        const double scale = std::sqrt(mean_of(squares) + 1e-5);
        for (double& v : *x) v = (v - mean) / scale;
      })};
    });
  }
}

TEST(FusedProgramsInFloat64, PairwiseSquaredDistances) {
  constexpr size_t kDims = 7;
  expect_agreement("pairwise squared distances", 1e-5, [](const std::vector<Doubles>& in) {
    Doubles result;
    for (size_t i = 0; i < in[0].size(); i += kDims) {
      for (size_t j = 0; j < in[1].size(); j += kDims) {
        double sum = 0;
        for (size_t k = 0; k < kDims; ++k) sum += std::pow(in[0][i + k] - in[1][j + k], 2);
        result.push_back(sum);
      }
    }
    return std::vector<Doubles>{result};
  });
}

TEST(FusedProgramsInFloat64, Jacobi) {
  constexpr size_t kRows = 48, kColumns = 300;
  for (const bool kept : {false, true}) {
    const std::string boundary = kept ? "boundary kept" : "zero boundary";
    expect_agreement("Jacobi step, " + boundary, 1e-6, [&](const std::vector<Doubles>& in) {
      const Doubles& u = in[0];
      Doubles result = kept ? u : Doubles(u.size());
      for (size_t i = 1; i + 1 < kRows; ++i) {
        for (size_t j = 1; j + 1 < kColumns; ++j) {
          const size_t at = i * kColumns + j;
          result[at] = (u[at - 1] + u[at + 1] + u[at - kColumns] + u[at + kColumns]) / 4;
        }
      }
      return std::vector<Doubles>{result};
    });
  }
}

TEST(FusedProgramsInFloat64, BlackScholes) {
  expect_agreement("Black-Scholes, call and put", 1e-4, [](const std::vector<Doubles>& in) {
    const auto phi = [](double x) { return std::erfc(-x / std::sqrt(2.)) / 2; };
    Doubles call, put;
    for (size_t i = 0; i < in[0].size(); ++i) {
      const double s = in[0][i], k = in[1][i], t = in[2][i], r = in[3][i], q = in[4][i];
      const double deviation = in[5][i] * std::sqrt(t);
      const double d1 = (std::log(s / k) + (r - q) * t) / deviation + deviation / 2;
      const double spot = s * std::exp(-q * t), strike = k * std::exp(-r * t);
      call.push_back(spot * phi(d1) - strike * phi(d1 - deviation));
      put.push_back(call.back() - spot + strike);
    }
    return std::vector<Doubles>{call, put};
  });
}

}  // namespace
}  // namespace sluice::test

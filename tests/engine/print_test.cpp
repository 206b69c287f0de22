// Printing, beside what NumPy prints: golden/print.txt, which golden/make_print.py writes.
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <sluice/format.h>
#include <sluice/sluice.h>
#include "tests/support/golden.h"
#include "tests/support/golden_file.h"

namespace sluice {
namespace {

Tensor from_bytes(const std::string& bytes, DType dtype, const Shape& shape) {
  return visit_dtype(dtype, [&]<typename T>() {
    return Tensor::from(
        std::span<const T>(reinterpret_cast<const T*>(bytes.data()), bytes.size() / sizeof(T)),
        shape);
  });
}

TEST(Print, TensorsAreWrittenAsNumPyWritesThem) {
  std::ifstream file(test::golden_file("print.txt"));
  std::string head, line;
  int cases = 0;
  while (std::getline(file, head)) {
    std::istringstream fields(head);
    std::string dtype, dims;
    PrintOptions options;
    int lines = 0;
    fields >> dtype >> dims >> options.threshold >> options.edge_items >> options.width >>
        options.precision >> lines;
    const std::vector<int64_t> extents = test::golden_integers(dims);
    std::getline(file, line);
    const std::string bytes = test::golden_bytes(line);
    std::string expected;
    for (int i = 0; i < lines; ++i) {
      std::getline(file, line);
      expected += (i > 0 ? "\n" : "") + line;
    }
    const Tensor x =
        from_bytes(bytes, test::dtype_named(dtype), Shape(std::span<const int64_t>(extents)));
    EXPECT_EQ(to_string(x, options), expected) << head;
    ++cases;
  }
  EXPECT_GE(cases, 200);
}

TEST(Print, StreamsTakeEverything) {
  std::ostringstream stream;
  stream << Tensor::from({1.f, 2.f}) << " " << Shape{2, 3} << " " << kBFloat16 << " "
         << Device::cpu() << " " << Tensor();
  EXPECT_EQ(stream.str(), "[1. 2.] (2, 3) bfloat16 cpu <empty>");
}

#ifdef __cpp_lib_format
TEST(Print, FormatTakesEverything) {
  EXPECT_EQ(std::format("{} of {:>9}{:*^9} on {}", Shape{2, 2}, DType::kInt32,
                        Tensor::from(std::vector<int32_t>{1, 2}), Device::cpu()),
            "(2, 2) of     int32**[1 2]** on cpu");
}
#endif

TEST(Print, BrainFloatsHaveTheDigitsThatTellThemApart) {
  const Tensor x = Tensor::from({0.1f, 1.f / 3, 2.f}).astype(kBFloat16);
  EXPECT_EQ(to_string(x), "[0.1   0.334 2.   ]");
  EXPECT_EQ(to_string(x.slice(0, 0, 1).reshape(Shape{})), "0.1");
}

TEST(Print, ErrorsOfTheComputationAreThrown) {
  const Tensor x = take(arange(4), Tensor::from({int64_t{7}}), 0);
  EXPECT_THROW((void)to_string(x), Error);
}

}  // namespace
}  // namespace sluice

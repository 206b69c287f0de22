// Other libraries' views of tensors, and tensors on their memory, as docs/ops.md shows them.
#include <gtest/gtest.h>

#include <version>
#if __has_include(<Eigen/Core>)
#include <Eigen/Core>
#endif
#ifdef __cpp_lib_mdspan
#include <mdspan>
#endif

#include "tests/support/test_util.h"

namespace sluice::test {
namespace {

#if __has_include(<Eigen/Core>)
using RowMajor = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

TEST(Eigen, MapsATensorAndBack) {
  const int64_t rows = 3, columns = 4;
  const Tensor x = rand({rows, columns});
  const Eigen::Map<const RowMajor> matrix(x.span<float>().data(), rows, columns);
  EXPECT_EQ(matrix(1, 2), x(1, 2).item<float>());
  EXPECT_NEAR(static_cast<double>(matrix.sum()), sum(x).item<double>(), 1e-5);

  Eigen::MatrixXd eigen = matrix.cast<double>();
  const Tensor y = Tensor::adopt(eigen.data(), {rows, columns}, DType::kFloat64, {}, {1, rows});
  EXPECT_EQ(read_bytes(y), read_bytes(x.astype(DType::kFloat64)));
}
#endif

#ifdef __cpp_lib_mdspan
TEST(Mdspan, OfATensor) {
  const Tensor x = arange(6).reshape(2, 3);
  const std::mdspan view(x.span<int64_t>().data(), 2, 3);
  EXPECT_EQ((view[1, 2]), 5);
}
#endif

}  // namespace
}  // namespace sluice::test

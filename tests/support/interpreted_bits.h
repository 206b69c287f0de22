// Compiled kernels have the bits of interpreted ones.
#ifndef SLUICE_TESTS_SUPPORT_INTERPRETED_BITS_H_
#define SLUICE_TESTS_SUPPORT_INTERPRETED_BITS_H_

#include <gtest/gtest.h>

#include <string>

#include "tests/support/test_util.h"

namespace sluice::test {

// Leaves compilation at kBlocking: a ConfigGuard sets it back.
template <typename F>
void expect_bits_of_interpreted(const std::string& what, F f) {
  config().compile = CompileMode::kOff;
  const auto interpreted = read_bytes(f());
  config().compile = CompileMode::kBlocking;
  EXPECT_EQ(read_bytes(f()), interpreted) << what;
}

}  // namespace sluice::test

#endif  // SLUICE_TESTS_SUPPORT_INTERPRETED_BITS_H_

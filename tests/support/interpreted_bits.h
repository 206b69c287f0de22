// Compiled kernels have the bits of interpreted ones.
#ifndef SLUICE_TESTS_SUPPORT_INTERPRETED_BITS_H_
#define SLUICE_TESTS_SUPPORT_INTERPRETED_BITS_H_

#include <gtest/gtest.h>

#include <string>

#include "tests/support/test_util.h"

namespace sluice::test {

// Leaves compilation at kOff: a ConfigGuard sets it back. What compiled code does not write must
// not be where the interpreter has written the same before, hence the order.
template <typename F>
void expect_bits_of_interpreted(const std::string& what, F f) {
  config().compile = CompileMode::kBlocking;
  const auto compiled = read_bytes(f());
  config().compile = CompileMode::kOff;
  EXPECT_EQ(compiled, read_bytes(f())) << what;
}

}  // namespace sluice::test

#endif  // SLUICE_TESTS_SUPPORT_INTERPRETED_BITS_H_

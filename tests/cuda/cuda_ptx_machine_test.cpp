// The machine that runs PTX (tests/ptx_device), on kernels written by hand: what it computes and
// what it finds. It needs no NVRTC.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/ptx_device/memory_map.h"
#include "tests/ptx_device/module.h"

namespace sluice::ptx {
namespace {

using ::testing::HasSubstr;

constexpr unsigned kThreads = 64;

// A kernel with `out`, 64-bit words, at [%out]; %t is the thread, %i the thread of the launch.
class Kernel {
 public:
  explicit Kernel(const std::string& body, unsigned blocks = 1, size_t words = kThreads)
      : blocks_(blocks), out_(words) {
    const std::string text = absl::StrCat(R"(.version 8.0
.target sm_90
.address_size 64
.visible .entry kernel(.param .u64 p) .maxntid 64, 1, 1
{
  .reg .pred %p<9>;
  .reg .b16 %h<9>;
  .reg .b32 %r<9>;
  .reg .b64 %d<9>;
  .reg .b32 %t, %i;
  .reg .b64 %out, %at;
  .shared .align 8 .b8 memory[512];
  ld.param.u64 %out, [p];
  mov.u32 %t, %tid.x;
  mov.u32 %r0, %ctaid.x;
  mad.lo.u32 %i, %r0, 64, %t;
  mad.wide.u32 %at, %i, 8, %out;
)",
                                          body, "\n  ret;\n}\n");
    std::string error;
    module_ = Module::parse(text, &error);
    parse_error_ = error;
  }

  // What was wrong, or "".
  std::string run(uint64_t schedule = 0) {
    if (module_ == nullptr) return parse_error_;
    const Accessible accessible(out_.data(), 8 * out_.size(), /*writable=*/true);
    const uint64_t* const pointer = out_.data();
    const char* const error = module_->run("kernel", {blocks_, kThreads, schedule}, &pointer, 8);
    return error == nullptr ? "" : error;
  }
  const std::vector<uint64_t>& out() const { return out_; }

 private:
  const unsigned blocks_;
  std::vector<uint64_t> out_;
  std::unique_ptr<Module> module_;
  std::string parse_error_;
};

// What thread 0 stores of %d1.
uint64_t result_of(const std::string& body) {
  Kernel kernel(absl::StrCat(body, "\n  st.global.u64 [%at], %d1;"));
  EXPECT_EQ(kernel.run(), "") << body;
  return kernel.out()[0];
}
// Likewise of %r1.
uint32_t word_of(const std::string& body) {
  return static_cast<uint32_t>(result_of(absl::StrCat(body, "\n  cvt.u64.u32 %d1, %r1;")));
}

TEST(PtxMachine, Computes) {
  const struct {
    const char* body;
    uint32_t result;
  } cases[] = {
      {"mov.u32 %r2, 7; mul.hi.u32 %r1, %r2, -1;", 6},
      {"mov.u32 %r2, -8; shr.s32 %r1, %r2, 1;", 0xfffffffc},
      {"mov.u32 %r2, 1; shl.b32 %r1, %r2, 32;", 0},
      {"mov.u32 %r2, 0xf0; bfe.s32 %r1, %r2, 4, 4;", 0xffffffff},
      {"mov.u32 %r2, 5; bfi.b32 %r1, %r2, 0, 8, 4;", 0x500},
      {"mov.u32 %r2, 0x44332211; prmt.b32 %r1, %r2, 0, 0x0123;", 0x11223344},
      {"mov.u32 %r2, 0x80000001; shf.l.wrap.b32 %r1, %r2, %r2, 4;", 0x18},
      {"mov.u32 %r2, 6; mov.u32 %r3, 3; lop3.b32 %r1, %r2, %r3, 0, 0x3c;", 5},
      {"mov.u32 %r2, 40; clz.b32 %r1, %r2;", 26},
      {"mov.u32 %r2, -1; add.cc.u32 %r3, %r2, 1; addc.u32 %r1, 0, 0;", 1},
      {"mov.u32 %r2, 0; sub.cc.u32 %r3, %r2, 1; subc.u32 %r1, 5, 0;", 4},
      {"mov.f32 %r2, 0f3F800000; fma.rn.f32 %r1, %r2, %r2, 0f40000000;", 0x40400000},
      {"mov.f32 %r2, 0f3F800000; add.rp.f32 %r1, %r2, 0f00000001;", 0x3f800001},
      {"mov.f32 %r2, 0f3F800000; add.rn.f32 %r1, %r2, 0f00000001;", 0x3f800000},
      {"mov.f32 %r2, 0f00000001; mul.ftz.rn.f32 %r1, %r2, 0f40000000;", 0},
      {"mov.f32 %r2, 0f7FC00000; max.f32 %r1, %r2, 0f3F800000;", 0x3f800000},
      {"mov.f32 %r2, 0f7FC00001; max.NaN.f32 %r1, %r2, 0f3F800000;", 0x7fffffff},
      {"mov.f32 %r2, 0f80000000; min.f32 %r1, %r2, 0f00000000;", 0x80000000},
      {"mov.f32 %r2, 0f4F800000; cvt.rzi.s32.f32 %r1, %r2;", 0x7fffffff},
      {"mov.f32 %r2, 0f7FC00000; cvt.rzi.s32.f32 %r1, %r2;", 0},
      {"mov.f32 %r2, 0fC0200000; cvt.rni.s32.f32 %r1, %r2;", 0xfffffffe},
      {"mov.f32 %r2, 0f477FF000; cvt.rn.f16.f32 %h1, %r2; cvt.u32.u16 %r1, %h1;", 0x7c00},
      {"mov.f32 %r2, 0f33800000; cvt.rn.f16.f32 %h1, %r2; cvt.u32.u16 %r1, %h1;", 1},
      {"mov.b16 %h1, 0x3; cvt.f32.f16 %r1, %h1;", 0x34400000},
      {"mov.f32 %r2, 0f3F808000; cvt.rn.bf16.f32 %h1, %r2; cvt.u32.u16 %r1, %h1;", 0x3f80},
      {"mov.u32 %r2, 3; setp.lt.u32 %p1|%p2, %r2, 2; selp.u32 %r1, 8, 9, %p2;", 8},
  };
  for (const auto& [body, result] : cases) EXPECT_EQ(word_of(body), result) << body;
  EXPECT_EQ(result_of("mov.u32 %r2, -3; mul.wide.s32 %d1, %r2, 5;"), uint64_t(-15));
  EXPECT_EQ(result_of("mov.f64 %d2, 0d4008000000000000; div.rn.f64 %d1, %d2, 0d4000000000000000;"),
            std::bit_cast<uint64_t>(1.5));
}

TEST(PtxMachine, RefusesWhatItDoesNotKnow) {
  EXPECT_THAT(Kernel("dp4a.u32.u32 %r1, %r2, %r3, %r4;").run(), HasSubstr("instruction dp4a"));
  EXPECT_THAT(Kernel("add.nonsense.u32 %r1, %r2, %r3;").run(), HasSubstr(".nonsense of add"));
  EXPECT_THAT(Kernel("mov.u32 %r1, %r77;").run(), HasSubstr("register %r77"));
  EXPECT_THAT(Kernel("bra $nowhere;").run(), HasSubstr("no label $nowhere"));
}

TEST(PtxMachine, ChecksAccesses) {
  EXPECT_EQ(Kernel("st.global.u64 [%at], %at;").run(), "");
  EXPECT_THAT(Kernel("st.global.u64 [%at+8], %at;").run(), HasSubstr("outside of memory"));
  EXPECT_THAT(Kernel("ld.global.u64 %d1, [%at+-8];").run(), HasSubstr("outside of memory"));
  EXPECT_THAT(Kernel("ld.global.u64 %d1, [%out+4];").run(), HasSubstr("misaligned"));
  EXPECT_THAT(Kernel("ld.global.v2.u64 {%d1, %d2}, [%out+8];").run(), HasSubstr("misaligned"));
  EXPECT_THAT(Kernel("st.shared.u32 [memory+512], %t;").run(), HasSubstr("outside of shared"));
  EXPECT_THAT(Kernel("ld.shared.u32 %r1, [memory];").run(), HasSubstr("nobody has written"));
  EXPECT_THAT(Kernel("ld.param.u64 %d1, [p+8];").run(), HasSubstr("outside of parameters"));
  EXPECT_THAT(Kernel("st.global.u64 [%at], %at; ld.global.nc.u64 %d1, [%at];").run(),
              HasSubstr("ld.global.nc"));
  EXPECT_THAT(Kernel("div.u32 %r1, %t, %t;").run(), HasSubstr("divided by 0"));
}

// Every thread stores its number, and loads that of another, `by` further on.
std::string exchange(const char* barrier, int by) {
  return absl::StrCat("mov.u64 %d1, memory; mad.wide.u32 %d2, %t, 8, %d1; cvt.u64.u32 %d3, %t;",
                      "st.shared.u64 [%d2], %d3; ", barrier, " add.u32 %r1, %t, ", by,
                      "; and.b32 %r1, %r1, 63; mad.wide.u32 %d2, %r1, 8, %d1;"
                      "ld.shared.u64 %d3, [%d2]; st.global.u64 [%at], %d3;");
}

TEST(PtxMachine, FindsRaces) {
  Kernel right(exchange("bar.sync 0;", 5));
  EXPECT_EQ(right.run(), "");
  for (unsigned t = 0; t < kThreads; ++t) EXPECT_EQ(right.out()[t], (t + 5) % 64);
  EXPECT_THAT(Kernel(exchange("", 5)).run(), HasSubstr("race"));
  // In a warp its own barrier suffices, from warp to warp it does not.
  EXPECT_THAT(Kernel(exchange("bar.warp.sync -1;", 5)).run(), HasSubstr("nobody has written"));
  const std::string flips = "xor.b32 %r1, %t, 1; ";
  const std::string in_pairs = absl::StrCat(
      "mov.u64 %d1, memory; mad.wide.u32 %d2, %t, 8, %d1; st.shared.u64 [%d2], %d2;"
      "bar.warp.sync -1;",
      flips, "mad.wide.u32 %d2, %r1, 8, %d1; ld.shared.u64 %d3, [%d2];");
  EXPECT_EQ(Kernel(in_pairs).run(), "");
  // Nothing orders blocks.
  EXPECT_THAT(Kernel("st.global.u32 [%out], %i;", 2).run(), HasSubstr("race"));
  EXPECT_EQ(Kernel("mov.u32 %r1, 7; st.global.u32 [%out], %r1;", 2).run(), "") << "one value";
  EXPECT_EQ(Kernel("red.global.add.u32 [%out], 1;", 2).run(), "");
  const std::string tells = "st.relaxed.gpu.global.u32 [%out], %i; ";
  EXPECT_EQ(Kernel(tells + "ld.relaxed.gpu.global.u32 %r1, [%out];", 2).run(), "");
  EXPECT_THAT(Kernel(tells + "ld.global.u32 %r1, [%out];", 2).run(), HasSubstr("race"));
}

TEST(PtxMachine, WatchesCopiesThatNobodyWaitsFor) {
  const auto run = [](const std::string& after) {
    Kernel kernel(absl::StrCat(R"(
  st.global.u64 [%at], 7;
  mov.u32 %r1, memory;
  mad.lo.u32 %r1, %t, 4, %r1;
  mov.u32 %r2, 4;
  cp.async.ca.shared.global [%r1], [%at], 4, %r2;
)",
                               after));
    const std::string error = kernel.run();
    EXPECT_TRUE(!error.empty() || kernel.out()[5] == 7u);
    return error;
  };
  EXPECT_EQ(run("cp.async.wait_all;\n ld.shared.u32 %r3, [%r1];"), "");
  EXPECT_THAT(run("ld.shared.u32 %r3, [%r1];\n cp.async.wait_all;"), HasSubstr("a copy under way"));
  EXPECT_THAT(run("st.shared.u32 [%r1], %r2;\n cp.async.wait_all;"), HasSubstr("a copy under way"));
  EXPECT_THAT(run("bar.sync 0;"), HasSubstr("a copy that is not waited for"));
  // Another thread's, without a barrier.
  const std::string other = R"(
  xor.b32 %r4, %t, 32;
  mov.u32 %r5, memory;
  mad.lo.u32 %r4, %r4, 4, %r5;
  cp.async.wait_all;
)";
  EXPECT_EQ(run(other + "bar.sync 0;\n ld.shared.u32 %r3, [%r4];"), "");
  EXPECT_NE(run(other + "ld.shared.u32 %r3, [%r4];"), "");
}

TEST(PtxMachine, MultipliesMatrices) {
  // a is 1, b is 2, c is 3.
  const char* const fill = R"(
  mov.b32 %r1, 0x3c003c00;
  mov.b32 %r2, 0x40004000;
  mov.b32 %r3, 0f40400000;
)";
  const char* const multiply = R"(
  mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%r4, %r5, %r6, %r7}, {%r1, %r1, %r1, %r1},
      {%r2, %r2}, {%r3, %r3, %r3, %r3};
)";
  EXPECT_EQ(word_of(absl::StrCat(fill, multiply, "mov.b32 %r1, %r7;")),
            std::bit_cast<uint32_t>(3 + 16 * 2.f));
  Kernel part(absl::StrCat("setp.lt.u32 %p1, %t, 7;\n @%p1 exit;", fill, multiply));
  EXPECT_THAT(part.run(), HasSubstr("threads of the warp have ended"));
}

TEST(PtxMachine, ChecksWhoComesToABarrier) {
  const std::string half = "setp.lt.u32 %p1, %t, 32;";
  EXPECT_THAT(Kernel(half + "@%p1 bar.sync 0;").run(), HasSubstr("not all threads of the block"));
  EXPECT_THAT(
      Kernel("setp.lt.u32 %p1, %t, 40; @%p1 bra $a; bar.sync 0; bra $b; $a: bar.sync 0; $b:").run(),
      HasSubstr("different barriers"));
  EXPECT_THAT(Kernel("setp.lt.u32 %p1, %t, 40; @%p1 bar.warp.sync -1; bar.sync 0;").run(),
              HasSubstr("wait for others that do not come"));
  EXPECT_THAT(Kernel("shfl.sync.down.b32 %r1, %t, 1, 31, 0xffff;").run(),
              HasSubstr("not in its mask"));
}

// What NVRTC makes of some loops.
TEST(PtxMachine, PassesABarrierAfterALoopWhoseBodyIsBehindIt) {
  const std::string body = R"(
  mov.u32 %r1, 0;
  and.b32 %r2, %t, 7;
$loop:
  setp.lt.u32 %p1, %r1, %r2;
  @%p1 bra $body;
  bar.sync 0;
  bra $end;
$body:
  add.u32 %r1, %r1, 1;
  bra $loop;
$end:
  cvt.u64.u32 %d1, %r1;
  st.global.u64 [%at], %d1;)";
  for (uint64_t schedule = 0; schedule < 5; ++schedule) {
    Kernel kernel(body);
    EXPECT_EQ(kernel.run(schedule), "");
    for (unsigned t = 0; t < kThreads; ++t) EXPECT_EQ(kernel.out()[t], t % 8);
  }
}

// Threads that part, run loops of different length and meet again, in any order.
TEST(PtxMachine, RunsThreadsThatPartInAnyOrder) {
  const std::string body = R"(
  mov.u32 %r1, 0;
  and.b32 %r2, %t, 7;
$loop:
  setp.eq.u32 %p1, %r2, 0;
  @%p1 bra $end;
  add.u32 %r1, %r1, %r2;
  sub.u32 %r2, %r2, 1;
  bra $loop;
$end:
  bar.warp.sync -1;
  shfl.sync.bfly.b32 %r3, %r1, 1, 31, -1;
  cvt.u64.u32 %d1, %r3;
  st.global.u64 [%at], %d1;)";
  for (uint64_t schedule = 0; schedule < 20; ++schedule) {
    Kernel kernel(body);
    EXPECT_EQ(kernel.run(schedule), "");
    for (unsigned t = 0; t < kThreads; ++t) {
      const unsigned n = (t ^ 1) % 8;
      EXPECT_EQ(kernel.out()[t], n * (n + 1) / 2) << "schedule " << schedule;
    }
  }
}

}  // namespace
}  // namespace sluice::ptx

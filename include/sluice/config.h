// Settings of the engine. Each is read once from the environment, at first use.
#ifndef SLUICE_CONFIG_H_
#define SLUICE_CONFIG_H_

#include <cstdint>
#include <string>

#pragma GCC visibility push(default)
namespace sluice {

enum class CompileMode : uint8_t {
  kAsync,     // a new kernel runs interpreted at once while it compiles on another thread
  kBlocking,  // a new kernel is compiled before it first runs
  kOff,       // never compile: everything is interpreted
};

enum class Validate : uint8_t {
  kOff,
  kBits,  // every window is also run op by op on the interpreter: bits that differ are an Error
  kAll,   // likewise, and so is a NaN that an op makes of operands without one
};

enum class MatmulPrecision : uint8_t {
  kFloat32,  // as float32 is
  kTf32,     // a GPU's tensor cores round float32 operands to 10 bits of fraction; sums are float32
};

// Changing a field takes effect at the next flush. No fields but fast_math and matmul_precision
// change any result's bits.
struct Config {
  bool fuse = true;                           // SLUICE_FUSE=off: one kernel an op
  CompileMode compile = CompileMode::kAsync;  // SLUICE_COMPILE=async|blocking|off

  // SLUICE_DETERMINISTIC=1: flush points depend on the program alone. Otherwise pending work of a
  // GPU that is worth it (1 MiB) starts by itself when nothing was recorded for 2 ms and the GPU is
  // idle, on another thread: sync() before changing other settings then.
  bool deterministic = false;
  // SLUICE_FAST_MATH=1: allows arithmetic that changes bits where it is faster: products and sums
  // contract, compositions such as x * tanh(log1p(exp(x))) take a form with fewer functions,
  // division by what is the same for a whole row becomes multiplication, and a bias, a residual and
  // activations after a matrix product are left to its library (whose relu may make NaN 0, and
  // whose gelu and silu -infinity NaN). Bits may then differ between fused and unfused, interpreted
  // and compiled.
  bool fast_math = false;
  // SLUICE_MATMUL_PRECISION=float32|tf32: of float32 products and convolutions. CPUs: float32.
  MatmulPrecision matmul_precision = MatmulPrecision::kFloat32;
  // SLUICE_VALIDATE=off|bits|1 (kAll): to find what is wrong (docs/debugging.md). Very slow.
  Validate validate = Validate::kOff;

  int64_t window_ops = 4096;              // SLUICE_WINDOW_OPS: pending ops that force a flush; >= 1
  int64_t max_pending_bytes = 1LL << 30;  // SLUICE_MAX_PENDING_BYTES: bytes that pending results
                                          // with a handle will need; more forces a flush
  int64_t memory_limit = 0;               // SLUICE_MEMORY_LIMIT: bytes of device memory the engine
                                          // may hold; 0: 90 % of the machine's. Under a limit
                                          // what gradients need is computed again if need be
  int64_t plan_cache_entries = 1024;      // SLUICE_PLAN_CACHE_ENTRIES: least recently used go first
};

// The process's settings; to be changed by one thread while no other uses the engine.
[[nodiscard]] Config& config();

// What this build can do: compiler, SIMD level, LLVM, threads, CUDA; one "name:
// value" a line.
[[nodiscard]] std::string build_info();

}  // namespace sluice
#pragma GCC visibility pop

#endif  // SLUICE_CONFIG_H_

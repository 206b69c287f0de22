// The loader of compiled code: what LLVM makes of kernels runs, what is damaged does no harm.
#include <elf.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>
#include <string>

#include "kernels/compiled/generator.h"
#include "kernels/compiled/machine.h"
#include "kernels/compiled/object_code.h"
#include "kernels/compiled/symbols.h"
#include "kernels/executable.h"
#include "kernels/math/external.h"
#include "tests/support/program_builder.h"

namespace sluice::kernels {
namespace {

using fusion::Op;
using fusion::Schedule;
using ::testing::HasSubstr;
using testing::ProgramBuilder;

// What the kernel below calls.
void* known(const char* name) {
  if (std::strcmp(name, kRaiseErrorName) == 0) return reinterpret_cast<void*>(&raise_error);
  if (std::strcmp(name, kExternalArrayName) != 0) return nullptr;
  return reinterpret_cast<void*>(&math::external_array);
}

// Of a kernel that has constants and calls back: sin of indices, which are checked.
class ObjectCodeTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto generator = find_generator();
    ASSERT_TRUE(generator.ok()) << generator.status();
    const auto index = builder_.load(builder_.access(index_, {1}));
    const auto checked = builder_.check_index({index, builder_.param(3)});
    const auto sine = builder_.op(Op::kSin, {builder_.cast(checked, DType::kFloat32)});
    builder_.store(sine, builder_.access(result_, {1}));
    const absl::Status status =
        (*generator)->generate(builder_.program(), CodeKind::kObject, &object_);
    ASSERT_TRUE(status.ok()) << status;
  }

  // Whatever it says: nothing must be touched that is not its own.
  static bool loads(const std::string& object) { return ObjectCode::load(object, known).ok(); }

  // Where the `i`-th section's header lies.
  size_t section(int i) const {
    Elf64_Ehdr header;
    std::memcpy(&header, object_.data(), sizeof(header));
    return header.e_shoff + i * sizeof(Elf64_Shdr);
  }

  int64_t index_[4] = {0, 1, 2, 3};
  float result_[4] = {};
  ProgramBuilder builder_{Schedule::kPointwise, {4}};
  std::string object_;
};

TEST_F(ObjectCodeTest, Runs) {
  const auto code = ObjectCode::load(object_, known);
  ASSERT_TRUE(code.ok()) << code.status();
  EntryPoints entry;
  code->find(kRowsName, &entry.rows);
  code->find(kBlockName, &entry.block);
  ASSERT_NE(entry.rows, nullptr);
  EXPECT_EQ(entry.block, nullptr);
  const KernelArgs args = builder_.args();
  entry.rows(nullptr, &args, 0, 4);
  for (int i = 0; i < 3; ++i) EXPECT_FLOAT_EQ(result_[i], std::sin(static_cast<float>(i)));
  EXPECT_EQ(builder_.error(0).raised, 1u);
  EXPECT_EQ(builder_.error(0).index, 3);
}

TEST_F(ObjectCodeTest, NamesTheFunctionThatIsMissing) {
  const auto without_errors = [](const char* name) {
    return std::strcmp(name, kRaiseErrorName) == 0 ? nullptr : known(name);
  };
  EXPECT_THAT(ObjectCode::load(object_, without_errors).status().ToString(),
              HasSubstr(kRaiseErrorName));
  const auto without_arrays = [](const char* name) {
    return std::strcmp(name, kExternalArrayName) == 0 ? nullptr : known(name);
  };
  EXPECT_THAT(ObjectCode::load(object_, without_arrays).status().ToString(),
              HasSubstr(kExternalArrayName));
}

TEST_F(ObjectCodeTest, WhatIsCutOffDoesNotLoad) {
  for (size_t size = 0; size < object_.size(); ++size) {
    EXPECT_FALSE(loads(object_.substr(0, size))) << size;
  }
}

TEST_F(ObjectCodeTest, DamageDoesNoHarm) {
  std::mt19937 rng(1);
  int refused = 0;
  // Its tables lie behind the code and the constants, and its header before.
  const size_t tables = object_.size() - 1500;
  for (int i = 0; i < 20000; ++i) {
    std::string object = object_;
    for (unsigned k = 0; k <= rng() % 3; ++k) {
      const size_t place = rng() % 8 == 0 ? rng() % 64 : tables + rng() % (object.size() - tables);
      object[place] = static_cast<char>(rng() % 3 == 0 ? 0xff : rng());
    }
    refused += !loads(object);
  }
  EXPECT_GT(refused, 1000);
}

TEST_F(ObjectCodeTest, ExtremeFieldsDoNoHarm) {
  Elf64_Ehdr header;
  std::memcpy(&header, object_.data(), sizeof(header));
  for (int i = 0; i < header.e_shnum; ++i) {
    for (size_t field = 0; field < sizeof(Elf64_Shdr); field += 4) {
      for (const uint32_t value :
           {0u, 1u, 2u, 0x7fffffffu, 0x80000000u, 0xfffffff8u, 0xffffffffu}) {
        std::string object = object_;
        std::memcpy(object.data() + section(i) + field, &value, sizeof(value));
        loads(object);
      }
    }
  }
}

TEST_F(ObjectCodeTest, WritableDataAreRefused) {
  Elf64_Shdr text;
  for (int i = 1;; ++i) {
    std::memcpy(&text, object_.data() + section(i), sizeof(text));
    if ((text.sh_flags & SHF_EXECINSTR) == 0) continue;
    text.sh_flags |= SHF_WRITE;
    std::memcpy(object_.data() + section(i), &text, sizeof(text));
    break;
  }
  EXPECT_FALSE(loads(object_));
}

// An instruction, relocated to something `distance` bytes behind it; 0 if it cannot be.
uint32_t relocated(const Machine& machine, uint32_t type, uint32_t instruction, int64_t distance,
                   bool is_stub = false) {
  alignas(4096) static char page[4096];
  char* const field = page + 8;
  std::memcpy(field, &instruction, sizeof(instruction));
  const uint64_t target = reinterpret_cast<uint64_t>(field) + static_cast<uint64_t>(distance);
  if (!machine.relocate({type, field, sizeof(instruction), target, is_stub})) return 0;
  std::memcpy(&instruction, field, sizeof(instruction));
  return instruction;
}

// On any machine: the instructions of aarch64, as its assembler encodes them.
TEST(MachineTest, RelocatesAarch64) {
  const auto relocated = [](auto... arguments) {
    return kernels::relocated(kAarch64, arguments...);
  };
  constexpr uint32_t kCall = 0x94000000, kJump = 0x14000000;       // bl, b
  constexpr uint32_t kPageOf = 0x90000000, kAdd = 0x91000000;      // adrp x0; add x0, x0
  constexpr uint32_t kLoad128 = 0x3dc00000, kLoad32 = 0xbd400000;  // ldr q0, [x0]; ldr s0, [x0]
  EXPECT_EQ(relocated(R_AARCH64_CALL26, kCall, 8), 0x94000002u);
  EXPECT_EQ(relocated(R_AARCH64_CALL26, kCall, -4, /*is_stub=*/true), 0x97ffffffu);
  EXPECT_EQ(relocated(R_AARCH64_JUMP26, kJump, (1 << 27) - 4), 0x15ffffffu);
  EXPECT_EQ(relocated(R_AARCH64_JUMP26, kJump, 1 << 27), 0u);
  EXPECT_EQ(relocated(R_AARCH64_CALL26, kCall, 2), 0u);
  EXPECT_EQ(relocated(R_AARCH64_ADR_PREL_PG_HI21, kPageOf, 4096), 0xb0000000u);
  EXPECT_EQ(relocated(R_AARCH64_ADR_PREL_PG_HI21, kPageOf, 4 * 4096 + 4087), 0x90000020u);
  EXPECT_EQ(relocated(R_AARCH64_ADR_PREL_PG_HI21, kPageOf, -16), 0xf0ffffe0u);
  EXPECT_EQ(relocated(R_AARCH64_ADR_PREL_PG_HI21, kPageOf, int64_t{1} << 32), 0u);
  EXPECT_EQ(relocated(R_AARCH64_ADR_PREL_PG_HI21, kPageOf, 4096, /*is_stub=*/true), 0u);
  EXPECT_EQ(relocated(R_AARCH64_ADD_ABS_LO12_NC, kAdd, 8), 0x91004000u);
  EXPECT_EQ(relocated(R_AARCH64_LDST128_ABS_LO12_NC, kLoad128, 24), 0x3dc00800u);
  EXPECT_EQ(relocated(R_AARCH64_LDST128_ABS_LO12_NC, kLoad128, 16), 0u);  // not aligned
  EXPECT_EQ(relocated(R_AARCH64_LDST32_ABS_LO12_NC, kLoad32, 4096), 0xbd400800u);
  EXPECT_EQ(relocated(R_AARCH64_PREL32, 0, -1000), static_cast<uint32_t>(-1000));
  EXPECT_EQ(relocated(R_AARCH64_ABS64, 0, 0u), 0u);  // no room
  EXPECT_EQ(relocated(R_AARCH64_ADR_GOT_PAGE, kPageOf, 4096), 0u);
}

}  // namespace
}  // namespace sluice::kernels

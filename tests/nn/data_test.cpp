// Data sets, batches, files of samples, and checkpoints.
#include <algorithm>
#include <atomic>
#include <cstdio>
#include <numeric>
#include <set>
#include <stdexcept>
#include <thread>

#include <gtest/gtest.h>

#include "tests/support/folder.h"
#include "tests/support/test_util.h"

namespace sluice::test {
namespace {

data::Dataset some_data(int64_t count) {
  const Tensor numbers = arange(count);
  return {numbers.astype(kFloat32).reshape({count, 1}) * ones({2}), numbers};
}

TEST(Dataset, SlicesGathersAndSplits) {
  const data::Dataset all = some_data(10);
  EXPECT_EQ(all.size(), 10);
  EXPECT_EQ(all.slice(2, 4)[1].to_vector<int64_t>(), (std::vector<int64_t>{2, 3}));
  EXPECT_EQ(all.at({7, 1})[0].to_vector<float>(), (std::vector<float>{7, 7, 1, 1}));
  const auto [some, others] = all.split(3);
  std::set<int64_t> seen;
  for (const data::Dataset* part : {&some, &others}) {
    for (const int64_t i : (*part)[1].to_vector<int64_t>()) seen.insert(i);
  }
  EXPECT_EQ(some.size(), 3);
  EXPECT_EQ(seen.size(), 10u);
  EXPECT_THROW(data::Dataset({zeros({2}), zeros({3})}), Error);
  EXPECT_THROW(data::Dataset({zeros({})}), Error);
  EXPECT_THROW(static_cast<void>(all.split(11)), Error);
}

std::vector<int64_t> epoch_of(data::Loader& loader) {
  std::vector<int64_t> labels;
  for (const data::Batch& batch : loader) {
    EXPECT_EQ(batch[0].shape(0), batch[1].shape(0));
    for (const int64_t label : batch[1].to_vector<int64_t>()) labels.push_back(label);
  }
  return labels;
}

TEST(Loader, GivesEverySampleOnceAnEpoch) {
  std::vector<int64_t> in_order(10);
  std::iota(in_order.begin(), in_order.end(), 0);
  data::Loader plain(some_data(10), {.batch = 4});
  EXPECT_EQ(plain.size(), 3);
  EXPECT_EQ(epoch_of(plain), in_order);
  data::Loader shuffled(some_data(10), {.batch = 4, .shuffle = true, .seed = 3});
  const std::vector<int64_t> first = epoch_of(shuffled), second = epoch_of(shuffled);
  EXPECT_NE(first, second);
  EXPECT_NE(first, in_order);
  EXPECT_EQ(std::set<int64_t>(first.begin(), first.end()).size(), 10u);
  EXPECT_EQ(shuffled.epoch(), 2);
  shuffled.set_epoch(0);
  EXPECT_EQ(epoch_of(shuffled), first);
  EXPECT_EQ(shuffled.batch(1, 2)[1].to_vector<int64_t>(),
            (std::vector<int64_t>{second[8], second[9]}));
  data::Loader whole(some_data(10), {.batch = 4, .drop_last = true});
  EXPECT_EQ(epoch_of(whole).size(), 8u);
  EXPECT_THROW(data::Loader(some_data(1), {.batch = 0}), Error);
}

// What a loop gets, as bytes, of batches with noise.
std::vector<std::vector<uint8_t>> noisy(int64_t prefetch, int64_t first = 0) {
  data::Loader loader(some_data(23), {.batch = 4,
                                      .shuffle = true,
                                      .seed = 5,
                                      .transform =
                                          [](data::Batch batch, Generator& random) {
                                            batch[0] = batch[0] + random.randn(batch[0].shape());
                                            return batch;
                                          },
                                      .prefetch = prefetch});
  std::vector<std::vector<uint8_t>> bytes;
  loader.set_epoch(0, first);
  for (int epoch = 0; epoch < 3; ++epoch) {
    EXPECT_EQ(loader.epoch(), epoch);
    for (const data::Batch& batch : loader) {
      for (const Tensor& field : batch) bytes.push_back(read_bytes(field));
    }
  }
  return bytes;
}

TEST(Loader, MakesTheSameAhead) {
  const auto expected = noisy(0);
  EXPECT_EQ(expected.size(), 36u);
  for (const int64_t prefetch : {1, 2, 100}) EXPECT_EQ(noisy(prefetch), expected) << prefetch;
  // From the third batch on.
  for (const int64_t prefetch : {0, 3}) {
    const auto rest = noisy(prefetch, 2);
    EXPECT_TRUE(std::equal(rest.begin(), rest.end(), expected.begin() + 4, expected.end()));
  }
  data::Loader plain(some_data(9), {.batch = 4, .prefetch = 2});
  EXPECT_EQ(epoch_of(plain), (std::vector<int64_t>{0, 1, 2, 3, 4, 5, 6, 7, 8}));
  EXPECT_THROW(plain.set_epoch(0, 4), Error);
  EXPECT_THROW(data::Loader(some_data(1), {.prefetch = -1}), Error);
}

TEST(Loader, MakesBatchesAheadOnAThreadOfItsOwn) {
  for (const int64_t prefetch : {0, 2}) {
    std::set<std::thread::id> threads;
    std::atomic<int64_t> made = 0;
    data::Loader loader(some_data(40), {.batch = 4,
                                        .transform =
                                            [&](data::Batch batch, Generator&) {
                                              threads.insert(std::this_thread::get_id());
                                              ++made;
                                              return batch;
                                            },
                                        .prefetch = prefetch});
    int64_t taken = 0;
    for (const data::Batch& batch : loader) {
      EXPECT_EQ(batch[1][0].item<int64_t>(), 4 * taken);
      ++taken;
      EXPECT_LE(made, taken + prefetch + 1);
      if (taken == 3) break;  // and the thread ends
    }
    EXPECT_EQ(threads.size(), 1u);
    EXPECT_EQ(threads.contains(std::this_thread::get_id()), prefetch == 0);
    EXPECT_EQ(epoch_of(loader).size(), 40u);
  }
}

TEST(Loader, ThrowsWhereABatchCannotBeMade) {
  for (const int64_t prefetch : {0, 1, 8}) {
    bool is_broken = true;
    data::Loader loader(some_data(20), {.batch = 4,
                                        .transform =
                                            [&](data::Batch batch, Generator&) {
                                              if (is_broken && batch[1][0].item<int64_t>() == 8) {
                                                throw std::range_error("sample 8");
                                              }
                                              return batch;
                                            },
                                        .prefetch = prefetch});
    int64_t taken = 0;
    EXPECT_THROW(
        {
          for (const data::Batch& batch : loader) taken += batch[1].numel();
        },
        std::range_error);
    EXPECT_EQ(taken, 8);
    is_broken = false;
    EXPECT_EQ(epoch_of(loader).size(), 20u);
    EXPECT_EQ(loader.epoch(), 1);
  }
}

TEST(Loader, AnEpochHasOnePlan) {
  data::Loader loader(some_data(64), {.batch = 8, .shuffle = true});
  const auto epoch = [&] {
    for (const data::Batch& batch : loader) {
      static_cast<void>(sum(batch[0] * 2).item<float>());
    }
  };
  epoch();
  reset_stats();
  epoch();
  EXPECT_EQ(stats().plan_misses, 0);
  EXPECT_LE(stats().kernels_launched, 8);
}

TEST(Readers, ReadIdx) {
  const Folder folder("sluice_data_");
  const std::string bytes("\0\0\x08\x02\0\0\0\x02\0\0\0\x03\x01\x02\x03\x04\x05\xff", 18);
  const Tensor x = data::load_idx(folder.write("a", bytes));
  EXPECT_EQ(x.shape(), (Shape{2, 3}));
  EXPECT_EQ(x.to_vector<uint8_t>(), (std::vector<uint8_t>{1, 2, 3, 4, 5, 255}));
  const std::string halves("\0\0\x0b\x01\0\0\0\x02\x01\x02\xff\xfe", 12);
  EXPECT_EQ(data::load_idx(folder.write("b", halves)).to_vector<int16_t>(),
            (std::vector<int16_t>{0x102, -2}));
  const auto bad = [&](const std::string& text, const std::vector<std::string>& parts) {
    const std::string path = folder.write("bad", text);
    EXPECT_TRUE(fails_with([&] { static_cast<void>(data::load_idx(path)); },
                           ErrorCode::kInvalidArgument, parts));
  };
  bad(bytes.substr(0, 17), {"load_idx", "bad", "elements"});
  bad(bytes.substr(0, 7), {"load_idx", "bad"});
  bad("ab", {"load_idx", "bad"});
  bad("abcd", {"load_idx", "bad", "IDX"});
  EXPECT_TRUE(fails_with([&] { static_cast<void>(data::load_idx(folder.path("none"))); },
                         ErrorCode::kNotFound, {"load_idx", "none"}));
}

TEST(Readers, ReadCifar10) {
  const Folder folder("sluice_data_");
  std::string record(1, '\x03');
  for (int i = 0; i < 3072; ++i) record.push_back(static_cast<char>(i % 251));
  const std::string path = folder.write("batch", record + record);
  const data::Dataset set = data::load_cifar10({path, path});
  EXPECT_EQ(set.size(), 4);
  EXPECT_EQ(set[0].shape(), (Shape{4, 3, 32, 32}));
  EXPECT_EQ(set[0](3, 1, 0, 2).item<int>(), (1024 + 2) % 251);
  EXPECT_EQ(set[1].to_vector<int64_t>(), (std::vector<int64_t>{3, 3, 3, 3}));
  EXPECT_THROW(data::load_cifar10({folder.write("bad", record.substr(1))}), Error);
  record[0] = '\x0a';
  EXPECT_THROW(data::load_cifar10({folder.write("bad", record)}), Error);
}

TEST(Readers, ReadCsv) {
  const Folder folder("sluice_data_");
  const std::string path = folder.write("a.csv", "x,y\r\n1, -2.5\r\n\n+3,4e2\n");
  const Tensor x = data::load_csv(path, {.skip = 1, .dtype = kFloat64});
  EXPECT_EQ(x.shape(), (Shape{2, 2}));
  EXPECT_EQ(x.to_vector<double>(), (std::vector<double>{1, -2.5, 3, 400}));
  EXPECT_EQ(data::load_csv(folder.write("b", "1;2"), {.separator = ';', .dtype = kInt32})
                .to_vector<int32_t>(),
            (std::vector<int32_t>{1, 2}));
  const auto bad = [&](const std::string& text, const std::vector<std::string>& parts) {
    const std::string name = folder.write("bad", text);
    EXPECT_TRUE(fails_with([&] { static_cast<void>(data::load_csv(name)); },
                           ErrorCode::kInvalidArgument, parts));
  };
  bad("1,2\n3", {"load_csv", "bad", "line 2", "1 columns"});
  bad("1,x", {"line 1", "column 2", "\"x\""});
  bad("1,", {"line 1", "column 2", "\"\""});
}

}  // namespace
}  // namespace sluice::test

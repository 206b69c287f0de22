#ifndef SLUICE_FRONTEND_DATA_SHUFFLED_H_
#define SLUICE_FRONTEND_DATA_SHUFFLED_H_

#include <cstdint>
#include <initializer_list>
#include <random>
#include <vector>

namespace sluice::data {

// Random numbers that follow from these: the same everywhere.
inline std::mt19937_64 random_of(std::initializer_list<uint64_t> numbers) {
  std::vector<uint32_t> words;
  for (const uint64_t number : numbers) {
    words.insert(words.end(), {static_cast<uint32_t>(number), static_cast<uint32_t>(number >> 32)});
  }
  std::seed_seq seed(words.begin(), words.end());
  return std::mt19937_64(seed);
}

// 0 to count - 1 in an order that these two numbers choose.
std::vector<int64_t> shuffled(int64_t count, uint64_t seed, uint64_t epoch);

}  // namespace sluice::data

#endif  // SLUICE_FRONTEND_DATA_SHUFFLED_H_

// In place of highway.cpp in builds without Highway.
#include <algorithm>

#include "kernels/library/sort/sort_words.h"

namespace sluice::kernels {

void sort_by_comparing(uint16_t* words, int64_t count) { std::sort(words, words + count); }
void sort_by_comparing(uint32_t* words, int64_t count) { std::sort(words, words + count); }
void sort_by_comparing(uint64_t* words, int64_t count) { std::sort(words, words + count); }
void sort_by_comparing(WideWord* words, int64_t count) { std::sort(words, words + count); }

}  // namespace sluice::kernels

// Threads share tensors: they are immutable, so there is nothing to lock.
#include <cmath>
#include <cstdio>
#include <thread>
#include <vector>

#include <sluice/sluice.h>

namespace sl = sluice;

int main() {
  const sl::Tensor weights = sl::ones({64, 8}) * 0.5f;  // pending still, and any thread may read it
  std::vector<float> answers(4);
  std::vector<std::thread> threads;
  for (size_t k = 0; k < answers.size(); ++k) {
    threads.emplace_back([&weights, &answer = answers[k], k] {
      // Each thread records into a queue of its own.
      const sl::Tensor request = sl::full({1, 64}, static_cast<float>(k));
      answer = sl::mean(sl::matmul(request, weights)).item<float>();
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const float answer : answers) std::printf("%g\n", answer);
  return answers[3] == 96.f ? 0 : 1;
}

// PageRank: who is linked to by those who are linked to. Ids are gathered and scattered.
#include <cstdio>

#include <sluice/sluice.h>

namespace sl = sluice;

int main() {
  constexpr int64_t kPages = 5;
  const sl::Tensor from = sl::Tensor::from<int64_t>({0, 0, 1, 2, 3, 3, 4});
  const sl::Tensor to = sl::Tensor::from<int64_t>({1, 2, 2, 0, 0, 2, 2});
  const sl::Tensor links = sl::zeros({kPages}).add_at({from}, 1.f);  // an id counts each time

  sl::Tensor rank = sl::full({kPages}, 1.f / kPages);
  for (int step = 0; step < 30; ++step) {
    const sl::Tensor given = sl::take(rank / links, from, 0);  // along each link
    rank = sl::zeros({kPages}).add_at({to}, given) * 0.85f + 0.15f / kPages;
  }
  const std::vector<float> ranks = rank.to_vector<float>();
  for (size_t page = 0; page < ranks.size(); ++page) {
    std::printf("page %zu: %.3f\n", page, ranks[page]);
  }
  return sl::argmax(rank).item<int64_t>() == 2 ? 0 : 1;
}

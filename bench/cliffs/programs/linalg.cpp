// Matrices taken apart.
#include <string>
#include <vector>

#include "bench/cliffs/cliffs.h"

namespace sluice::bench {
namespace {

// Diagonally dominant, of elements of at most 1.
Tensor regular(const Tensor& x) {
  const int64_t n = x.shape(-1);
  return x + eye(n, n, x.dtype()) * static_cast<double>(2 * n);
}

// As peers/everyday.py has them.
constexpr const char* kEinsums[] = {
    "ij,jk->ik",   "ij,kj->ik",     "ji,jk->ik",       "bij,bjk->bik",    "bij,bkj->bik",
    "ij,ij->i",    "ij,ij->",       "bij,bij->b",      "i,j->ij",         "ii->i",
    "bii->b",      "ijk->kji",      "ijk->j",          "ijk,k->ij",       "ijk,ik->ij",
    "bn,nm,bm->b", "nchw,kc->nkhw", "bhqd,bhkd->bhqk", "bqhd,bkhd->bhqk", "bhqk,bkhd->bqhd",
    "abc,bcd->ad"};

}  // namespace

void add_linalg_programs() {
  for (const char* form : kEinsums) {
    add_program(std::string("einsum:") + form, [form](const Given& in) {
      std::vector<Tensor> operands;
      for (size_t i = 0; i < in.size(); ++i) operands.push_back(in[i]);
      return einsum(form, operands);
    });
  }
  add_program("solve", [](const Given& in) { return linalg::solve(regular(in[0]), in[1]); });
  add_program("inv", [](const Given& in) { return linalg::inv(regular(in[0])); });
  add_program("cholesky", [](const Given& in) {
    return linalg::cholesky(regular(in[0] + matrix_transpose(in[0])));
  });
  // Signs of singular vectors are anybody's.
  add_program("svd", [](const Given& in) {
    const auto [u, s, vh] = linalg::svd(in[0], false);
    return s + abs(u.slice(-2, 0, 1).squeeze(-2)) + abs(vh.slice(-1, 0, 1).squeeze(-1));
  });
}

}  // namespace sluice::bench

// Sorts, selections, searches and masks.
#include "bench/cliffs/cliffs.h"

namespace sluice::bench {

void add_sorting_programs() {
  add_program("sort",
              [](const Given& in) { return sort(in[0], static_cast<int>(in.argument(0))); });
  add_program("argsort",
              [](const Given& in) { return argsort(in[0], static_cast<int>(in.argument(0))); });
  add_program("topk", [](const Given& in) { return topk(in[0], in.argument(0)).first; });
  add_program("unique", [](const Given& in) { return unique_values(in[0]); });
  add_program("searchsorted", [](const Given& in) { return searchsorted(sort(in[0]), in[1]); });
  add_program("masked", [](const Given& in) { return in[0][in[1]]; });
  add_program("nonzero", [](const Given& in) { return nonzero(in[0]); });
  add_program("median", [](const Given& in) { return median(in[0], in.axes()); });
}

}  // namespace sluice::bench

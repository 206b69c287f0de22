// What each kind of library call is made of.
#ifndef SLUICE_FUSION_LIBRARY_LIBRARY_H_
#define SLUICE_FUSION_LIBRARY_LIBRARY_H_

#include <memory>

#include "absl/types/span.h"
#include "fusion/graph/graph.h"
#include "fusion/lower/step.h"
#include "runtime/layout.h"

namespace sluice::fusion {

// The attributes of a call that computes `node`, an op of the kind, of operands that lie in their
// buffers as `operands` say, each in the node's operand_dtype. Its output has no gaps.
#define SLUICE_LIBRARY_KIND(id, name)                                \
  std::shared_ptr<const LibraryAttributes> make_##name##_attributes( \
      const GraphNode& node, absl::Span<const Layout> operands);
#include "fusion/ir/library.def"

}  // namespace sluice::fusion

#endif  // SLUICE_FUSION_LIBRARY_LIBRARY_H_

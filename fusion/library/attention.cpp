#include "fusion/library/attention.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "fusion/library/library.h"

namespace sluice::fusion {

std::string AttentionAttributes::text() const {
  return absl::StrCat(batch, "x", heads, "x", length, "x", depth, " by ", key_heads, "x",
                      key_length, "x", value_depth, flags.causal != 0 ? ", causal" : "",
                      mask() != AttentionMask::kNone ? ", masked" : "");
}

double AttentionAttributes::cost() const {
  constexpr double kFlopsOfNanosecond = 60, kOfCall = 2000;
  return static_cast<double>(flops()) / kFlopsOfNanosecond + kOfCall;
}

std::shared_ptr<const LibraryAttributes> make_attention_attributes(
    const GraphNode& node, absl::Span<const Layout> operands) {
  auto result = std::make_shared<AttentionAttributes>();
  result->dtype = node.dtype;
  const int64_t* attr = node.attrs.data();
  AttentionFlags::for_each_number(result->flags, [&](int64_t& flag) { flag = *attr++; });
  const Shape &queries = operands[0].shape, &values = operands[2].shape;
  result->batch = queries[0];
  result->heads = queries[1];
  result->key_heads = values[1];
  result->length = queries[2];
  result->key_length = values[2];
  result->depth = queries[3];
  result->value_depth = values[3];
  for (size_t k = 0; k < operands.size(); ++k) {
    result->operands[k].offset = operands[k].offset;
    std::copy_n(operands[k].strides.begin(), 4, result->operands[k].strides.begin());
  }
  return result;
}

}  // namespace sluice::fusion

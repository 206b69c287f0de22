#include "engine/record/node_slab.h"

namespace sluice::engine {

SLUICE_FAST_TLS runtime::FreeSlots<Node> free_nodes;

void detach(Node* node) {
  Attachment* const attachment = node->attachment.exchange(nullptr, std::memory_order_acquire);
  attachment->node_is_gone(attachment, node);
}

void NodeBase::destroy(NodeBase* node) { unmake_node(static_cast<Node*>(node)); }

}  // namespace sluice::engine

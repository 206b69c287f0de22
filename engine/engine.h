// What the frontend asks of the engine.
#ifndef SLUICE_ENGINE_ENGINE_H_
#define SLUICE_ENGINE_ENGINE_H_

#include <functional>

#include "engine/record/node.h"
#include "engine/record/queue.h"

namespace sluice::engine {

// Records an op. Takes over the handles of consumed operands, unless it throws.
inline NodeRef record(const OpCall& call) { return Queue::current(call.device).append(call); }

// Likewise, an op of class OpClass::kView. A view of something that is in memory already is made on
// the spot and never pending.
NodeRef record_view(const OpCall& call);

// For the trace, of a node that has just been made: where the call that is under way was made.
void note_origin(Node* node);

// A submitted node that holds a copy of `data`. Throws Error if the memory cannot be had.
NodeRef from_host(const void* data, DType dtype, const Shape& shape, Device device);

// A submitted node of the CPU on host memory that is not the engine's, which starts at `data` and
// is given back as lend() (runtime/memory/lent_buffer.h) says. `layout` lies within it.
NodeRef from_lent(void* data, size_t bytes, DType dtype, const Layout& layout,
                  std::function<void()> give_back);

// Submits what `node` needs; waits for nothing.
void evaluate(Node* node, FlushCause cause, runtime::SubmitMode mode);

// Returns once the value is there. Throws Error if computing it failed.
void wait(Node* node);

// wait(), then copies the value, row-major, to `destination`.
void read(Node* node, void* destination);

// Likewise, to where `layout` says, counted from `destination`; its shape is the node's.
void read(Node* node, void* destination, const Layout& layout);

// wait(), then the value, row-major, in memory of the host that lives as long as the node: in place
// where it lies so.
const void* read_in_place(Node* node);

// A submitted node of `device` with the value of `node`, which this waits for. Throws Error if
// computing it failed, or for want of memory.
NodeRef copy_to(Node* node, Device device);

// At exit, work under way is waited for before what is loaded by now is torn down: what runs at
// exit runs in reverse order. For libraries that are loaded late.
void wait_at_exit();

void flush_all();
// Throws Error for the first failure that has not been reported.
void sync_all();

}  // namespace sluice::engine

#endif  // SLUICE_ENGINE_ENGINE_H_

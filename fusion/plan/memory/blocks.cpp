#include "fusion/plan/memory/blocks.h"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <optional>

namespace sluice::fusion {
namespace {

constexpr int64_t kUnbounded = std::numeric_limits<int64_t>::max();

constexpr int64_t kAlignment = 256;
// Large values that one loop walks together would compete for the same sets of a cache if they
// began at the same place of a page.
constexpr int64_t kLarge = 64 << 10, kShift = 5 * kAlignment;

// Where the next value may begin.
int64_t end_of(int64_t offset, int64_t bytes) {
  const int64_t end = (offset + bytes + kAlignment - 1) / kAlignment * kAlignment;
  return bytes < kLarge ? end : end + kShift;
}

// Part of a block, from step `first` to step `last`.
struct Lease {
  int64_t offset, bytes;
  int32_t first, last;
};

struct LeasedBlock {
  Block block;
  std::vector<Lease> leases = {};  // by offset

  void add(const Lease& lease) {
    const auto after = std::find_if(leases.begin(), leases.end(), [&](const Lease& other) {
      return other.offset > lease.offset;
    });
    leases.insert(after, lease);
  }

  // The lowest offset at which `bytes` are free in all these steps.
  std::optional<int64_t> find_room(int64_t bytes, int32_t first, int32_t last) const {
    int64_t offset = 0;
    for (const Lease& lease : leases) {
      if (lease.last < first || last < lease.first) continue;
      if (lease.offset - offset >= bytes) break;
      offset = std::max(offset, end_of(lease.offset, lease.bytes));
      if (offset > block.bytes - bytes) return std::nullopt;
    }
    return offset <= block.bytes - bytes ? std::optional(offset) : std::nullopt;
  }
};

// Values of one size, each written in place of the one before: what donors make of an input, or of
// a result.
struct Line {
  int64_t bytes = 0;
  int32_t first = 0, last = 0;  // steps
  MemoryRef end;                // its last value
  int32_t result = -1;          // its first result
  bool is_observed = false;
  int32_t block = -1;
  int64_t offset = 0;
};

class BlockPlacer {
 public:
  BlockPlacer(const Plan& plan, absl::Span<const InputMemory> inputs,
              const std::vector<bool>& left_out)
      : plan_(plan), inputs_(inputs), left_out_(left_out) {
    find_inputs();
  }

  Blocks run() && {
    make_lines();
    place_lines();
    Blocks made;
    // Without inputs that stay as they are.
    std::vector<int32_t> number(blocks_.size(), -1);
    for (size_t b = 0; b < blocks_.size(); ++b) {
      const LeasedBlock& block = blocks_[b];
      if (block.block.input >= 0 && block.leases.size() == 1) continue;
      number[b] = static_cast<int32_t>(made.blocks.size());
      made.blocks.push_back(block.block);
    }
    for (const Line* line : by_result_) {
      made.places.push_back(line == nullptr ? Place{} : Place{number[line->block], line->offset});
    }
    return made;
  }

 private:
  bool may_overwrite(size_t input) const {
    return input < inputs_.size() && inputs_[input].bytes >= 0;
  }

  // A block for each memory that may be overwritten, taken until it has been read for the last
  // time.
  void find_inputs() {
    last_use_.assign(inputs_.size(), -1);
    for (size_t s = 0; s < plan_.steps.size(); ++s) {
      for_each_memory(plan_.steps[s], [&](const MemoryRef& memory) {
        if (memory.kind == MemoryRef::Kind::kInput && may_overwrite(memory.index)) {
          last_use_[memory.index] = static_cast<int32_t>(s);
        }
      });
    }
    // An output may be a view of an input, which then lives on.
    for (const Output& output : plan_.outputs) {
      if (output.memory.kind == MemoryRef::Kind::kInput && may_overwrite(output.memory.index)) {
        last_use_[output.memory.index] = kForEver;
      }
    }
    number_of_input_.assign(inputs_.size(), -1);
    for (size_t i = 0; i < inputs_.size(); ++i) {
      if (!may_overwrite(i)) continue;
      int32_t& number = number_of_input_[i];
      number = number_of_input_[inputs_[i].same_as];
      if (number < 0) {
        number = static_cast<int32_t>(blocks_.size());
        const Block block{.input = static_cast<int32_t>(i), .bytes = inputs_[i].bytes};
        blocks_.push_back({block, {{0, block.bytes, 0, last_use_[i]}}});
      }
      int32_t& last = blocks_[number].leases[0].last;
      last = std::max(last, last_use_[i]);
    }
    begins_line_.resize(blocks_.size());
  }

  // Nobody reads its memory after the step, nor does the step by way of another input.
  bool is_done_after(size_t input, int32_t step) const {
    if (!may_overwrite(input) || last_use_[input] > step) return false;
    for (size_t i = 0; i < inputs_.size(); ++i) {
      const bool is_same = i != input && number_of_input_[i] == number_of_input_[input];
      if (is_same && last_use_[i] >= step) return false;
    }
    return true;
  }

  void make_lines() {
    by_result_.resize(plan_.results.size());
    std::vector<int32_t> order;
    for (int32_t r = 0; r < static_cast<int32_t>(plan_.results.size()); ++r) {
      const bool has_place = plan_.results[r].first_use >= 0 || plan_.results[r].observed;
      if (has_place && (left_out_.empty() || !left_out_[r])) order.push_back(r);
    }
    lines_.reserve(order.size());
    // Who outlives the plan chooses first.
    std::stable_sort(order.begin(), order.end(), [&](int32_t a, int32_t b) {
      const Result &x = plan_.results[a], &y = plan_.results[b];
      return x.first_use != y.first_use ? x.first_use < y.first_use : x.observed > y.observed;
    });
    for (const int32_t r : order) add_to_line(r);
  }

  void add_to_line(int32_t r) {
    const Result& result = plan_.results[r];
    Line* line = line_of_donor(result, MemoryRef::Kind::kInput);
    if (line == nullptr) line = line_of_donor(result, MemoryRef::Kind::kResult);
    if (line == nullptr) {
      line = &lines_.emplace_back();
      line->bytes = result.bytes;
    }
    if (line->result < 0) {
      line->result = r;
      line->first = std::max(result.first_use, 0);
    }
    line->end = {MemoryRef::Kind::kResult, r};
    line->is_observed = result.observed;
    line->last = result.observed ? kForEver : result.last_use;
    by_result_[r] = line;
  }

  // That ends with a donor of the result; null if there is none.
  Line* line_of_donor(const Result& result, MemoryRef::Kind kind) {
    for (const MemoryRef& donor : result.donors) {
      if (donor.kind != kind) continue;
      const auto index = static_cast<size_t>(donor.index);
      if (kind == MemoryRef::Kind::kResult) {
        Line* const line = by_result_[index];
        if (line != nullptr && line->end == donor && line->bytes == result.bytes) return line;
        continue;
      }
      if (!is_done_after(index, result.first_use) || !inputs_[index].is_at_begin) continue;
      const int32_t block = number_of_input_[index];
      if (begins_line_[block] || blocks_[block].block.bytes != result.bytes) continue;
      begins_line_[block] = true;
      Line* const line = &lines_.emplace_back();
      line->bytes = result.bytes;
      line->block = block;
      return line;
    }
    return nullptr;
  }

  void place_lines() {
    std::vector<Line*> others;
    for (Line& line : lines_) {
      const Lease whole{0, line.bytes, line.first, line.last};
      if (line.block < 0 && line.is_observed) {
        line.block = static_cast<int32_t>(blocks_.size());
        blocks_.push_back({{.result = line.end.index, .bytes = line.bytes}});
      }
      if (line.block < 0) {
        others.push_back(&line);
      } else {
        blocks_[line.block].add(whole);
      }
    }
    if (others.empty()) return;
    std::stable_sort(others.begin(), others.end(),
                     [](const Line* a, const Line* b) { return a->bytes > b->bytes; });
    LeasedBlock shared{{.bytes = kUnbounded}};
    int64_t bytes = 0;
    for (Line* line : others) {
      if (place_in_block(line)) continue;
      if (shared.leases.empty()) shared.block.result = line->result;
      line->block = static_cast<int32_t>(blocks_.size());
      line->offset = *shared.find_room(line->bytes, line->first, line->last);
      shared.add({line->offset, line->bytes, line->first, line->last});
      bytes = std::max(bytes, line->offset + line->bytes);
    }
    if (shared.leases.empty()) return;
    shared.block.bytes = bytes;
    blocks_.push_back(std::move(shared));
  }

  // In one that is there.
  bool place_in_block(Line* line) {
    for (size_t b = 0; b < blocks_.size(); ++b) {
      const std::optional<int64_t> offset =
          blocks_[b].find_room(line->bytes, line->first, line->last);
      if (!offset) continue;
      line->block = static_cast<int32_t>(b);
      line->offset = *offset;
      blocks_[b].add({*offset, line->bytes, line->first, line->last});
      return true;
    }
    return false;
  }

  const Plan& plan_;
  const absl::Span<const InputMemory> inputs_;
  const std::vector<bool>& left_out_;
  std::vector<LeasedBlock> blocks_;
  std::vector<int32_t> last_use_, number_of_input_;  // by input; -1: none
  std::vector<bool> begins_line_;                    // by block of an input
  std::vector<Line> lines_;                          // of at most as many as there are results
  std::vector<Line*> by_result_;                     // null: no place
};

}  // namespace

Blocks place_results(const Plan& plan, absl::Span<const InputMemory> inputs,
                     const std::vector<bool>& left_out) {
  return BlockPlacer(plan, inputs, left_out).run();
}

}  // namespace sluice::fusion

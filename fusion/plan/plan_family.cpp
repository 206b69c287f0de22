#include "fusion/plan/plan_family.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <limits>
#include <optional>
#include <utility>

#include "fusion/plan/family_rules.h"
#include "fusion/plan/plan_numbers.h"
#include "fusion/plan/plan_template.h"
#include "fusion/plan/size_line.h"

namespace sluice::fusion {

// Where to sample plans: at first, first + step, and so on.
struct PlanFamilies::Samples {
  SizeLine line;
  int64_t first = 0, step = 0;

  int64_t last() const { return first + (PlanTemplate::kSamples - 1) * step; }
};

namespace {

// In graphs and templates: beyond so many, all families are forgotten.
constexpr int64_t kMaxNodes = int64_t{1} << 18;
constexpr size_t kMaxTemplates = 8;  // of a family
// Samples cost as much as the plans of so many sizes, which come first.
constexpr int kSizesBeforeSamples = 3;
// Samples reach over at least so many of the least steps from size to size.
constexpr int64_t kLeastStepsCovered = 4;
constexpr int kMaxStrays = 4;
// Of what varies, so that no shape of a sample overflows.
constexpr int64_t kMaxExtent = int64_t{1} << 20;

}  // namespace

// What has been seen of one structure.
class PlanFamilies::Family {
 public:
  // The position of a graph with these numbers; nullopt: beside the line, or there is none yet.
  std::optional<int64_t> locate(const std::vector<int64_t>& numbers) {
    if (!line_) {
      if (first_.empty()) first_ = numbers;
      if (first_ == numbers) return std::nullopt;
      line_.emplace(first_, numbers);
    }
    const std::optional<int64_t> position = line_->position_of(numbers);
    if (!position && ++strays_ > kMaxStrays + sizes_) {
      *this = Family();
      first_ = numbers;
    }
    return position;
  }

  std::shared_ptr<const PlanTemplate> find(int64_t position) const {
    for (const auto& known : templates_) {
      if (known->covers(position)) return known;
    }
    return nullptr;
  }

  // Notes that `graph` at `position` has to be planned. Returns the samples to take in doing so, if
  // that pays; then end_samples() must follow.
  std::optional<Samples> note_planned(int64_t position, const Graph& graph) {
    least_step_ = std::min(least_step_, std::max<int64_t>(std::abs(position - last_), 1));
    last_ = position;
    ++sizes_;
    if (is_sampled_ || sizes_ < kSizesBeforeSamples || --wait_ > 0) return std::nullopt;
    const int64_t step = step_around(position, graph);
    if (step == 0) return std::nullopt;
    for (const int64_t first : {position - step, position}) {
      Samples samples{*line_, first, step};
      if (!stays_positive(samples, graph)) continue;
      is_sampled_ = true;
      return samples;
    }
    note_failure();
    return std::nullopt;
  }

  // `made`: null if the samples were of no use.
  void end_samples(std::shared_ptr<const PlanTemplate> made) {
    is_sampled_ = false;
    if (made == nullptr) return note_failure();
    failures_ = 0;
    if (templates_.size() == kMaxTemplates) templates_.erase(templates_.begin());
    templates_.push_back(std::move(made));
  }

 private:
  // So that what varies most about halves and doubles; 0 if that would not reach far enough.
  int64_t step_around(int64_t position, const Graph& graph) const {
    constexpr int64_t kNone = std::numeric_limits<int64_t>::max();
    int64_t step = kNone;
    for_each_varying(graph, [&](size_t k) {
      const int64_t extent = line_->value(k, position);
      if (extent > kMaxExtent) step = 0;
      step = std::min(step, extent / std::abs(line_->slope(k)) / 2);
    });
    if (step == kNone || step == 0) return 0;
    step = std::max<int64_t>(step >> failures_, 1);
    return (PlanTemplate::kSamples - 1) * step < kLeastStepsCovered * least_step_ ? 0 : step;
  }

  bool stays_positive(const Samples& samples, const Graph& graph) const {
    bool is_positive = true;
    for_each_varying(graph, [&](size_t k) {
      is_positive =
          is_positive && line_->value(k, samples.first) > 1 && line_->value(k, samples.last()) > 1;
    });
    return is_positive;
  }

  // f(k) for each number k that is an extent and varies.
  template <typename F>
  void for_each_varying(const Graph& graph, F f) const {
    size_t extents = 0;  // they come first
    for (const GraphNode& node : graph.nodes) extents += node.shape.size();
    for (size_t k = 0; k < extents; ++k) {
      if (line_->slope(k) != 0) f(k);
    }
  }

  void note_failure() {
    constexpr int kMostFailures = 10;
    failures_ = std::min(failures_ + 1, kMostFailures);
    wait_ = 1 << failures_;
  }

  std::vector<int64_t> first_;    // the numbers of the first graph
  std::optional<SizeLine> line_;  // through the first two
  int strays_ = 0;                // graphs beside the line
  // Of the graphs on the line that were planned.
  int sizes_ = 0;
  int64_t last_ = 0;
  int64_t least_step_ = std::numeric_limits<int64_t>::max();
  // Of attempts to sample.
  bool is_sampled_ = false;  // one is under way
  int failures_ = 0;         // since the last that succeeded
  int wait_ = 0;             // for so many sizes
  std::vector<std::shared_ptr<const PlanTemplate>> templates_;
};

PlanFamilies& PlanFamilies::get() {
  static auto* families = new PlanFamilies;
  return *families;
}

// Before more is kept of `graph`. Families in use live on for their users.
void PlanFamilies::forget_if_many(const Graph& graph) {
  num_nodes_ += static_cast<int64_t>(graph.nodes.size());
  if (num_nodes_ <= kMaxNodes) return;
  families_.clear();
  num_nodes_ = 0;
}

PlanFamilies::PlanFamilies() = default;
PlanFamilies::~PlanFamilies() = default;

absl::StatusOr<Plan> PlanFamilies::make(const Graph& graph, const PlanOptions& options) {
  // Op by op there is little to plan; a budget is of one size.
  if (options.observer || options.budget != nullptr || !options.fuse)
    return make_plan(graph, options);
  std::vector<int64_t> structure = structure_of(graph);
  structure.push_back(int64_t{options.fast_math} | int64_t{options.unrolls_rows} << 1 |
                      int64_t{options.allow_tf32} << 2 | int64_t{options.fuses_scans} << 3 |
                      int64_t{options.unrolls_longer_rows} << 4);
  const std::vector<int64_t> numbers = numbers_of(graph);
  std::shared_ptr<Family> family;
  std::optional<int64_t> position;
  std::shared_ptr<const PlanTemplate> known;
  std::optional<Samples> samples;
  {
    const std::lock_guard lock(mutex_);
    std::shared_ptr<Family>& entry = families_[std::move(structure)];
    if (entry == nullptr) entry = std::make_shared<Family>();
    family = entry;
    position = family->locate(numbers);
    if (position) known = family->find(*position);
    if (position && known == nullptr) samples = family->note_planned(*position, graph);
    if (!position || samples) forget_if_many(graph);
  }
  if (samples) return sample(*samples, graph, options, family.get());
  std::optional<Plan> plan;
  if (known != nullptr) plan = known->at(*position, graph);
  if (!plan) return make_plan(graph, options);
  instantiated_.fetch_add(1, std::memory_order_relaxed);
  return *std::move(plan);
}

absl::StatusOr<Plan> PlanFamilies::sample(const Samples& samples, const Graph& graph,
                                          const PlanOptions& options, Family* family) {
  const auto graph_at = [&](int64_t at) {
    Graph result = graph;
    set_numbers(samples.line.at(at), &result);
    return result;
  };
  bool is_good = may_have_family(graph_at(samples.first), graph_at(samples.last()));
  absl::StatusOr<Plan> own = make_plan(graph, options);
  std::array<Plan, PlanTemplate::kSamples> plans;
  for (int i = 0; i < PlanTemplate::kSamples && is_good; ++i) {
    // Of `graph` too: its plan counts bytes by the blocks of inputs, those of the others cannot.
    absl::StatusOr<Plan> plan = make_plan(graph_at(samples.first + i * samples.step), options);
    is_good = plan.ok();
    if (is_good) plans[i] = *std::move(plan);
  }
  auto made = is_good ? PlanTemplate::make(samples.first, samples.step, std::move(plans)) : nullptr;
  const std::lock_guard lock(mutex_);
  family->end_samples(std::move(made));
  return own;
}

}  // namespace sluice::fusion

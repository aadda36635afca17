#include "profiler/analysis/step_work.hpp"

#include <algorithm>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "models/hardware/hardware.hpp"
#include "models/program/operators.hpp"
#include "traces/input/bounded_sum.hpp"
#include "traces/recorded_machine.hpp"

namespace foreshard::profiler {
namespace {

using traces::bounded_sum;
using traces::Event;
using traces::kNone;
using traces::Launches;
using traces::Trace;

struct Kernel {
  std::int32_t call = kNone, event = kNone;
  auto operator<=>(const Kernel&) const = default;
};

// For each of the calls, which are in order, the outermost operator with a cost key around it, or kNone.
std::map<std::int32_t, std::int32_t> operators_around(const Trace& trace,
                                                      const std::vector<Kernel>& kernels) {
  std::map<std::int32_t, std::int32_t> found;
  auto next = kernels.begin();
  std::int32_t lane = kNone, around = kNone;
  std::int64_t around_until = 0;
  for (std::size_t i = 0; i < trace.events.size() && next != kernels.end(); ++i) {
    const Event event = trace.events[i];
    if (event.lane != lane || event.start_ns >= around_until) around = kNone;
    lane = event.lane;
    if (around == kNone && event.cost_key != 0) {
      around = static_cast<std::int32_t>(i);
      around_until = event.end_ns;
    }
    for (; next != kernels.end() && next->call <= static_cast<std::int32_t>(i); ++next) {
      if (next->call == static_cast<std::int32_t>(i)) found[next->call] = around;
    }
  }
  return found;
}

// One rank's step.
class RankWork {
 public:
  RankWork(const Trace& trace, std::int32_t rank)
      : trace_(trace), machine_(traces::recorded_machine(trace, rank)) {
    const auto precision = trace.metadata.find("matmul_precision");
    is_tf32_ = precision != trace.metadata.end() && precision->second == "high";
  }

  void add(const Event& kernel) {
    CostKey key;
    if (!parse_cost_key(trace_.strings[kernel.cost_key], key)) return;
    if (key.op == Operator::embedding) tokens_[key.dims[1]] += static_cast<double>(key.dims[0]);
    if (!is_matmul(key.op) && !is_attention(key.op) && key.op != Operator::batched_matmul) return;
    const double operations = foreshard::flops(key);
    flops += operations;
    if (machine_) ns_at_peak += operations / peak(key, trace_.strings[kernel.name]) * 1e9;
  }

  bool has_machine() const { return machine_.has_value(); }
  // By the largest vocabulary: other tables are of positions and of types.
  std::optional<double> tokens() const {
    return tokens_.empty() ? std::nullopt : std::optional(tokens_.rbegin()->second);
  }

  double flops = 0, ns_at_peak = 0;

 private:
  double peak(const CostKey& key, std::string_view kernel) const {
    const bool is_tf32 = key.dtype == DType::fp32 && machine_->tf32_flops > 0 &&
                         (is_tf32_ || kernel.find("tf32") != std::string_view::npos);
    return is_tf32 ? machine_->tf32_flops : machine_->peak_flops(key.dtype);
  }

  const Trace& trace_;
  std::optional<Machine> machine_;
  bool is_tf32_ = false;
  std::map<std::int64_t, double> tokens_;  // by size of the vocabulary
};

}  // namespace

std::optional<StepWork> step_work(const Trace& trace, const Launches& launches,
                                  const std::map<std::int32_t, traces::Interval>& steps) {
  std::vector<Kernel> kernels;
  std::int64_t known_ns = 0, all_ns = 0;
  const auto rank_of = [&](const Event& event) {
    return trace.lanes[static_cast<std::size_t>(event.lane)].rank;
  };
  for (std::size_t i = 0; i < trace.events.size(); ++i) {
    const Event event = trace.events[i];
    if (event.kind != traces::EventKind::compute) continue;
    const auto step = steps.find(rank_of(event));
    if (step == steps.end() || event.start_ns < step->second.start_ns ||
        event.start_ns >= step->second.end_ns) {
      continue;
    }
    all_ns = bounded_sum(all_ns, event.end_ns - event.start_ns);
    if (event.cost_key == 0) continue;
    known_ns = bounded_sum(known_ns, event.end_ns - event.start_ns);
    kernels.push_back({launches.of(i), static_cast<std::int32_t>(i)});
  }
  if (kernels.empty() || all_ns == 0) return std::nullopt;
  std::sort(kernels.begin(), kernels.end());
  const auto around = operators_around(trace, kernels);

  std::map<std::int32_t, RankWork> ranks;
  for (const auto& [rank, step] : steps) ranks.try_emplace(rank, trace, rank);
  std::set<std::int32_t> counted;  // operators and calls
  for (const Kernel& kernel : kernels) {
    const Event event = trace.events[static_cast<std::size_t>(kernel.event)];
    if (kernel.call != Launches::kUnknown) {
      const std::int32_t op = around.at(kernel.call);
      const bool is_its =
          op != kNone && trace.events[static_cast<std::size_t>(op)].cost_key == event.cost_key;
      if (!counted.insert(is_its ? op : kernel.call).second) continue;
    }
    ranks.at(rank_of(event)).add(event);
  }

  const auto count = static_cast<double>(steps.size());
  StepWork mean{0, static_cast<double>(known_ns) / static_cast<double>(all_ns), 0.0, 0.0};
  for (const auto& [rank, work] : ranks) {
    const traces::Interval& step = steps.at(rank);
    mean.flops += work.flops / count;
    if (!work.has_machine()) mean.mfu.reset();
    if (mean.mfu) {
      *mean.mfu += work.ns_at_peak / static_cast<double>(step.end_ns - step.start_ns) / count;
    }
    const auto tokens = work.tokens();
    if (!tokens) mean.tokens.reset();
    if (mean.tokens) *mean.tokens += *tokens / count;
  }
  return mean;
}

}  // namespace foreshard::profiler

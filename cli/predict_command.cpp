// foreshard predict: memory and step time of a job, before it runs.
#include <algorithm>
#include <ostream>

#include <nlohmann/json.hpp>

#include "cli/commands.hpp"
#include "cli/job_options.hpp"
#include "cli/output.hpp"
#include "models/base/figures.hpp"
#include "models/hardware/device_names.hpp"
#include "models/sharding/job.hpp"
#include "simulator/costs/cost_table.hpp"
#include "simulator/predict/prediction.hpp"
#include "traces/fst/fst_file.hpp"

namespace foreshard::cli {
namespace {

using nlohmann::ordered_json;
using simulator::Prediction;

ordered_json json_of(const simulator::MemoryPeaks& peaks) {
  return peaks_json(peaks.allocated, peaks.reserved, peaks.active);
}

// Costs of another precision than the plan's, such as fp32 costs for a bf16 plan, can be faster than
// the peak rate that MFU is relative to.
bool has_plausible_mfu(const Prediction& p) {
  return p.mfu <= 1;
}

constexpr const char* kMfuConvention =
    "6 N + 12 L H Q T model FLOPs per token, causal mask not deducted, as in PaLM and torchtitan";

ordered_json shares_json(const std::vector<simulator::PathPart>& parts, std::int64_t length) {
  ordered_json out = ordered_json::array();
  for (const simulator::PathPart& part : parts) {
    out.push_back({{"name", part.name},
                   {"kind", part.kind},
                   {"count", part.count},
                   {"share", static_cast<double>(part.ns) / static_cast<double>(length)}});
  }
  return out;
}

// Null where the step has no time.
void add_path(ordered_json& out, const Prediction& p) {
  for (const char* field :
       {"critical_path", "critical_path_units", "critical_path_communication_share", "slack"}) {
    out[field] = nullptr;
  }
  if (!p.path) return;
  const std::int64_t length = p.path->length_ns;
  out["critical_path"] = shares_json(p.path->parts, length);
  out["critical_path_units"] = shares_json(p.path->units, length);
  out["critical_path_communication_share"] =
      static_cast<double>(p.path->communication_ns) / static_cast<double>(length);
  out["slack"] = ordered_json::array();
  for (const simulator::Slack& slack : p.path->slack) {
    out["slack"].push_back({{"name", slack.name}, {"slack_ns", slack.ns}});
  }
}

ordered_json to_json(const Job& job, const Prediction& p) {
  ordered_json out = {
      {"model", job.model.name}, {"ranks", job.ranks}, {"fits", p.fits}, {"oom", nullptr}};
  if (p.oom) out["oom"] = ordered_json::parse(to_json(*p.oom));
  const bool has_time = p.step_time.count() > 0;
  const auto if_timed = [&](auto value) { return has_time ? ordered_json(value) : ordered_json(); };
  out["step_time_ns"] = if_timed(p.step_time.count());
  out["step_time_low_ns"] = if_timed(p.step_time_low.count());
  out["step_time_high_ns"] = if_timed(p.step_time_high.count());
  out["tokens_per_s"] = if_timed(p.tokens_per_s);
  out["mfu"] = has_plausible_mfu(p) ? if_timed(p.mfu) : ordered_json();
  out["mfu_convention"] = kMfuConvention;
  out["exposed_communication_ns"] = if_timed(p.exposed_communication.count());
  out["ranks_memory"] = ordered_json::array();
  for (const auto& r : p.ranks_memory) {
    ordered_json entry = {{"rank", r.rank}};
    entry.update(json_of(r.peaks));
    entry["peak_host_bytes"] = r.peak_host;
    out["ranks_memory"].push_back(std::move(entry));
  }
  out["steps_memory"] = ordered_json::array();
  for (const auto& s : p.steps_memory) {
    ordered_json entry = {{"step", s.step}, {"rank", s.rank}};
    entry.update(json_of(s.peaks));
    out["steps_memory"].push_back(std::move(entry));
  }
  out["peak"] = {
      {"phase", p.peak.phase}, {"unit", p.peak.unit}, {"by_category_bytes", p.peak.by_category}};
  out["cost_sources"] = {{"measured", p.cost_sources.measured},
                         {"fitted", p.cost_sources.fitted},
                         {"modelled", p.cost_sources.modelled},
                         {"unknown", p.cost_sources.unknown}};
  add_path(out, p);
  out["prediction_ns"] = p.prediction_time.count();
  out["warnings"] = p.warnings;
  return out;
}

std::string text_of(const simulator::StepPath& path) {
  constexpr std::size_t kShown = 6, kUnitsShown = 2, kSlackShown = 3;
  const auto share = [&](std::int64_t ns) {
    return 100 * static_cast<double>(ns) / static_cast<double>(path.length_ns);
  };
  const auto list = [&](const std::vector<simulator::PathPart>& parts, std::size_t shown) {
    std::string text;
    for (std::size_t i = 0; i < std::min(shown, parts.size()); ++i) {
      text += (i == 0 ? "" : ", ") + parts[i].name + formatted(" %.1f %%", share(parts[i].ns));
    }
    return text;
  };
  std::string text = formatted("Critical path: %s; communication %.1f %%.\n",
                               list(path.parts, kShown).c_str(), share(path.communication_ns));
  if (!path.units.empty()) {
    text += "Units on the critical path: " + list(path.units, kUnitsShown) +
            (path.units.size() > kUnitsShown ? ", and others" : "") + ".\n";
  }
  // What has slack could be slower, or later, by so much without the step taking longer.
  std::string slack;
  std::size_t shown = 0;
  for (const simulator::Slack& s : path.slack) {
    if (s.ns == 0 || shown == kSlackShown) continue;
    slack += (shown++ == 0 ? "" : ", ") + s.name + " " + duration(s.ns);
  }
  if (shown > 0) text += "Least slack off the critical path: " + slack + ".\n";
  return text;
}

std::string text_of(const Job& job, const Prediction& p) {
  std::string text;
  const auto& top = p.ranks_memory[static_cast<std::size_t>(p.peak.rank)];
  if (p.fits) {
    text += formatted("%s on %s fits: %s allocated, %s reserved at the peak of rank %d (%s%s%s).\n",
                      job.model.name.c_str(), plural(job.ranks, "rank").c_str(),
                      binary_bytes(top.peaks.allocated).c_str(),
                      binary_bytes(top.peaks.reserved).c_str(), p.peak.rank, p.peak.phase.c_str(),
                      p.peak.unit.empty() ? "" : ", ", p.peak.unit.c_str());
  } else {
    text += formatted(
        "%s on %s does not fit: in step %lld rank %d cannot allocate %s for %s (%s%s%s)\n"
        "with %s allocated and %s reserved.\n",
        job.model.name.c_str(), plural(job.ranks, "rank").c_str(),
        static_cast<long long>(p.oom->step), p.oom->rank,
        binary_bytes(p.oom->request.requested).c_str(), p.oom->operator_name.c_str(),
        p.oom->phase.c_str(), p.oom->unit.empty() ? "" : ", ", p.oom->unit.c_str(),
        binary_bytes(p.oom->request.allocated).c_str(),
        binary_bytes(p.oom->request.reserved).c_str());
  }
  if (p.step_time.count() > 0) {
    text +=
        formatted("A step takes %s (90 %%: %s to %s): %.0f tokens/s",
                  duration(p.step_time.count()).c_str(), duration(p.step_time_low.count()).c_str(),
                  duration(p.step_time_high.count()).c_str(), p.tokens_per_s);
    if (has_plausible_mfu(p)) {
      text += formatted(", %.1f %% MFU (as counted by PaLM and torchtitan)", 100 * p.mfu);
    }
    if (p.exposed_communication.count() > 0) {
      text += ", " + duration(p.exposed_communication.count()) + " of exposed communication";
    }
    text += ".\n";
    text += text_of(*p.path);
  } else if (p.fits) {
    text += "The step time is unknown.\n";
  }
  text +=
      formatted("Costs: %lld measured, %lld fitted, %lld modelled, %lld unknown.\n\nAt the peak:\n",
                static_cast<long long>(p.cost_sources.measured),
                static_cast<long long>(p.cost_sources.fitted),
                static_cast<long long>(p.cost_sources.modelled),
                static_cast<long long>(p.cost_sources.unknown));
  std::vector<std::pair<std::int64_t, std::string>> rows;
  for (const auto& [category, bytes] : p.peak.by_category) {
    if (bytes > 0) rows.emplace_back(bytes, category);
  }
  std::sort(rows.rbegin(), rows.rend());
  for (const auto& [bytes, category] : rows) {
    text += formatted("  %-22s %12s\n", category.c_str(), binary_bytes(bytes).c_str());
  }
  return text;
}

// One rank's allocation history as JSON lines, in the words of PyTorch's memory history.
void write_memory_events(const Prediction& p, int of_rank, std::ostream& out) {
  const auto& rank =
      p.classes[static_cast<std::size_t>(p.class_of_rank[static_cast<std::size_t>(of_rank)])];
  for (const auto& record : rank.memory.records) {
    static constexpr const char* kActions[] = {
        "alloc",        "free_requested", "free_completed", "segment_alloc",
        "segment_free", "segment_map",    "segment_unmap",  "oom"};
    const AllocatorEvent& e = record.event;
    const bool is_request = e.action == AllocatorEvent::Action::alloc ||
                            e.action == AllocatorEvent::Action::free_requested ||
                            e.action == AllocatorEvent::Action::free_completed;
    if (record.on_host) continue;
    ordered_json line = {{"action", kActions[static_cast<std::size_t>(e.action)]},
                         {"addr", e.address},
                         {"size", is_request ? e.requested : e.bytes},
                         {"stream", name(static_cast<Stream>(e.stream))},
                         {"step", record.step},
                         {"instruction", record.instruction}};
    out << json_text(line) << '\n';
  }
}

struct Sources {
  std::optional<simulator::CostTable> costs;
  std::optional<Machine> machine;
};

class Predict : public Command {
 public:
  CommandText text() const override;
  void add_to(Options& options) override;
  Result<int> run() override;

 private:
  Result<Sources> load_sources() const;
  Result<void> check_sources(const Sources& sources, const Job& job) const;
  Result<void> check_options() const;
  Result<void> write_answers(const Job& job, const Prediction& prediction) const;

  JobOptions job_;
  JsonOutput json_;
  std::int64_t steps_ = 2;
  int rank_ = 0;
  std::string costs_, machine_, trace_, memory_events_;
  std::optional<std::int64_t> device_memory_;
};

Result<Sources> Predict::load_sources() const {
  Sources sources;
  if (!costs_.empty()) {
    auto costs = simulator::load_cost_table(costs_);
    if (!costs) return tl::unexpected(costs.error());
    sources.costs = std::move(*costs);
  }
  if (!machine_.empty()) {
    auto machine = load_machine(machine_);
    if (!machine) return tl::unexpected(machine.error());
    sources.machine = std::move(*machine);
  }
  return sources;
}

// Ranks of the job that share a node, against what a node of the machine holds.
Result<void> check_nodes(const Job& job, const Machine& machine) {
  const std::int64_t on_a_node = job.nodes > 0 ? job.ranks / job.nodes : 0;
  if (on_a_node <= machine.gpus_per_node) return {};
  return fail("", "--nodes",
              "--ranks " + std::to_string(job.ranks) + " on --nodes " + std::to_string(job.nodes) +
                  " are " + std::to_string(on_a_node) + " ranks a node, but " + machine.id +
                  " has " + std::to_string(machine.gpus_per_node) + "; expected at least " +
                  std::to_string(ceil_divide(job.ranks, machine.gpus_per_node)) + " nodes");
}

// The recordings and the machine speak of the same kind of thing, and the job fits onto it.
Result<void> Predict::check_sources(const Sources& sources, const Job& job) const {
  if (sources.costs && sources.machine && !sources.costs->is_accelerator) {
    return fail(costs_, "machine.name",
                "holds costs of a processor (" + sources.costs->machine_name +
                    "), which --machine " + machine_ +
                    " cannot add to; expected costs of an accelerator, or no --machine");
  }
  if (sources.machine) return check_nodes(job, *sources.machine);
  if (!sources.costs || !sources.costs->is_accelerator) return {};
  const auto recorded = machine_reported_as(sources.costs->machine_name);
  return recorded ? check_nodes(job, *recorded) : Result<void>();
}

Result<void> Predict::check_options() const {
  if (rank_ >= job_.ranks) {
    return fail("", "--rank",
                std::to_string(rank_) + " is not a rank of the job; expected 0 to " +
                    std::to_string(job_.ranks - 1));
  }
  if (auto ok = check_trace_output(trace_, "--trace"); !ok) return ok;
  if (auto ok = check_output(memory_events_, "--memory-events"); !ok) return ok;
  return json_.check();
}

Result<void> Predict::write_answers(const Job& job, const Prediction& prediction) const {
  if (!memory_events_.empty()) {
    auto ok = write_output(memory_events_, "--memory-events",
                           [&](std::ostream& out) { write_memory_events(prediction, rank_, out); });
    if (!ok) return ok;
  }
  if (!trace_.empty()) {
    auto ok = traces::write_fst(trace_, simulator::to_trace(job, prediction, "foreshard predict"));
    if (!ok) return ok;
  }
  if (json_.is_wanted()) {
    if (auto ok = json_.write(to_json(job, prediction)); !ok) return ok;
  }
  if (json_.is_standard_output()) return {};
  if (auto ok = show(text_of(job, prediction)); !ok) return ok;
  for (const std::string& warning : prediction.warnings) warn(warning);
  return {};
}

void warn_of_mfu(Prediction& p) {
  if (has_plausible_mfu(p)) return;
  p.warnings.push_back(
      formatted("no MFU: it would be %.0f %%, because the costs are faster than the peak rate that "
                "is assumed "
                "for the plan's precision",
                100 * p.mfu));
}

Result<int> Predict::run() {
  simulator::PredictionOptions options;
  options.steps = steps_;
  options.device_memory = device_memory_;
  auto job = job_.load();
  if (!job) return tl::unexpected(job.error());
  if (auto ok = check_options(); !ok) return tl::unexpected(ok.error());
  auto sources = load_sources();
  if (!sources) return tl::unexpected(sources.error());
  if (auto ok = check_sources(*sources, *job); !ok) return tl::unexpected(ok.error());
  options.costs = sources->costs ? &*sources->costs : nullptr;
  options.machine = sources->machine ? &*sources->machine : nullptr;
  options.wants_path = true;
  options.keeps_memory_records = !trace_.empty() || !memory_events_.empty();
  Prediction prediction = simulator::predict(*job, options);
  warn_of_mfu(prediction);
  return written(write_answers(*job, prediction));
}

CommandText Predict::text() const {
  return {"predict",
          "Prediction",
          "predict peak memory and step time of a training job",
          "Memory is exact for Foreshard's own operators: the same allocator serves the same "
          "requests as in `foreshard train`. Step time comes from a cost file (--costs), from the "
          "published figures of a machine (--machine), or from both; without either it is that of "
          "a CPU like this one. A plan that does not fit is an answer: the exit status is 0.",
          {"foreshard predict --model llama-3.1-8b --ranks 8 --machine h100-sxm",
           "foreshard predict --model llama-3.1-8b --plan plan.toml --ranks 16 --nodes 2 "
           "--machine h100-sxm",
           "foreshard predict --model llama-small-14m --ranks 2 --costs costs.json --trace "
           "predicted.fst"}};
}

void Predict::add_to(Options& options) {
  job_.add_to(options);
  options.whole_number("--steps", steps_, {1, 100'000}, {"STEPS", "simulate steps 1 to STEPS"});
  options.input("--costs", costs_, {"COSTS", "cost file that `foreshard fit` wrote"});
  options.machine(machine_, {"MACHINE",
                             "machine that `foreshard list machines` prints, or FILE.csv:ID for "
                             "one of your own"});
  options.size("--device-memory", device_memory_,
               {"SIZE", "memory of one device, such as 80GiB", false, "that of the machine"});
  options.output("--trace", trace_, {"TRACE", "write the predicted run as a trace (.fst)"});
  options.output("--memory-events", memory_events_,
                 {"FILE", "write the allocations of one rank as JSON lines"});
  options.whole_number("--rank", rank_, {0, 999'999}, {"RANK", "rank of --memory-events"});
  json_.add_to(options);
}

}  // namespace

std::unique_ptr<Command> make_predict() {
  return std::make_unique<Predict>();
}

}  // namespace foreshard::cli

#include "executor/run/training_report.hpp"

#include <algorithm>
#include <deque>
#include <limits>
#include <map>
#include <ostream>
#include <utility>

#include <nlohmann/json.hpp>

#include "models/base/figures.hpp"
#include "models/base/json_text.hpp"
#include "models/base/statistics.hpp"
#include "models/program/attention_workspace.hpp"
#include "models/question/question_json.hpp"
#include "models/question/question_text.hpp"
#include "models/sharding/job.hpp"

namespace foreshard::executor {
namespace {

using nlohmann::ordered_json;

constexpr std::size_t kHeldLines = 12;

// Median of steps 3 to S; the last step where there are fewer.
std::int64_t steady_step_ns(const std::vector<StepReport>& steps) {
  std::vector<std::int64_t> times;
  for (const auto& s : steps) {
    if (s.step >= 3) times.push_back((s.end - s.start).count());
  }
  if (times.empty()) return steps.empty() ? 0 : (steps.back().end - steps.back().start).count();
  return median(std::move(times));
}

double tokens_per_second(const Job& job, std::int64_t step_ns) {
  return step_ns > 0
             ? static_cast<double>(tokens_per_step(job)) / (static_cast<double>(step_ns) * 1e-9)
             : 0.0;
}

// Of the ranks of this process.
ordered_json own_memory(const TrainingResult& result) {
  ordered_json out = {
      {"ranks_memory", ordered_json::array()},
      {"steps_memory", ordered_json::array()},
      {"gpus_memory", ordered_json::array()},
      {"warnings", result.warnings},
      {"oom", result.oom ? ordered_json::parse(foreshard::to_json(*result.oom)) : ordered_json()}};
  for (const auto& rank : result.memory) {
    ordered_json entry = {{"rank", rank.rank}};
    add_peaks(entry, rank.run);
    entry["peak_host_bytes"] = rank.host;
    out["ranks_memory"].push_back(std::move(entry));
    std::int64_t first = result.first_step;
    for (const StepsOfPeaks& stretch : rank.steps) {
      ordered_json& steps = out["steps_memory"].emplace_back(
          ordered_json{{"step", first}, {"steps", stretch.steps}, {"rank", rank.rank}});
      add_peaks(steps, stretch.peaks);
      first += stretch.steps;
    }
  }
  for (const GpuMemory& gpu : result.gpus) {
    out["gpus_memory"].push_back(ordered_json::parse(to_json(gpu)));
  }
  return out;
}

// A list with an object a line.
class ListWriter {
 public:
  explicit ListWriter(std::ostream& out) : out_(out) { out_ << '['; }
  ~ListWriter() { out_ << (begin_ == kFirst ? "]" : "\n  ]"); }
  ListWriter(const ListWriter&) = delete;
  ListWriter& operator=(const ListWriter&) = delete;

  void add(const ordered_json& object) {
    out_ << std::exchange(begin_, ",\n    ") << json_text(object);
  }

 private:
  static constexpr const char* kFirst = "\n    ";
  std::ostream& out_;
  const char* begin_ = kFirst;
};

void write_steps(std::ostream& out, const Job& job, const std::vector<StepReport>& steps) {
  ListWriter list(out);
  for (const StepReport& s : steps) {
    list.add({{"step", s.step},
              {"loss", s.loss},
              {"grad_norm", s.gradient_norm},
              {"tokens", tokens_per_step(job)},
              {"time_ns", (s.end - s.start).count()},
              {"skipped", s.is_skipped}});
  }
}

// By step, then rank, from the stretches of all ranks.
void write_steps_memory(std::ostream& out, const ordered_json& stretches) {
  struct Stretch {
    ordered_json entry;
    std::int64_t left = 0;
  };
  std::map<int, std::deque<Stretch>> of_ranks;
  std::int64_t step = std::numeric_limits<std::int64_t>::max();
  for (const ordered_json& stretch : stretches) {
    Stretch one{stretch, stretch["steps"].get<std::int64_t>()};
    one.entry.erase("steps");
    step = std::min(step, one.entry["step"].get<std::int64_t>());
    of_ranks[one.entry["rank"].get<int>()].push_back(std::move(one));
  }
  ListWriter list(out);
  for (bool has_any = true; std::exchange(has_any, false); ++step) {
    for (auto& [rank, left] : of_ranks) {
      if (left.empty()) continue;
      has_any = true;
      left.front().entry["step"] = step;
      list.add(left.front().entry);
      if (--left.front().left == 0) left.pop_front();
    }
  }
}

// The lines of a value behind its name.
void write_indented(std::ostream& out, std::string_view text) {
  for (const char c : text) {
    out << c;
    if (c == '\n') out << "  ";
  }
}

}  // namespace

std::string memory_json(const TrainingResult& result, Transport* transport) {
  ordered_json report = own_memory(result);
  if (transport != nullptr) {
    RunControl control(transport->size());
    const std::string mine = json_text(report);
    // At most a stretch for each step, which all have done.
    constexpr std::size_t kStretch = 256;
    const auto all = exchange(control, *transport, mine,
                              mine.size() + kStretch * result.steps.size() + kLongestText);
    for (int rank = 0; rank < transport->size(); ++rank) {
      if (rank == transport->rank()) continue;
      const auto theirs = ordered_json::parse(all[static_cast<std::size_t>(rank)]);
      for (const char* list : {"ranks_memory", "steps_memory", "gpus_memory"}) {
        for (const auto& entry : theirs[list]) report[list].push_back(entry);
      }
      for (const auto& warning : theirs["warnings"]) {
        auto& known = report["warnings"];
        if (std::ranges::find(known, warning) == known.end()) known.push_back(warning);
      }
      if (!theirs["oom"].is_null()) report["oom"] = theirs["oom"];
    }
  }
  const auto by_step_and_rank = [](const ordered_json& a, const ordered_json& b) {
    return std::pair(a.value("step", 0), a.value("rank", 0)) <
           std::pair(b.value("step", 0), b.value("rank", 0));
  };
  for (const char* list : {"ranks_memory", "steps_memory"}) {
    std::sort(report[list].begin(), report[list].end(), by_step_and_rank);
  }
  auto& gpus = report["gpus_memory"];
  const auto first_rank = [](const ordered_json& gpu) { return gpu["ranks"][0].get<int>(); };
  std::sort(gpus.begin(), gpus.end(), [&](const ordered_json& a, const ordered_json& b) {
    return first_rank(a) < first_rank(b);
  });
  return json_text(report);
}

void write_training_json(std::ostream& out, const Job& job, const TrainingResult& result,
                         const std::string& memory, const std::string& trace) {
  const std::int64_t step_ns = steady_step_ns(result.steps);
  ordered_json answer = {{"question", ordered_json::parse(question_json(job))},
                         {"model", job.model.name},
                         {"ranks", job.ranks},
                         {"steps", nullptr}};
  answer["interrupted"] = result.was_interrupted;
  answer["step_time_ns"] = step_ns;
  answer["tokens_per_s"] = tokens_per_second(job, step_ns);
  answer.update(ordered_json::parse(memory));
  answer["gpu_libraries"] =
      result.gpu_libraries ? ordered_json::parse(to_json(*result.gpu_libraries)) : ordered_json();
  const std::string_view attention = attention_kernel(job);
  answer["attention"] = attention.empty() ? ordered_json(nullptr) : ordered_json(attention);
  answer["tuned_products"] = result.tuned_products;
  if (result.graphs) {
    const std::string& reason = result.graphs->reason;
    answer["cuda_graphs"] = {
        {"steps_launched", result.graphs->steps_launched},
        {"reason", reason.empty() ? ordered_json(nullptr) : ordered_json(reason)}};
  } else {
    answer["cuda_graphs"] = nullptr;
  }
  answer["trace"] = trace.empty() ? ordered_json(nullptr) : ordered_json(trace);
  const char* end = "";
  for (const auto& [key, value] : answer.items()) {
    out << std::exchange(end, ",\n") << "  \"" << key << "\": ";
    if (key == "steps") {
      write_steps(out, job, result.steps);
    } else if (key == "steps_memory") {
      write_steps_memory(out, value);
    } else {
      write_indented(out, json_text(value, 2));
    }
  }
  out << '\n';
}

std::string out_of_memory_text(const TrainingResult& result) {
  const OomReport& oom = *result.oom;
  std::string text = formatted(
      "foreshard: error: rank %d is out of device memory in step %lld (instruction %lld, "
      "%s%s%s, %s):\n  requested %s, allocated %s, reserved %s\n",
      oom.rank, static_cast<long long>(oom.step), static_cast<long long>(oom.instruction),
      oom.phase.c_str(), oom.unit.empty() ? "" : ", ", oom.unit.c_str(), oom.operator_name.c_str(),
      binary_bytes(oom.request.requested).c_str(), binary_bytes(oom.request.allocated).c_str(),
      binary_bytes(oom.request.reserved).c_str());
  if (!result.held.empty()) text += "  memory in use:\n";
  for (std::size_t i = 0; i < std::min(result.held.size(), kHeldLines); ++i) {
    text += formatted("    %12s  %-22s %s\n", binary_bytes(result.held[i].bytes).c_str(),
                      result.held[i].category.c_str(), result.held[i].owner.c_str());
    while (text.ends_with(" \n")) text.erase(text.size() - 2, 1);
  }
  return text;
}

std::string training_text(const Job& job, const TrainingResult& result) {
  if (result.steps.empty()) return {};
  const std::int64_t step_ns = steady_step_ns(result.steps);
  std::string text = question_text(job);
  text += formatted("loss %.4f -> %.4f in %zu steps; a step takes %s, %.0f tokens/s\n",
                    result.steps.front().loss, result.steps.back().loss, result.steps.size(),
                    duration(step_ns).c_str(), tokens_per_second(job, step_ns));
  if (result.graphs) {
    const std::string& reason = result.graphs->reason;
    text += formatted("%lld of %zu steps launched as CUDA graphs%s%s\n",
                      static_cast<long long>(result.graphs->steps_launched), result.steps.size(),
                      reason.empty() ? "" : ": ", reason.c_str());
  }
  for (const auto& rank : result.memory) {
    text += formatted("rank %d: peak %s allocated, %s reserved, %s on the host\n", rank.rank,
                      binary_bytes(rank.run.allocated).c_str(),
                      binary_bytes(rank.run.reserved).c_str(), binary_bytes(rank.host).c_str());
  }
  for (const GpuMemory& gpu : result.gpus) text += sentence(gpu) + "\n";
  return text;
}

}  // namespace foreshard::executor

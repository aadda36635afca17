#include "executor/run/training_report.hpp"

#include <algorithm>

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
    for (std::size_t s = 0; s < rank.steps.size(); ++s) {
      ordered_json step = {{"step", result.first_step + static_cast<std::int64_t>(s)},
                           {"rank", rank.rank}};
      add_peaks(step, rank.steps[s]);
      out["steps_memory"].push_back(std::move(step));
    }
  }
  for (const GpuMemory& gpu : result.gpus) {
    out["gpus_memory"].push_back(ordered_json::parse(to_json(gpu)));
  }
  return out;
}

}  // namespace

std::string memory_json(const TrainingResult& result, Transport* transport) {
  ordered_json report = own_memory(result);
  if (transport != nullptr) {
    RunControl control(transport->size());
    const std::string mine = json_text(report);
    // All have done the same steps, so others send about as much.
    const auto all = exchange(control, *transport, mine, 2 * mine.size() + kLongestText);
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

std::string training_json(const Job& job, const TrainingResult& result, const std::string& memory,
                          const std::string& trace) {
  const std::int64_t step_ns = steady_step_ns(result.steps);
  ordered_json out = {{"question", ordered_json::parse(question_json(job))},
                      {"model", job.model.name},
                      {"ranks", job.ranks},
                      {"steps", ordered_json::array()}};
  for (const auto& s : result.steps) {
    out["steps"].push_back({{"step", s.step},
                            {"loss", s.loss},
                            {"grad_norm", s.gradient_norm},
                            {"tokens", tokens_per_step(job)},
                            {"time_ns", (s.end - s.start).count()}});
  }
  out["interrupted"] = result.was_interrupted;
  out["step_time_ns"] = step_ns;
  out["tokens_per_s"] = tokens_per_second(job, step_ns);
  out.update(ordered_json::parse(memory));
  out["gpu_libraries"] =
      result.gpu_libraries ? ordered_json::parse(to_json(*result.gpu_libraries)) : ordered_json();
  const std::string_view attention = attention_kernel(job);
  out["attention"] = attention.empty() ? ordered_json(nullptr) : ordered_json(attention);
  out["tuned_products"] = result.tuned_products;
  if (result.graphs) {
    const std::string& reason = result.graphs->reason;
    out["cuda_graphs"] = {
        {"steps_launched", result.graphs->steps_launched},
        {"reason", reason.empty() ? ordered_json(nullptr) : ordered_json(reason)}};
  } else {
    out["cuda_graphs"] = nullptr;
  }
  out["trace"] = trace.empty() ? ordered_json(nullptr) : ordered_json(trace);
  return json_text(out, 2);
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
  text +=
      formatted("loss %.4f -> %.4f in %zu steps; a step takes %s, %.0f tokens/s\n",
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

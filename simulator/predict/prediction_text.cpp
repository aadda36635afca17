#include "models/base/figures.hpp"
#include "models/program/attention_workspace.hpp"
#include "models/question/question_text.hpp"
#include "simulator/predict/memory_text.hpp"
#include "simulator/predict/prediction_report.hpp"
#include "simulator/predict/time_basis_text.hpp"

namespace foreshard::simulator {
namespace {

std::string path_text(const StepPath& path) {
  constexpr std::size_t kShown = 6, kUnitsShown = 2, kSlackShown = 3;
  const auto share = [&](std::int64_t ns) {
    return 100 * static_cast<double>(ns) / static_cast<double>(path.length_ns);
  };
  const auto list = [&](const std::vector<PathPart>& parts, std::size_t shown) {
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
  for (const Slack& s : path.slack) {
    if (s.ns == 0 || shown == kSlackShown) continue;
    slack += (shown++ == 0 ? "" : ", ") + s.name + " " + duration(s.ns);
  }
  if (shown > 0) text += "Least slack off the critical path: " + slack + ".\n";
  return text;
}

}  // namespace

std::string prediction_text(const Job& job, const Prediction& p, bool in_full) {
  std::string text = question_text(job);
  const auto& top = p.ranks_memory[static_cast<std::size_t>(p.peak.rank)];
  if (p.fits) {
    const std::string limit = p.capacity ? " of " + binary_bytes(*p.capacity) : "";
    text +=
        formatted("%s on %s fits: %s allocated, %s reserved%s at the peak of rank %d (%s%s%s).\n",
                  job.model.name.c_str(), plural(job.ranks, "rank").c_str(),
                  binary_bytes(top.peaks.allocated).c_str(),
                  binary_bytes(top.peaks.reserved).c_str(), limit.c_str(), p.peak.rank,
                  p.peak.phase.c_str(), p.peak.unit.empty() ? "" : ", ", p.peak.unit.c_str());
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
    if (p.has_plausible_mfu()) {
      text += formatted(", %.1f %% MFU (as counted by PaLM and torchtitan)", 100 * p.mfu);
    }
    if (p.exposed_communication.count() > 0) {
      text += ", " + duration(p.exposed_communication.count()) + " of exposed communication";
    }
    text += ".\n";
    text += path_text(*p.path);
  } else if (p.fits) {
    text += "The step time is unknown.\n";
  }
  if (const std::string_view attention = attention_kernel(job); !attention.empty()) {
    text += "Attention: " + std::string(attention) + ".\n";
  }
  text += formatted("Costs: %lld measured, %lld fitted, %lld modelled, %lld unknown.\n",
                    static_cast<long long>(p.cost_sources.measured),
                    static_cast<long long>(p.cost_sources.fitted),
                    static_cast<long long>(p.cost_sources.modelled),
                    static_cast<long long>(p.cost_sources.unknown));
  if (in_full && p.time_basis) text += time_basis_text(*p.time_basis);
  text += memory_text(p, describes_pytorch(job.plan.operators), in_full);
  return in_full && p.checkpoint ? text + checkpoint_text(*p.checkpoint) : text;
}

}  // namespace foreshard::simulator

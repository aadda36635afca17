#include "gui/models/memory/memory_changes.hpp"

#include <QCoreApplication>
#include <algorithm>
#include <filesystem>

#include "gui/models/base/units_text.hpp"
#include "models/allocator/allocator_settings.hpp"
#include "models/llama/llama_config.hpp"
#include "models/plan/plan.hpp"
#include "profiler/replay/what_if.hpp"
#include "simulator/predict/remedies.hpp"
#include "traces/allocator/trace_history.hpp"
#include "traces/metadata.hpp"
#include "traces/snapshot/history.hpp"
#include "traces/snapshot/rank_files.hpp"
#include "traces/snapshot/snapshot.hpp"

namespace foreshard::gui {
namespace {

constexpr int kThreads = 2;

struct ChangesText {
  Q_DECLARE_TR_FUNCTIONS(MemoryChanges)
};

std::string text_of(const traces::Metadata& metadata, const char* key) {
  const auto found = metadata.find(key);
  return found == metadata.end() ? std::string() : found->second;
}

// The job that a trace of ours is of.
std::optional<Job> job_of(const traces::Trace& trace) {
  const std::string model_json = text_of(trace.metadata, "model");
  const std::string plan_toml = text_of(trace.metadata, "plan");
  if (model_json.empty() || plan_toml.empty()) return std::nullopt;
  const auto model = parse_llama_config(model_json, "model");
  const auto plan = parse_plan(plan_toml, "plan");
  if (!model || !plan) return std::nullopt;
  const auto ranks = static_cast<int>(traces::integer(trace.metadata, "ranks", 1));
  const auto device = traces::recorded_device(trace.metadata, "");
  if (!device) return std::nullopt;
  auto job = make_job(*model, *plan, "plan", ranks, 0, nullptr, *device);
  return job ? std::optional(std::move(*job)) : std::nullopt;
}

MemoryChange change_of(const simulator::Remedy& remedy, bool has_capacity) {
  MemoryChange change;
  change.change = QString::fromStdString(remedy.change);
  change.peak_reserved = remedy.peak_reserved;
  if (has_capacity) change.fits = remedy.fits;
  if (remedy.step_time) change.step_time_ns = remedy.step_time->count();
  return change;
}

MemoryChanges changes_of_plan(const Job& job, const ChangesQuestion& question) {
  simulator::PredictionOptions options;
  options.machine = job.machine ? &*job.machine : nullptr;
  options.device_memory = memory_capacity(question.source, question.rank);
  options.wants_time = job.machine.has_value();
  const auto found = simulator::find_remedies(job, options, kThreads);
  MemoryChanges changes;
  const bool has_capacity = options.device_memory.has_value();
  changes.present = change_of(found.present, has_capacity);
  changes.present.change = ChangesText::tr("(unchanged)");
  for (const auto& remedy : found.changes)
    changes.changes.push_back(change_of(remedy, has_capacity));
  return changes;
}

// Of a folder that rank's file, in which one device is the rank's.
Result<std::string> snapshot_of_rank(const ChangesQuestion& question) {
  std::error_code ignored;
  if (!std::filesystem::is_directory(question.path, ignored)) return question.path;
  const auto files = traces::rank_files(question.path);
  if (!files) return tl::unexpected(files.error());
  const auto file = std::ranges::find(*files, question.rank, &traces::RankFile::rank);
  if (file != files->end()) return file->path;
  return fail(question.path, "", "has no snapshot of rank " + std::to_string(question.rank));
}

Result<profiler::Recording> recording_of(const ChangesQuestion& question) {
  profiler::Recording recording;
  recording.device = question.rank;
  if (question.kind != traces::RecordingKind::snapshot) {
    auto history = question.kind == traces::RecordingKind::event_list
                       ? traces::read_allocator_history(question.path)
                       : traces::history_of(*question.source.trace, question.rank, question.path);
    if (!history) return tl::unexpected(history.error());
    recording.history = std::move(*history);
    return recording;
  }
  const auto file = snapshot_of_rank(question);
  if (!file) return tl::unexpected(file.error());
  const auto snapshot = traces::read_snapshot(*file, {});
  if (!snapshot) return tl::unexpected(snapshot.error());
  const int device =
      *file == question.path ? question.rank : traces::busiest_device(*snapshot).value_or(0);
  recording.history = traces::history_of(*snapshot, device).history;
  recording.trace = *question.source.trace;
  recording.contents = profiler::memory_holders(*recording.trace, question.rank);
  return recording;
}

traces::ReplayOptions recorded_options(const traces::AllocatorHistory& history) {
  traces::ReplayOptions options;
  if (history.capacity) options.capacity = *history.capacity;
  return options;
}

MemoryChange change_of(const profiler::Outcome& outcome, bool has_capacity) {
  MemoryChange change;
  change.peak_reserved = outcome.peak_reserved;
  if (has_capacity || outcome.failure) change.fits = !outcome.failure;
  return change;
}

MemoryChanges trouble_of(const Error& error) {
  MemoryChanges changes;
  changes.trouble = QString::fromStdString(error.text());
  return changes;
}

MemoryChanges changes_of_settings(const ChangesQuestion& question) {
  const auto recording = recording_of(question);
  if (!recording) return trouble_of(recording.error());
  const traces::ReplayOptions options = recorded_options(recording->history);
  const bool has_capacity = recording->history.capacity.has_value();
  const auto as_recorded = traces::replay(recording->history, options);
  if (!as_recorded) return trouble_of(as_recorded.error());
  const auto found = profiler::what_ifs(*recording, options, "");
  if (!found) return trouble_of(found.error());
  MemoryChanges changes;
  changes.present =
      change_of(profiler::outcome_of(*as_recorded, recording->history.capacity), has_capacity);
  changes.present.change = ChangesText::tr("(as recorded)");
  for (const profiler::WhatIf& what_if : *found) {
    MemoryChange change = change_of(what_if.outcome, has_capacity);
    change.change = QString::fromStdString(what_if.change);
    change.how = QString::fromStdString(what_if.how);
    change.settings = what_if.settings;
    changes.changes.push_back(std::move(change));
  }
  std::stable_sort(changes.changes.begin(), changes.changes.end(),
                   [](const MemoryChange& a, const MemoryChange& b) {
                     const bool a_fits = a.fits.value_or(true), b_fits = b.fits.value_or(true);
                     return a_fits != b_fits ? a_fits : a.peak_reserved < b.peak_reserved;
                   });
  changes.history = std::make_shared<traces::AllocatorHistory>(recording->history);
  return changes;
}

}  // namespace

MemoryChanges find_changes(const ChangesQuestion& question) {
  const std::optional<Job> job = question.job ? question.job : job_of(*question.source.trace);
  return job ? changes_of_plan(*job, question) : changes_of_settings(question);
}

QString advice(const MemoryChanges& found) {
  if (!found.trouble.isEmpty() || found.changes.empty()) return {};
  const MemoryChange& best = found.changes.front();
  const bool makes_it_fit = found.present.fits == false && best.fits == true;
  if (makes_it_fit && found.history != nullptr) {
    return ChangesText::tr("It would have fitted with %1.").arg(best.change);
  }
  if (makes_it_fit) return ChangesText::tr("It fits with %1.").arg(best.change);
  const std::int64_t less = found.present.peak_reserved - best.peak_reserved;
  if (less <= 0) return {};
  return ChangesText::tr("%2 less would be reserved with %1.")
      .arg(best.change, bytes_figure(less).text());
}

ReservedSteps replayed_reserved(const traces::AllocatorHistory& history,
                                const std::string& settings) {
  traces::ReplayOptions options = recorded_options(history);
  if (!settings.empty()) {
    const auto rules = parse_allocator_settings(settings, history.rules, "settings");
    if (!rules) return {};
    options.rules = *rules;
    options.honor_recorded_oom = false;
  }
  const auto result = traces::replay(history, options);
  if (!result) return {};
  std::int64_t reserved = 0;
  for (const SegmentState& segment : history.start) reserved += segment.bytes;
  ReservedSteps steps{{0, reserved}};
  for (const traces::ReplayDecision& decision : result->decisions) {
    using Kind = traces::ReplayDecision::Kind;
    if (decision.kind == Kind::segment) reserved += decision.value;
    if (decision.kind == Kind::release) reserved -= decision.value;
    if (reserved == steps.back().second) continue;
    if (steps.back().first == decision.index) {
      steps.back().second = reserved;
    } else {
      steps.emplace_back(decision.index, reserved);
    }
  }
  return steps;
}

}  // namespace foreshard::gui

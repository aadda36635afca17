#include "gui/models/session/document.hpp"

#include <QCoreApplication>
#include <algorithm>
#include <filesystem>
#include <future>
#include <limits>
#include <map>
#include <ranges>
#include <utility>

#include "gui/models/base/free_memory.hpp"
#include "models/llama/llama_config.hpp"
#include "traces/fst/fst_file.hpp"
#include "traces/metadata.hpp"
#include "traces/open/read_trace.hpp"

namespace foreshard::gui {
namespace {

traces::Interval extent_of(const traces::Trace& trace) {
  traces::Interval all{std::numeric_limits<std::int64_t>::max(),
                       std::numeric_limits<std::int64_t>::min()};
  const auto take = [&](std::int64_t start, std::int64_t end) {
    all.start_ns = std::min(all.start_ns, start);
    all.end_ns = std::max(all.end_ns, end);
  };
  for (const traces::Event& event : trace.events) take(event.start_ns, event.end_ns);
  for (const traces::MemoryEvent& event : trace.memory) take(event.time_ns, event.time_ns);
  return all.start_ns <= all.end_ns ? all : Document().extent;
}

std::vector<StepSpan> steps_of(const traces::Trace& trace) {
  std::map<std::int32_t, StepSpan> steps;
  for (const traces::Step& step : trace.steps) {
    auto& [number, span] =
        steps.try_emplace(step.step, StepSpan{step.step, {step.start_ns, step.end_ns}})
            .first->second;
    span.start_ns = std::min(span.start_ns, step.start_ns);
    span.end_ns = std::max(span.end_ns, step.end_ns);
  }
  const auto values = std::views::values(steps);
  return {values.begin(), values.end()};
}

void derive(Document& document, traces::Trace trace, const std::stop_token& stop = {}) {
  auto shared = std::make_shared<traces::Trace>(std::move(trace));
  document.trace = shared;
  document.extent = extent_of(*shared);
  document.steps = steps_of(*shared);
  if (stop.stop_requested()) return;
  auto lanes = std::async([&] { return std::make_shared<LaneSet>(shared); });
  document.analysis = std::make_shared<profiler::Analysis>(profiler::analyse(*shared, stop));
  document.lanes = lanes.get();
}

// "llama-3.1-8b · 8 ranks", as far as the run tells.
QString detail_of(const traces::Trace& trace) {
  const auto model = trace.metadata.find("model");
  if (model == trace.metadata.end() || model->second.empty()) return {};
  const auto config = parse_llama_config(model->second, "model");
  if (!config || config->name.empty()) return {};
  const auto ranks = static_cast<int>(traces::integer(trace.metadata, "ranks", 1));
  return QString::fromStdString(config->name) + QStringLiteral(" · ") +
         (ranks == 1
              ? QCoreApplication::translate("foreshard::gui::Document", "1 rank")
              : QCoreApplication::translate("foreshard::gui::Document", "%1 ranks").arg(ranks));
}

// What of the recording is left out where `wanted` steps are read alone; nothing where that is none.
Result<std::optional<OpenPart>> part_of(const std::string& path, traces::RecordingKind kind,
                                        const std::optional<traces::StepRange>& wanted) {
  if (!wanted || kind != traces::RecordingKind::fst) return std::optional<OpenPart>();
  const auto recorded = traces::fst_steps(path);
  if (!recorded) return tl::unexpected(recorded.error());
  if (!*recorded) return fail(path, "", "has no steps; expected a recording with steps");
  const auto [first, last] = **recorded;
  if (wanted->last < first || wanted->first > last) {
    return fail(path, "",
                "has the steps " + std::to_string(first) + " to " + std::to_string(last) +
                    "; expected some of them");
  }
  const traces::StepRange steps{std::max(wanted->first, first), std::min(wanted->last, last)};
  return steps == **recorded ? std::nullopt : std::optional(OpenPart{steps, **recorded});
}

Result<DocumentPtr> made(std::shared_ptr<Document> document, traces::Trace trace,
                         const traces::ImportOptions& options) {
  document->source =
      traces::integer(trace.metadata, "predicted", 0) == 1 ? Source::predicted : Source::measured;
  document->detail = detail_of(trace);
  derive(*document, std::move(trace), options.stop);
  return_free_memory();
  if (options.stop.stop_requested()) return traces::reading_stopped(document->path());
  return document;
}

}  // namespace

std::optional<Plan> Document::plan() const {
  if (!trace) return std::nullopt;
  const auto text = trace->metadata.find("plan");
  if (text == trace->metadata.end() || text->second.empty()) return std::nullopt;
  const Result<Plan> plan = parse_plan(text->second, path());
  return plan ? std::optional(*plan) : std::nullopt;
}

traces::Interval Document::steady_step() const {
  return steps.empty() ? extent : steps.back().span;
}

const StepSpan* Document::step_at(std::int64_t ns) const {
  if (steps.empty()) return nullptr;
  const auto after = std::ranges::upper_bound(
      steps, ns, {}, [](const StepSpan& one) { return one.span.start_ns; });
  return after == steps.begin() ? &*after : &*std::prev(after);
}

traces::Interval Document::steps_around(traces::Interval window) const {
  if (steps.empty()) return extent;
  window.start_ns = std::min(window.start_ns, step_at(window.start_ns)->span.start_ns);
  window.end_ns = std::max(window.end_ns, step_at(window.end_ns)->span.end_ns);
  return window;
}

const StepSpan* Document::step(std::int32_t number) const {
  const auto found = std::ranges::lower_bound(steps, number, {}, &StepSpan::number);
  return found == steps.end() || found->number != number ? nullptr : &*found;
}

Result<DocumentPtr> open_document(const std::string& path, const traces::ImportOptions& options) {
  const traces::AcceptedKinds& accepted = traces::every_recording();
  const auto kind = traces::recording_kind(path, accepted.expected);
  if (!kind) return tl::unexpected(kind.error());
  const auto part = part_of(path, *kind, options.steps);
  if (!part) return tl::unexpected(part.error());
  Result<traces::Trace> trace = traces::read_trace(path, options, accepted);
  if (!trace) return tl::unexpected(trace.error());
  auto document = std::make_shared<Document>();
  document->files = {path};
  document->title = QString::fromStdString(std::filesystem::path(path).filename().string());
  document->kind = *kind;
  document->part = *part;
  return made(std::move(document), std::move(*trace), options);
}

Result<std::vector<DocumentPtr>> open_ranks(const std::vector<std::string>& files,
                                            traces::ImportOptions options) {
  options.numbers_ranks = false;
  Result<std::vector<traces::Trace>> runs = traces::import_kineto(files, options);
  if (!runs) return tl::unexpected(runs.error());
  std::vector<DocumentPtr> documents;
  for (traces::Trace& run : *runs) {
    auto document = std::make_shared<Document>();
    const QStringList its = QString::fromStdString(run.metadata["files"]).split(QLatin1Char('\n'));
    for (const QString& file : its) document->files.push_back(file.toStdString());
    const std::filesystem::path first(document->path());
    document->title = QString::fromStdString(first.filename().string());
    if (its.size() > 1) {
      const auto folder = std::filesystem::absolute(first).parent_path().filename().string();
      document->title = QCoreApplication::translate("foreshard::gui::Document", "%1, %2 files")
                            .arg(QString::fromStdString(folder))
                            .arg(its.size());
    }
    document->kind = traces::RecordingKind::kineto;
    Result<DocumentPtr> finished = made(std::move(document), std::move(run), options);
    if (!finished) return tl::unexpected(finished.error());
    documents.push_back(*std::move(finished));
  }
  return documents;
}

bool are_ranks_of_one_run(const Document& a, const Document& b) {
  constexpr std::int64_t kMostApartNs = 60'000'000'000;  // clocks of different machines
  const auto number = [](const Document& of, const char* key) {
    return traces::integer(of.trace->metadata, key, 0);
  };
  const auto& ranks = b.analysis->ranks;
  const bool shares_ranks = std::ranges::any_of(a.analysis->ranks, [&](const auto& one) {
    return std::ranges::find(ranks, one.rank, &profiler::RankAnalysis::rank) != ranks.end();
  });
  const auto begin = [&](const Document& of) {
    return of.extent.start_ns + number(of, "clock_origin_ns");
  };
  const auto length = [](const Document& of) { return of.extent.end_ns - of.extent.start_ns; };
  return a.kind == traces::RecordingKind::kineto && b.kind == a.kind && !shares_ranks &&
         number(a, "ranks") == number(b, "ranks") && number(a, "ranks") > 1 &&
         begin(a) - kMostApartNs <= begin(b) + length(b) &&
         begin(b) - kMostApartNs <= begin(a) + length(a);
}

DocumentPtr make_document(traces::Trace trace, Source source, QString title, QString detail) {
  auto document = std::make_shared<Document>();
  document->title = std::move(title);
  document->detail = std::move(detail);
  document->source = source;
  derive(*document, std::move(trace));
  return document;
}

}  // namespace foreshard::gui

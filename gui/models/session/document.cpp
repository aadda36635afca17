#include "gui/models/session/document.hpp"

#include <filesystem>
#include <utility>

#include "models/llama/llama_config.hpp"
#include "traces/metadata.hpp"
#include "traces/open/read_trace.hpp"

namespace foreshard::gui {
namespace {

void derive(Document& document, traces::Trace trace) {
  auto shared = std::make_shared<traces::Trace>(std::move(trace));
  document.trace = shared;
  document.analysis = std::make_shared<profiler::Analysis>(profiler::analyse(*shared));
  document.lanes = std::make_shared<LaneSet>(shared);
}

}  // namespace

std::optional<Plan> Document::plan() const {
  if (!trace) return std::nullopt;
  const auto text = trace->metadata.find("plan");
  if (text == trace->metadata.end() || text->second.empty()) return std::nullopt;
  const Result<Plan> plan = parse_plan(text->second, path);
  return plan ? std::optional(*plan) : std::nullopt;
}

Result<DocumentPtr> open_document(const std::string& path, const traces::ReportProgress& progress) {
  const auto kind = traces::recording_kind(path, traces::every_trace().expected);
  if (!kind) return tl::unexpected(kind.error());
  traces::ImportOptions options;
  options.on_progress = progress;
  Result<traces::Trace> trace = traces::read_trace(path, options);
  if (!trace) return tl::unexpected(trace.error());
  auto document = std::make_shared<Document>();
  document->path = path;
  document->title = QString::fromStdString(std::filesystem::path(path).filename().string());
  document->kind = *kind;
  document->source =
      traces::integer(trace->metadata, "predicted", 0) == 1 ? Source::predicted : Source::measured;
  derive(*document, std::move(*trace));
  return document;
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

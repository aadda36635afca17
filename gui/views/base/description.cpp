#include "gui/views/base/description.hpp"

#include <nlohmann/json.hpp>

#include "gui/models/session/sentences.hpp"
#include "gui/models/timeline/step_figures.hpp"
#include "models/base/json_text.hpp"
#include "traces/recorded_question.hpp"

namespace foreshard::gui {

Description description_of(const DocumentPtr& document) {
  Description all;
  if (document == nullptr) return all;
  const StepFigures step = step_figures(*document->trace, *document->analysis);
  all.question = traces::recorded_question_json(document->trace->metadata);
  all.add_positive("step_time_ns", step.step_ns);
  all.add_positive("step_time_low_ns", step.band.start_ns);
  all.add_positive("step_time_high_ns", step.band.end_ns);
  all.add_positive("tokens_per_s", step.tokens_per_s);
  all.add_positive("mfu", step.mfu <= 1 ? step.mfu : 0);
  const bool has_span = step.step_ns > 0 || step.span_ns > 0;
  all.add("exposed_communication_ns",
          has_span ? DescribedFigure(step.exposed_ns) : DescribedFigure());
  all.add_positive("span_ns", step.span_ns);
  all.add_positive("peak_reserved_bytes", step.peak_reserved);
  all.add_positive("peak_allocated_bytes", step.peak_allocated);
  for (const Statement& statement : warnings(*document)) all.warnings.append(statement.text);
  return all;
}

std::string description_json(const std::string& view, const Description& description) {
  using nlohmann::ordered_json;
  constexpr int kVersion = 1;
  ordered_json out = {{"schema_version", kVersion}, {"view", view}, {"question", nullptr}};
  if (!description.question.empty()) out["question"] = ordered_json::parse(description.question);
  out["headline"] = description.headline.toStdString();
  out["figures"] = ordered_json::object();
  for (const auto& [name, figure] : description.figures) {
    ordered_json& value = out["figures"][name];
    if (const auto* integer = std::get_if<std::int64_t>(&figure)) value = *integer;
    if (const auto* number = std::get_if<double>(&figure)) value = *number;
  }
  out["warnings"] = ordered_json::array();
  for (const QString& warning : description.warnings) {
    out["warnings"].push_back(warning.toStdString());
  }
  return json_text(out, 2);
}

}  // namespace foreshard::gui

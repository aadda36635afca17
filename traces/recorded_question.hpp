// What question a trace answers. Traces store it as JSON; of older ones it follows from model and plan, and
// recordings of other programs leave most of it unknown.
#pragma once

#include <string>

#include "models/question/asked.hpp"
#include "traces/metadata.hpp"

namespace foreshard::traces {

inline constexpr const char* kQuestionKey = "question";

// A rehearsal's is of another form (docs/schema/rehearse.json): of a command instead of a model and a plan.
// It has no object "question" of the usual form, and is asked again by `foreshard rehearse` alone.

// The object "question" of results, on one line.
std::string recorded_question_json(const Metadata& metadata);

// In words, without the line's end: "llama-3.1-8b, PyTorch 2.11 ...".
std::string recorded_question_line(const Metadata& metadata);

// To be asked again. An error where the trace does not say enough; `file` is used in messages only.
Result<Asked> recorded_question(const Metadata& metadata, const std::string& file);

}  // namespace foreshard::traces

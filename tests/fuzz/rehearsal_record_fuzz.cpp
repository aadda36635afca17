// Any bytes as the record that a rehearsal's hooks left: an error, or answers as text, JSON and a trace
// whose peaks are those of the record.
#include <cstdint>
#include <string_view>

#include "cli/rehearsal_answer.hpp"
#include "cli/rehearsal_record.hpp"
#include "tests/fuzz/trace_laws.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace foreshard;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  cli::RehearsalQuestion question;
  question.command = {"python", "train.py"};
  const auto record = cli::parse_rehearsal_record(text, question.steps, "python");
  if (!record) return 0;
  const cli::RehearsalAnswer answer(question, *record, 0);
  fuzz::require(!answer.text().empty());
  fuzz::require(answer.as_json().at("steps").size() == record->at("steps").size());
  const traces::Trace trace = answer.trace();
  fuzz::require_trace_laws(trace);
  fuzz::require(trace.steps.size() == record->at("steps").size());
  return 0;
}

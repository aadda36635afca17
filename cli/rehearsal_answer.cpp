#include "cli/rehearsal_answer.hpp"

#include <algorithm>
#include <utility>

#include "cli/common/command.hpp"
#include "cli/rehearsal_record.hpp"
#include "cli/rehearsal_step.hpp"
#include "models/base/figures.hpp"
#include "models/base/json_text.hpp"
#include "models/program/check_program.hpp"
#include "profiler/rehearsal/program/step_program.hpp"
#include "simulator/predict/memory_text.hpp"
#include "simulator/predict/prediction_report.hpp"
#include "traces/metadata.hpp"
#include "traces/recorded_question.hpp"

namespace foreshard::cli {
namespace {

using nlohmann::json, nlohmann::ordered_json;

std::string words(const std::vector<std::string>& command) {
  std::string text;
  for (const std::string& word : command) text += (text.empty() ? "" : " ") + word;
  return text;
}

std::string bytes_of(const ordered_json& row, const char* key) {
  return binary_bytes(row.at(key).get<std::int64_t>());
}

std::string text_of(const ordered_json& value, const char* otherwise) {
  return value.is_string() && !value.get<std::string>().empty() ? value.get<std::string>()
                                                                : otherwise;
}

// Memory of one step as events: what reaches its peaks and goes again. A step takes four nanoseconds, as
// nothing is known of time.
class PeakWriter {
 public:
  PeakWriter(traces::Trace& trace, int rank) : trace_(trace), rank_(rank) {}

  void write(const ordered_json& row) {
    using traces::MemoryAction;
    const auto step = row.at("step").get<std::int32_t>();
    const auto bytes = [&](const char* key) { return row.at(key).get<std::int64_t>(); };
    const std::int64_t start = kStepNs * (step - 1), allocated = bytes("peak_allocated_bytes"),
                       freeing = bytes("peak_active_bytes") - allocated,
                       reserved = bytes("peak_reserved_bytes");
    const bool grows = reserved >= reserved_;
    add(step, start, grows ? MemoryAction::segment_alloc : MemoryAction::segment_free, kSegment,
        grows ? reserved - reserved_ : reserved_ - reserved);
    add(step, start, MemoryAction::alloc, kFreeing, freeing);
    add(step, start, MemoryAction::free_requested, kFreeing, freeing);
    add(step, start + 1, MemoryAction::alloc, kAllocated, allocated);
    add(step, start + 2, MemoryAction::free_requested, kAllocated, allocated);
    add(step, start + 3, MemoryAction::free_completed, kFreeing, freeing);
    add(step, start + 3, MemoryAction::free_completed, kAllocated, allocated);
    reserved_ = reserved;
    trace_.steps.push_back({rank_, step, start, start + kStepNs, 0, 0});
  }

  static constexpr std::int64_t kStepNs = 4;

 private:
  static constexpr std::int64_t kSegment = 1, kFreeing = 2, kAllocated = 3;  // addresses

  void add(std::int32_t step, std::int64_t time, traces::MemoryAction action, std::int64_t address,
           std::int64_t bytes) {
    if (bytes == 0) return;
    traces::MemoryEvent event;
    event.time_ns = time;
    event.rank = rank_;
    event.step = step;
    event.action = action;
    event.address = address;
    event.bytes = event.requested = bytes;
    trace_.memory.push_back(event);
  }

  traces::Trace& trace_;
  int rank_;
  std::int64_t reserved_ = 0;
};

}  // namespace

Result<RehearsalAnswer> RehearsalAnswer::read(RehearsalQuestion question, const std::string& record,
                                              int status) {
  const auto facts = read_rehearsal_record(record, question.steps, question.command.front());
  if (!facts) return tl::unexpected(facts.error());
  return RehearsalAnswer(std::move(question), *facts, status);
}

RehearsalAnswer::RehearsalAnswer(RehearsalQuestion question, const json& record, int status)
    : question_(std::move(question)),
      torch_(record.at("torch")),
      packages_(record.at("packages")),
      steps_(record.at("steps")),
      oom_(record.at("oom")),
      invented_(record.at("invented")),
      notes_(record.at("notes")),
      representatives_(record.at("representatives")),
      pipeline_(record.at("pipeline")),
      has_program_(record.at("captured").get<bool>()),
      status_(status) {
  question_.ranks = record.at("ranks");
  const json& why = record.at("ended_because");
  if (why.is_string()) ended_because_ = why.get<std::string>();
  // A process that died at once, as by a C++ exception on another thread, named no reason.
  if (!record.at("has_ended").get<bool>() && status != 0) oom_ = record.at("refused_allocation");
  if (torch_.is_null()) notes_.push_back("the script did not import PyTorch");
  const auto steps = static_cast<int>(steps_.size());
  if (ended_because_.empty() && oom_.is_null() && steps < question_.steps) {
    notes_.push_back("the script ended after " + plural(steps, "step") + " of " +
                     std::to_string(question_.steps));
  }
}

void RehearsalAnswer::read_program(const std::string& folder) {
  if (!has_program_) return;
  const auto captured = profiler::read_captured_step(folder);
  if (!captured) {
    notes_.push_back("the last step has no program: " + captured.error().text());
    return;
  }
  auto [program, notes] = profiler::step_program(*captured);
  for (const std::string& note : notes) notes_.push_back(note);
  if (const auto ok = check_program(program, "", "program"); !ok) {
    notes_.push_back("the last step has no program: " + ok.error().text());
    return;
  }
  program_ = std::move(program);
}

void RehearsalAnswer::add_step(RehearsedStep step) {
  for (const std::string& note : step.notes) notes_.push_back(note);
  if (auto& explained = step.prediction.explanation) {
    explained->step = step_of_peak(explained->step, explained->allocated);
  }
  step_ = std::make_shared<const RehearsedStep>(std::move(step));
}

std::int64_t RehearsalAnswer::step_of_peak(std::int64_t step_of_program,
                                           std::int64_t allocated) const {
  if (step_of_program > 0) return steps_completed();
  for (const ordered_json& row : steps_) {
    if (row.at("peak_allocated_bytes") >= allocated) return row.at("step");
  }
  return 0;
}

// Of the machine that was named; without one there is no time.
ordered_json RehearsalAnswer::step_time(Nanoseconds simulator::Prediction::*of) const {
  const bool is_known =
      step_ != nullptr && !question_.machine.empty() && step_->prediction.step_time.count() > 0;
  return is_known ? ordered_json((step_->prediction.*of).count()) : ordered_json();
}

ordered_json RehearsalAnswer::question_json() const {
  return {{"command", question_.command},
          {"ranks", question_.ranks},
          {"rank", question_.rank},
          {"real_ranks", question_.real_ranks},
          {"steps", question_.steps},
          {"machine", question_.machine.empty() ? ordered_json() : ordered_json(question_.machine)},
          {"device_memory_bytes", question_.device_memory},
          {"loss", question_.loss},
          {"routing", question_.routing.empty() ? ordered_json() : ordered_json(question_.routing)},
          {"weights", question_.weights},
          {"data", question_.data},
          {"gpu_timing", question_.gpu_timing}};
}

int RehearsalAnswer::status() const {
  if (!ended_because_.empty()) return kRunFailed;
  return is_out_of_memory() ? kOutOfMemory : status_;
}

std::int64_t RehearsalAnswer::peak(const std::string& kind) const {
  std::int64_t most = is_out_of_memory() ? oom_.at(kind + "_bytes").get<std::int64_t>() : 0;
  for (const ordered_json& row : steps_) {
    most = std::max(most, row.at("peak_" + kind + "_bytes").get<std::int64_t>());
  }
  return most;
}

ordered_json RehearsalAnswer::summary() const {
  ordered_json steps = ordered_json::array();
  for (const ordered_json& row : steps_) {
    ordered_json peaks;
    for (const char* key :
         {"step", "peak_active_bytes", "peak_allocated_bytes", "peak_reserved_bytes"}) {
      peaks[key] = row.at(key);
    }
    steps.push_back(std::move(peaks));
  }
  return {{"rank", question_.rank}, {"steps", steps}, {"fits", fits()}, {"oom", oom_}};
}

ordered_json RehearsalAnswer::fits() const {
  if (is_out_of_memory()) return false;
  return steps_.empty() ? ordered_json() : ordered_json(true);
}

ordered_json RehearsalAnswer::as_json() const {
  ordered_json memory{{"peak", nullptr}, {"outside_allocator_bytes", nullptr}};
  if (step_ != nullptr) memory = ordered_json::parse(simulator::memory_json(step_->prediction));
  return {{"question", question_json()},
          {"torch", torch_},
          {"packages", packages_},
          {"ranks", question_.ranks},
          {"rank", question_.rank},
          {"steps", steps_},
          {"fits", fits()},
          {"oom", oom_},
          {"peak", memory["peak"]},
          {"outside_allocator_bytes", memory["outside_allocator_bytes"]},
          {"invented", invented_},
          {"notes", notes_},
          {"step_time_ns", step_time(&simulator::Prediction::step_time)},
          {"step_time_low_ns", step_time(&simulator::Prediction::step_time_low)},
          {"step_time_high_ns", step_time(&simulator::Prediction::step_time_high)},
          {"unpriced", step_ == nullptr ? std::vector<std::string>() : step_->unpriced}};
}

std::string RehearsalAnswer::question_text() const {
  std::string text = words(question_.command) + ": PyTorch " + text_of(torch_, "not imported") +
                     ", rank " + std::to_string(question_.rank) + " of " +
                     std::to_string(question_.ranks);
  if (!question_.machine.empty()) text += " on " + question_.machine;
  return text + ", " + binary_bytes(question_.device_memory) + " of memory a device, " +
         plural(question_.steps, "step") + ".\n";
}

std::string RehearsalAnswer::memory_text() const {
  if (is_out_of_memory()) {
    return "Out of memory in step " + std::to_string(oom_.at("step").get<int>()) + ": " +
           text_of(oom_.at("operator"), "an allocation") + " of " +
           text_of(oom_.at("module"), "no module") + " at " +
           text_of(oom_.at("where"), "no line of the script") + " requests " +
           bytes_of(oom_, "requested_bytes") + " while " + bytes_of(oom_, "allocated_bytes") +
           " are allocated and " + bytes_of(oom_, "reserved_bytes") + " reserved.\n";
  }
  if (steps_.empty()) return "No optimizer stepped on the device, so nothing is known.\n";
  const auto peak =
      std::max_element(steps_.begin(), steps_.end(), [](const auto& a, const auto& b) {
        const auto peaks = [](const ordered_json& row) {
          return std::pair(row.at("peak_reserved_bytes"), row.at("peak_allocated_bytes"));
        };
        return peaks(a) < peaks(b);
      });
  return "It fits: " + bytes_of(*peak, "peak_allocated_bytes") + " allocated, " +
         bytes_of(*peak, "peak_reserved_bytes") + " reserved at the peak of step " +
         std::to_string(peak->at("step").get<int>()) + ".\n";
}

std::string RehearsalAnswer::steps_text() const {
  if (steps_.empty()) return "";
  std::string text =
      formatted("\n  %4s %12s %12s %12s %9s %9s %7s %7s %11s\n", "step", "active", "allocated",
                "reserved", "kernels", "products", "cuDNN", "copies", "collectives");
  for (const ordered_json& row : steps_) {
    std::int64_t collectives = 0;
    for (const ordered_json& kind : row.at("collectives")) {
      collectives += kind.at("count").get<std::int64_t>();
    }
    const auto count = [&](const char* key) {
      return static_cast<long long>(row.at(key).get<std::int64_t>());
    };
    text += formatted(
        "  %4lld %12s %12s %12s %9lld %9lld %7lld %7lld %11lld\n", count("step"),
        bytes_of(row, "peak_active_bytes").c_str(), bytes_of(row, "peak_allocated_bytes").c_str(),
        bytes_of(row, "peak_reserved_bytes").c_str(), count("launches"), count("matrix_products"),
        count("cudnn_executions"), count("copies"), static_cast<long long>(collectives));
  }
  return text;
}

std::string RehearsalAnswer::invented_text() const {
  std::string text;
  for (const ordered_json& row : invented_) {
    text += "  " + text_of(row.at("where"), "no line of the script") + " read " +
            plural(row.at("count").get<std::int64_t>(), "value") + " (" +
            row.at("what").get<std::string>() + "), given " + json_text(row.at("answer")) + "\n";
  }
  return text.empty() ? "" : "\nInvented, as nothing was computed:\n" + text;
}

std::string RehearsalAnswer::time_text() const {
  if (step_ == nullptr || question_.machine.empty()) return "";
  const simulator::Prediction& prediction = step_->prediction;
  if (prediction.step_time.count() > 0) {
    return "A step takes " + duration(prediction.step_time.count()) + " (" +
           duration(prediction.step_time_low.count()) + " to " +
           duration(prediction.step_time_high.count()) + ").\n";
  }
  std::string text = "A step has no time, as these have no price:";
  for (const std::string& name : step_->unpriced) text += " " + name;
  return text + "\n";
}

std::string RehearsalAnswer::text() const {
  std::string text = question_text() + memory_text() + time_text() + steps_text();
  if (step_ != nullptr) text += simulator::memory_text(step_->prediction, true, false);
  text += invented_text();
  if (!notes_.empty()) text += "\nNotes:\n";
  for (const ordered_json& note : notes_) text += "  " + note.get<std::string>() + "\n";
  return text;
}

traces::Trace RehearsalAnswer::trace() const {
  if (step_ != nullptr) {
    traces::Trace trace = simulator::to_trace(step_->prediction, words(question_.command));
    trace.metadata["rehearsal"] = json_text(as_json());
    trace.metadata[traces::kQuestionKey] = json_text(question_json());
    return trace;
  }
  traces::Trace trace;
  traces::RunDescription run;
  run.command = words(question_.command);
  run.ranks = question_.ranks;
  run.predicted = true;
  run.more["rehearsal"] = json_text(as_json());
  run.more[traces::kQuestionKey] = json_text(question_json());
  run.more["device_memory_bytes"] = std::to_string(question_.device_memory);
  if (!question_.machine.empty()) run.more["data_sheet"] = question_.machine;
  trace.metadata = traces::run_metadata(run);
  PeakWriter peaks(trace, question_.rank);
  for (const ordered_json& row : steps_) peaks.write(row);
  trace.complete_until_ns = PeakWriter::kStepNs * static_cast<std::int64_t>(steps_.size());
  return trace;
}

}  // namespace foreshard::cli

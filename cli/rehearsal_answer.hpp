// What a rehearsal found out, as its hooks recorded it, and the answers made of that: text, JSON and trace.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "models/base/error.hpp"
#include "simulator/predict/prediction.hpp"
#include "traces/trace.hpp"

namespace foreshard::cli {

struct RehearsalQuestion {
  std::vector<std::string> command;
  int ranks = 1, rank = 0, steps = 3;
  std::string machine;             // as --machine takes it; empty: none
  std::int64_t device_memory = 0;  // bytes of one device
  double loss = 1;                 // what a float that was read is, where nobody has it
};

struct RehearsedStep;  // rehearsal_step.hpp

// One rank's run.
class RehearsalAnswer {
 public:
  // Of a record as parse_rehearsal_record returns it; `status` is the command's exit status.
  RehearsalAnswer(RehearsalQuestion question, const nlohmann::json& record, int status);
  // Of the record's file.
  static Result<RehearsalAnswer> read(RehearsalQuestion question, const std::string& record,
                                      int status);

  bool is_out_of_memory() const { return !oom_.is_null(); }
  // Whether the hooks captured the last step.
  bool has_step() const { return has_step_; }
  // Adds what became of it.
  void add_step(RehearsedStep step);
  void add_note(const std::string& sentence) { notes_.push_back(sentence); }
  // Why the rehearsal itself ended the script; empty where it did not.
  const std::string& ended_because() const { return ended_because_; }

  nlohmann::ordered_json as_json() const;
  std::string text() const;
  traces::Trace trace() const;

 private:
  nlohmann::ordered_json question_json() const;
  nlohmann::ordered_json fits() const;
  nlohmann::ordered_json step_time(Nanoseconds simulator::Prediction::*of) const;
  std::string question_text() const;
  std::string time_text() const;
  std::string memory_text() const;
  std::string steps_text() const;
  std::string invented_text() const;

  RehearsalQuestion question_;
  nlohmann::ordered_json torch_, packages_, steps_, oom_, invented_, notes_;
  std::string ended_because_;
  bool has_step_ = false;
  std::shared_ptr<const RehearsedStep> step_;
};

}  // namespace foreshard::cli

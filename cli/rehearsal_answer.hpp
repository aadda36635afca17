// What a rehearsal found out, as its hooks recorded it, and the answers made of that: text, JSON and trace.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "models/base/error.hpp"
#include "models/program/step_program.hpp"
#include "simulator/predict/prediction.hpp"
#include "traces/trace.hpp"

namespace foreshard::cli {

struct RehearsalQuestion {
  std::vector<std::string> command;
  std::map<std::string, std::string> environment;  // added to its variables
  std::optional<int> asked_ranks;                  // none: one, or a launcher's number
  int ranks = 1, rank = 0, steps = 3;
  std::vector<int> real_ranks;       // that ran at the same time; empty: one alone
  std::string machine;               // as --machine takes it; empty: none
  std::int64_t device_memory = 0;    // bytes of one device
  double loss = 1;                   // what a float that was read is, where nobody has it
  std::string routing;               // as --routing takes it; empty: as any other unknown values
  std::string weights = "real";      // or "absent"
  std::string data = "real";         // or as --data takes it
  std::string gpu_timing = "ready";  // or "late"
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
  // Reads what the hooks captured of the last step into `folder`, if they did.
  void read_program(const std::string& folder);
  // Nothing where there is none, or where it was taken before.
  std::optional<RankProgram> take_program() { return std::exchange(program_, {}); }
  // Adds what became of it.
  void add_step(RehearsedStep step);
  // Why the rehearsal itself ended the script; empty where it did not.
  const std::string& ended_because() const { return ended_because_; }

  // Of the rehearsal: the command's, where neither memory ran out nor the rehearsal ended it.
  int status() const;
  // False where memory ran out, null where no step was completed.
  nlohmann::ordered_json fits() const;
  int rank() const { return question_.rank; }
  int ranks() const { return question_.ranks; }
  int steps_completed() const { return static_cast<int>(steps_.size()); }
  // Of all steps, and of the moment at which memory ran out.
  std::int64_t peak_allocated() const { return peak("allocated"); }
  std::int64_t peak_reserved() const { return peak("reserved"); }
  // One rank of each kind that this one tells apart by the shapes of shards.
  const std::vector<int>& representatives() const { return representatives_; }
  // Ranks of the pipeline that this one is a stage of; empty without one.
  const std::vector<int>& pipeline() const { return pipeline_; }

  nlohmann::ordered_json as_json() const;
  nlohmann::ordered_json summary() const;  // {"rank", "steps": peaks, "fits", "oom"}
  std::string text() const;
  traces::Trace trace() const;

 private:
  // The step in which so much was allocated. The program's set-up holds all steps but the last: of what happens
  // there, it is the first step that has this peak; 0 where none has, before the first.
  std::int64_t step_of_peak(std::int64_t step_of_program, std::int64_t allocated) const;
  nlohmann::ordered_json question_json() const;
  nlohmann::ordered_json step_time(Nanoseconds simulator::Prediction::*of) const;
  std::int64_t peak(const std::string& kind) const;
  std::string question_text() const;
  std::string time_text() const;
  std::string memory_text() const;
  std::string steps_text() const;
  std::string invented_text() const;

  RehearsalQuestion question_;
  nlohmann::ordered_json torch_, packages_, steps_, oom_, invented_, notes_;
  std::vector<int> representatives_, pipeline_;
  std::string ended_because_;
  bool has_program_ = false;
  std::optional<RankProgram> program_;
  std::shared_ptr<const RehearsedStep> step_;
  int status_;
};

}  // namespace foreshard::cli

// Several ranks of one job, rehearsed one after the other or at the same time, and what they say together: the
// job fits where all of them do, and the rank that needs most speaks for it.
#pragma once

#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "cli/rehearsal_answer.hpp"
#include "cli/rehearsal_job.hpp"
#include "models/base/error.hpp"
#include "traces/trace.hpp"

namespace foreshard::cli {

// Which ranks run: those of --rank one after the other, "3", "0,3,7", or "all-shapes": the first, the last, and one
// rank of each kind that the first one's record tells apart, or the stages of its pipeline, at the same time. At
// the same time too those of --real-ranks.
class RankChoice {
 public:
  static constexpr int kMostRanks = 100'000;  // of a job

  // The text of --real-ranks is empty where it was not given.
  static Result<RankChoice> read(const std::string& rank, const std::string& real_ranks);

  // The error names the rank that a job of so many ranks does not have.
  Result<void> check(int ranks) const;
  bool is_one() const { return !all_shapes_ && ranks_.size() == 1; }
  // That run first, at the same time.
  std::vector<int> first() const;
  // What runs after `done`: the ranks that were asked for, or those that it represents nobody of.
  std::vector<int> after(const RehearsalAnswer& done) const;
  // The stages that run at the same time, and `done` again with them; empty where there are none to be run.
  std::vector<int> stages(const RehearsalAnswer& done) const;

 private:
  std::vector<int> ranks_{0};
  bool all_shapes_ = false;
  bool at_once_ = false;
};

class RehearsedRanks {
 public:
  static Result<RehearsedRanks> run(RehearsalJob& job, const RehearsalQuestion& question,
                                    const RankChoice& choice);

  // In the order in which they ran.
  const std::vector<RehearsalAnswer>& answers() const { return answers_; }
  // Of the rank that ran out of memory, or else reserved most.
  const RehearsalAnswer& leading() const { return answers_[leading_]; }
  bool is_out_of_memory() const { return leading().is_out_of_memory(); }
  // False where memory ran out, null where a rank completed no step.
  nlohmann::ordered_json fits() const;
  // The exit status, and the sentence that goes with it; the sentence may be empty.
  int status() const;
  std::string ended_because() const;
  bool was_interrupted() const;

  nlohmann::ordered_json as_json() const;
  std::string text() const;
  traces::Trace trace() const { return leading().trace(); }

 private:
  RehearsedRanks(std::vector<RehearsalAnswer> answers, bool is_list);

  // Makes one step of what they captured, which the leading one tells.
  void add_step(RehearsalQuestion question, const RehearsalJob& job);

  std::string ranks_text() const;

  std::vector<RehearsalAnswer> answers_;
  bool is_list_;
  std::size_t leading_ = 0;
};

}  // namespace foreshard::cli

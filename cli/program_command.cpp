// foreshard program: a step program as a person, or another program, reads it.
#include <nlohmann/json.hpp>

#include "cli/commands.hpp"
#include "cli/common/open_trace.hpp"
#include "cli/common/output.hpp"
#include "cli/common/question_options.hpp"
#include "cli/gpus.hpp"
#include "models/base/figures.hpp"
#include "models/lowering/lower.hpp"
#include "models/program/program_json.hpp"
#include "models/question/question_json.hpp"
#include "models/question/question_text.hpp"
#include "traces/recorded_question.hpp"

namespace foreshard::cli {
namespace {

using nlohmann::ordered_json;

ordered_json buffers_json(std::span<const BufferId> ids) {
  ordered_json out = ordered_json::array();
  for (const BufferId id : ids) out.push_back(id);
  return out;
}

// A program, and what it is of.
struct Subject {
  std::string question;  // JSON
  std::string line;      // in words
  std::string model;     // "": unknown
  int ranks = 1;
  RankProgram program;
};

ordered_json to_json(const Subject& subject, std::int64_t number) {
  const RankProgram& program = subject.program;
  const Program& step = program.step(number);
  const bool has_model = !subject.model.empty();
  ordered_json out = {{"question", ordered_json::parse(subject.question)},
                      {"model", has_model ? ordered_json(subject.model) : ordered_json()},
                      {"ranks", subject.ranks},
                      {"rank", program.place.rank},
                      {"step", number},
                      {"program_hash", hexadecimal(program_hash(program))},
                      {"buffers", ordered_json::array()},
                      {"instructions", ordered_json::array()}};
  for (const Buffer& b : program.buffers) {
    out["buffers"].push_back({{"bytes", b.bytes},
                              {"on_host", b.on_host},
                              {"persistent", b.persistent},
                              {"pool", program.name(b.pool)},
                              {"category", name(b.category)},
                              {"owner", program.name(b.owner)},
                              {"role", program.name(b.role)}});
  }
  const auto keys = stable_keys(program, step, std::to_string(number), program.tree);
  for (std::size_t n = 0; n < step.instructions.size(); ++n) {
    const Instruction& i = step.instructions[n];
    ordered_json line = {{"kind", name(i.kind)},
                         {"stream", program.name(i.stream)},
                         {"phase", name(i.phase)},
                         {"stable_key", keys[n]}};
    if (i.unit != kNone) line["unit"] = program.units[static_cast<std::size_t>(i.unit)].name;
    if (i.cost_key != kNone) {
      line["cost_key"] = text(program.cost_keys[static_cast<std::size_t>(i.cost_key)]);
      line["reads"] = buffers_json(step.reads(i));
      line["writes"] = buffers_json(step.writes(i));
    } else if (i.kind == Kind::range_begin || i.kind == Kind::range_end) {
      line["name"] = program.name(i.target);
    } else {
      line[i.kind == Kind::alloc || i.kind == Kind::free ? "buffer" : "event"] = i.target;
    }
    out["instructions"].push_back(std::move(line));
  }
  return out;
}

class PrintProgram : public Command {
 public:
  CommandText text() const override;
  void add_to(Options& options) override;
  Result<int> run() override;

 private:
  Result<void> check_rank(int ranks) const;
  Result<Subject> of_question() const;
  Result<Subject> of_trace() const;

  std::string trace_;
  QuestionOptions question_;
  AttentionChoice attention_;
  JsonOutput json_;
  int rank_ = 0;
  std::int64_t step_ = 2;
};

CommandText PrintProgram::text() const {
  return {
      "program",
      "Prediction",
      "print the instructions of one training step",
      "A step program is what the host thread of one rank issues in a step: allocations, "
      "kernels, collectives, copies, events. Step 0 is the set-up; steps after the second are "
      "identical. Of a rehearsal's TRACE it is what the script issued in its last step, and the "
      "set-up the allocations before that.",
      {"foreshard program --model llama-tiny-3m --ranks 2",
       "foreshard program --model llama-tiny-3m --plan plan.toml --ranks 2 --step 1 --json "
       "step.json",
       "foreshard program run.fst --step 1"}};
}

void PrintProgram::add_to(Options& options) {
  options.recording("TRACE", trace_,
                    {"TRACE", "trace of a rehearsal (.fst), instead of a question"});
  question_.add_to(options);
  question_.add_device_to(options);
  attention_.add_to(options);
  options.whole_number("--rank", rank_, {0, 999'999}, {"RANK", "rank whose program to print"});
  options.whole_number("--step", step_, {0, INT64_MAX}, {"STEP", "step to print; 0 is the set-up"});
  options.quiet(question_.is_quiet);
  json_.add_to(options);
}

Result<void> PrintProgram::check_rank(int ranks) const {
  if (rank_ < ranks) return {};
  return fail("", "--rank",
              std::to_string(rank_) + " is not a rank of the job; expected 0 to " +
                  std::to_string(ranks - 1));
}

Result<Subject> PrintProgram::of_question() const {
  const auto asked = question_.load(own_device_by(attention_));
  if (!asked) return tl::unexpected(asked.error());
  const Job& job = asked->job;
  if (auto ok = check_rank(job.ranks); !ok) return tl::unexpected(ok.error());
  Subject subject{question_json(job), question_text(job), job.model.name, job.ranks,
                  lower(job, rank_)};
  subject.program.tree = job.tree;
  return subject;
}

Result<Subject> PrintProgram::of_trace() const {
  const auto trace = open_trace(trace_, true);
  if (!trace) return tl::unexpected(trace.error());
  const auto stored = trace->metadata.find("programs");
  if (stored == trace->metadata.end()) {
    return fail(trace_, "", "has no programs; expected the trace of a rehearsal");
  }
  auto programs = parse_programs(stored->second, trace_);
  if (!programs) return tl::unexpected(programs.error());
  const int ranks = static_cast<int>(programs->class_of_rank.size());
  if (auto ok = check_rank(ranks); !ok) return tl::unexpected(ok.error());
  const int number = programs->class_of_rank[static_cast<std::size_t>(rank_)];
  Subject subject;
  subject.question = trace->metadata.count(traces::kQuestionKey) != 0
                         ? trace->metadata.at(traces::kQuestionKey)
                         : traces::recorded_question_json(trace->metadata);
  subject.line = traces::recorded_question_line(trace->metadata) + "\n";
  subject.ranks = ranks;
  subject.program = std::move(programs->programs[static_cast<std::size_t>(number)]);
  subject.program.place = place_in(subject.program.groups, rank_);
  return subject;
}

Result<int> PrintProgram::run() {
  if (auto ok = json_.check(); !ok) return tl::unexpected(ok.error());
  const auto subject = trace_.empty() ? of_question() : of_trace();
  if (!subject) return tl::unexpected(subject.error());
  const RankProgram& program = subject->program;
  Result<void> done;
  if (json_.is_wanted()) done = json_.write(to_json(*subject, step_), -1);
  if (done && !json_.is_standard_output()) {
    done = show(subject->line + to_text(program, program.step(step_), program.tree));
  }
  return written(done);
}

}  // namespace

std::unique_ptr<Command> make_program() {
  return std::make_unique<PrintProgram>();
}

}  // namespace foreshard::cli

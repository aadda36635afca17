// foreshard program: a step program as a person, or another program, reads it.
#include <nlohmann/json.hpp>

#include "cli/commands.hpp"
#include "cli/common/output.hpp"
#include "cli/common/question_options.hpp"
#include "cli/gpus.hpp"
#include "models/base/figures.hpp"
#include "models/lowering/lower.hpp"
#include "models/question/question_json.hpp"
#include "models/question/question_text.hpp"

namespace foreshard::cli {
namespace {

using nlohmann::ordered_json;

ordered_json buffers_json(std::span<const BufferId> ids) {
  ordered_json out = ordered_json::array();
  for (const BufferId id : ids) out.push_back(id);
  return out;
}

ordered_json to_json(const Job& job, const RankProgram& program, std::int64_t number) {
  const Program& step = program.step(number);
  ordered_json out = {{"question", ordered_json::parse(question_json(job))},
                      {"model", job.model.name},
                      {"ranks", job.ranks},
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
  const auto keys = stable_keys(program, step, std::to_string(number), job.tree);
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
  QuestionOptions question_;
  AttentionChoice attention_;
  JsonOutput json_;
  int rank_ = 0;
  std::int64_t step_ = 2;
};

CommandText PrintProgram::text() const {
  return {"program",
          "Prediction",
          "print the instructions of one training step",
          "A step program is what the host thread of one rank issues in a step: allocations, "
          "kernels, collectives, copies, events. Step 0 is the set-up; steps after the second are "
          "all alike.",
          {"foreshard program --model llama-tiny-3m --ranks 2",
           "foreshard program --model llama-tiny-3m --plan plan.toml --ranks 2 --step 1 --json "
           "step.json"}};
}

void PrintProgram::add_to(Options& options) {
  question_.add_to(options);
  question_.add_device_to(options);
  attention_.add_to(options);
  options.whole_number("--rank", rank_, {0, 999'999}, {"RANK", "rank whose program to print"});
  options.whole_number("--step", step_, {0, INT64_MAX}, {"STEP", "step to print; 0 is the set-up"});
  json_.add_to(options);
}

Result<int> PrintProgram::run() {
  const auto asked = question_.load(own_device_by(attention_));
  if (!asked) return tl::unexpected(asked.error());
  const Job* const job = &asked->job;
  if (rank_ >= job->ranks) {
    return fail("", "--rank",
                std::to_string(rank_) + " is not a rank of the job; expected 0 to " +
                    std::to_string(job->ranks - 1));
  }
  if (auto ok = json_.check(); !ok) return tl::unexpected(ok.error());
  const RankProgram program = lower(*job, rank_);
  Result<void> done;
  if (json_.is_wanted()) done = json_.write(to_json(*job, program, step_), -1);
  if (done && !json_.is_standard_output()) {
    done = show(question_text(*job) + to_text(program, program.step(step_), job->tree));
  }
  return written(done);
}

}  // namespace

std::unique_ptr<Command> make_program() {
  return std::make_unique<PrintProgram>();
}

}  // namespace foreshard::cli

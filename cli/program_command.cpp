// foreshard program: a step program as a person, or another program, reads it.
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "cli/commands.hpp"
#include "models/base/figures.hpp"
#include "models/lowering/lower.hpp"

namespace foreshard::cli {
namespace {

using nlohmann::ordered_json;

struct Flags {
  JobFlags job;
  JsonOutput json;
  int rank = 0;
  std::int64_t step = 2;
} flags;

ordered_json buffers_json(std::span<const BufferId> ids) {
  ordered_json out = ordered_json::array();
  for (const BufferId id : ids) out.push_back(id);
  return out;
}

ordered_json to_json(const Job& job, const RankProgram& program, const Program& step) {
  ordered_json out = {{"model", job.model.name},
                      {"ranks", job.ranks},
                      {"rank", program.place.rank},
                      {"step", flags.step},
                      {"program_hash", hexadecimal(program_hash(program))},
                      {"buffers", ordered_json::array()},
                      {"instructions", ordered_json::array()}};
  for (const Buffer& b : program.buffers) {
    out["buffers"].push_back({{"bytes", b.bytes},
                              {"on_host", b.on_host},
                              {"persistent", b.persistent},
                              {"pool", name(b.pool)},
                              {"category", name(b.category)},
                              {"owner", program.names[static_cast<std::size_t>(b.owner)]},
                              {"role", program.names[static_cast<std::size_t>(b.role)]}});
  }
  const auto keys = stable_keys(program, step, std::to_string(flags.step), job.tree);
  for (std::size_t n = 0; n < step.instructions.size(); ++n) {
    const Instruction& i = step.instructions[n];
    ordered_json line = {{"kind", name(i.kind)},
                         {"stream", name(i.stream)},
                         {"phase", name(i.phase)},
                         {"stable_key", keys[n]}};
    if (i.unit != kNone) line["unit"] = program.units[static_cast<std::size_t>(i.unit)].name;
    if (i.cost_key != kNone) {
      line["cost_key"] = text(program.cost_keys[static_cast<std::size_t>(i.cost_key)]);
      line["reads"] = buffers_json(step.reads(i));
      line["writes"] = buffers_json(step.writes(i));
    } else if (i.kind == Kind::range_begin || i.kind == Kind::range_end) {
      line["name"] = program.names[static_cast<std::size_t>(i.target)];
    } else {
      line[i.kind == Kind::alloc || i.kind == Kind::free ? "buffer" : "event"] = i.target;
    }
    out["instructions"].push_back(std::move(line));
  }
  return out;
}

Result<int> answer() {
  auto job = flags.job.load();
  if (!job) return tl::unexpected(job.error());
  if (flags.rank < 0 || flags.rank >= job->ranks) {
    return fail("", "--rank",
                std::to_string(flags.rank) + " is no rank of the job; expected 0 to " +
                    std::to_string(job->ranks - 1));
  }
  if (flags.step < 0) return fail("", "--step", "expected 0 (the set-up) or a step's number");
  if (auto ok = flags.json.check(); !ok) return tl::unexpected(ok.error());
  const RankProgram program = lower(*job, flags.rank);
  const Program& step = program.step(flags.step);
  Result<void> done;
  if (flags.json.is_wanted()) done = flags.json.write(to_json(*job, program, step), -1);
  if (done && !flags.json.is_standard_output()) done = show(to_text(program, step, job->tree));
  return written(done);
}

}  // namespace

void add_program_flags(CLI::App& app) {
  flags.job.add_to(app);
  app.add_option("--rank", flags.rank, "whose program")->type_name("R");
  app.add_option("--step", flags.step,
                 "0 is the set-up, 1 the first step; all later ones are alike")
      ->type_name("K");
  flags.json.add_to(app);
}

int run_program() {
  return status_of(answer());
}

}  // namespace foreshard::cli

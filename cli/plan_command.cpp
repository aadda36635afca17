// foreshard plan: prints, checks and converts training plans.
#include <ostream>
#include <sstream>

#include "cli/commands.hpp"
#include "cli/common/output.hpp"
#include "models/plan/foreign/foreign_plans.hpp"
#include "models/plan/plan_keys.hpp"
#include "models/plan/plan_reference.hpp"

namespace foreshard::cli {
namespace {

// A plan of this or another tool, warned of on standard error.
Result<ConvertedPlan> read_plan(const std::string& path, bool is_quiet) {
  auto read = read_any_plan(path);
  if (!read) return read;
  Result<Plan> plan = completed(*read);
  if (!plan) return tl::unexpected(plan.error());
  read->plan = std::move(*plan);
  if (read->is_foreign() && !is_quiet) note(path + ": " + conversion_origin(*read));
  for (const std::string& warning : conversion_warnings(*read)) warn(warning);
  for (const std::string& warning : settings_without_effect(read->plan)) {
    warn(path + ": " + warning);
  }
  return read;
}

// The report of a conversion as comments above the plan.
std::string as_comments(const std::string& report) {
  std::string out;
  std::istringstream lines(report);
  for (std::string line; std::getline(lines, line);)
    out += line.empty() ? "#\n" : "# " + line + "\n";
  return out + '\n';
}

class PlanCommand : public Command {
 public:
  CommandText text() const override;
  void add_to(Options& options) override;
  Result<int> run() override;

 private:
  Result<int> print(const std::string& text) const;
  Result<int> check() const;

  bool wants_defaults_ = false, wants_markdown_ = false, is_quiet_ = false;
  std::string checked_, from_, output_;
};

CommandText PlanCommand::text() const {
  return {"plan",
          "Prediction",
          "print, check or convert a training plan",
          "A plan is a TOML file that describes how a model is trained. Every key is optional. "
          "Rules that "
          "depend on the model and the number of ranks are checked by predict, program and train.",
          {"foreshard plan --defaults -o plan.toml", "foreshard plan --check plan.toml",
           "foreshard plan --from short.toml -o whole.toml"}};
}

void PlanCommand::add_to(Options& options) {
  options.flag("--defaults", wants_defaults_,
               "print a plan with every key, its default, its meaning and what it allows");
  options.flag("--markdown", wants_markdown_, "with --defaults: as a page of the documentation");
  options.input("--check", checked_,
                {"PLAN", "report whether PLAN is valid, and its settings without effect"});
  options.input(
      "--from", from_,
      {"FILE",
       "convert a plan, or a configuration of Accelerate, DeepSpeed, torchtitan, transformers' "
       "Trainer, axolotl or LLaMA-Factory: every key is written out, with what could not "
       "be carried over"});
  options.output("-o,--output", output_, {"FILE", "write to FILE instead of standard output"});
  options.quiet(is_quiet_);
}

Result<int> PlanCommand::print(const std::string& text) const {
  if (output_.empty()) return written(show(text));
  return written(write_output(output_, "-o", [&](std::ostream& out) { out << text; }));
}

Result<int> PlanCommand::check() const {
  const auto read = read_plan(checked_, is_quiet_);
  if (!read) return tl::unexpected(read.error());
  return written(show(checked_ + ": valid\n"));
}

Result<int> PlanCommand::run() {
  if (wants_defaults_ + !checked_.empty() + !from_.empty() != 1) {
    return fail("", "plan", "expected one of --defaults, --check PLAN and --from FILE");
  }
  if (wants_markdown_ && !wants_defaults_) {
    return fail("", "--markdown", "is for --defaults; expected both");
  }
  if (!checked_.empty()) {
    if (!output_.empty()) return fail("", "-o", "is not for --check, which writes nothing");
    return check();
  }
  if (auto ok = check_output(output_, "-o"); !ok) return tl::unexpected(ok.error());
  if (wants_defaults_) {
    return print(wants_markdown_ ? plan_reference_markdown() : commented_default_plan());
  }
  const auto read = read_plan(from_, is_quiet_);
  if (!read) return tl::unexpected(read.error());
  const std::string report = read->is_foreign() ? as_comments(conversion_report(*read)) : "";
  return print(report + to_toml(read->plan));
}

}  // namespace

std::unique_ptr<Command> make_plan() {
  return std::make_unique<PlanCommand>();
}

}  // namespace foreshard::cli

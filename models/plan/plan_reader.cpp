// parse_plan: TOML to Plan by the list of keys. Unknown names are looked for before values are
// read, so that a misspelt key is reported as such and not as what its absence causes.
#include "models/base/text_file.hpp"
#include "models/plan/plan.hpp"
#include "models/plan/plan_rules.hpp"
#include "models/plan/plan_screen.hpp"
#include "models/plan/plan_toml.hpp"
#include "models/plan/plan_values.hpp"

namespace foreshard {

Result<Plan> parse_plan(std::string_view text, const std::string& file) {
  const Result<std::string> screened = screened_plan(text, file);
  if (!screened) return tl::unexpected(screened.error());
  const toml::parse_result parsed = toml::parse(*screened, file);
  if (!parsed) {
    const toml::parse_error& error = parsed.error();
    return fail(with_line(file, error.source()), "",
                std::string(error.description()) + "; expected a plan in TOML");
  }
  const toml::table& root = parsed.table();
  if (const std::optional<Error> error = unknown_name(root, file)) return tl::unexpected(*error);

  Plan plan;
  ValueReader reader(root, file);
  visit_plan_keys(plan, reader);
  if (reader.error()) return tl::unexpected(*reader.error());
  if (describes_pytorch(plan.operators) && !reader.find("optimizer", "kernel")) {
    plan.optimizer.kernel = OptimizerKernel::foreach;
  }
  if (const std::optional<BrokenRule> broken = broken_rule(plan)) {
    const std::size_t dot = broken->field.find('.');
    const toml::node* node =
        reader.find(broken->field.substr(0, dot), broken->field.substr(dot + 1));
    return fail(node ? with_line(file, node->source()) : file, broken->field, broken->message);
  }
  return plan;
}

Result<Plan> load_plan(const std::string& path) {
  Result<std::string> text = read_text_file(path, "a plan in TOML", kMiB);
  if (!text) return tl::unexpected(text.error());
  return parse_plan(*text, path);
}

}  // namespace foreshard

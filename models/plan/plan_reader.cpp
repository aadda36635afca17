// parse_plan: TOML to Plan by the list of keys. Unknown names are looked for before values are
// read, so that a misspelt key is reported as such and not as what its absence causes.
#include "models/base/text_file.hpp"
#include "models/plan/plan.hpp"
#include "models/plan/plan_rules.hpp"
#include "models/plan/plan_toml.hpp"
#include "models/plan/plan_values.hpp"

namespace foreshard {

Result<Plan> parse_plan(std::string_view text, const std::string& file) {
  const Result<toml::table> parsed = parse_screened(text, file, "a plan in TOML");
  if (!parsed) return tl::unexpected(parsed.error());
  const toml::table& root = *parsed;
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

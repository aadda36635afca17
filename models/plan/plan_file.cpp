// parse_plan_file: TOML to Plan by the list of keys. Unknown names are looked for before values are
// read, so that a misspelt key is reported as such and not as what its absence causes.
#include "models/plan/plan_file.hpp"

#include <algorithm>

#include "models/base/text_file.hpp"
#include "models/plan/plan_rules.hpp"
#include "models/plan/plan_toml.hpp"

namespace foreshard {
namespace {

const WrittenKey* written_key(const PlanFile& file, std::string_view name) {
  const auto found = std::find_if(file.written.begin(), file.written.end(),
                                  [name](const WrittenKey& key) { return key.name == name; });
  return found == file.written.end() ? nullptr : &*found;
}

// Keys whose default depends on others.
void set_dependent_defaults(const PlanFile& file, Plan& plan) {
  if (file.writes("optimizer.kernel")) return;
  plan.optimizer.kernel =
      describes_pytorch(plan.operators) ? OptimizerKernel::foreach : OptimizerKernel::fused;
}

}  // namespace

bool PlanFile::writes(std::string_view key) const {
  return written_key(*this, key) != nullptr;
}

Result<PlanFile> parse_plan_file(std::string_view text, const std::string& name) {
  const Result<toml::table> parsed = parse_screened(text, name, "a plan in TOML");
  if (!parsed) return tl::unexpected(parsed.error());
  const toml::table& root = *parsed;
  if (const std::optional<Error> error = unknown_name(root, name)) return tl::unexpected(*error);

  PlanFile file{name, {}, {}};
  for (const PlanKey& key : plan_keys()) {
    const toml::table* section = key.section().empty() ? &root : root[key.section()].as_table();
    const toml::node* node = section == nullptr ? nullptr : section->get(key.short_name());
    if (node == nullptr) continue;
    if (auto ok = set_from(*node, key, name, file.plan); !ok) return tl::unexpected(ok.error());
    file.written.push_back({std::string(key.name()), static_cast<int>(node->source().begin.line)});
  }
  set_dependent_defaults(file, file.plan);
  return file;
}

Result<PlanFile> load_plan_file(const std::string& path) {
  Result<std::string> text = read_text_file(path, "a plan in TOML", kMiB);
  if (!text) return tl::unexpected(text.error());
  return parse_plan_file(*text, path);
}

Result<Plan> completed(const PlanFile& file, const Plan& defaults) {
  Plan plan = file.plan;
  for (const PlanKey& key : plan_keys()) {
    if (!file.writes(key.name())) key.set_in(plan, key.value_in(defaults));
  }
  set_dependent_defaults(file, plan);
  if (const std::optional<BrokenRule> broken = broken_rule(plan)) {
    const WrittenKey* key = written_key(file, broken->field);
    const bool has_line = key != nullptr && key->line > 0;
    return fail(has_line ? file.name + ':' + std::to_string(key->line) : file.name, broken->field,
                broken->message);
  }
  return plan;
}

Result<Plan> parse_plan(std::string_view text, const std::string& file) {
  const Result<PlanFile> parsed = parse_plan_file(text, file);
  if (!parsed) return tl::unexpected(parsed.error());
  return completed(*parsed);
}

Result<Plan> load_plan(const std::string& path) {
  const Result<PlanFile> loaded = load_plan_file(path);
  if (!loaded) return tl::unexpected(loaded.error());
  return completed(*loaded);
}

}  // namespace foreshard

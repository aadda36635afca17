// parse_plan_space: lists of values in TOML to settings of a plan.
#include <algorithm>

#include "models/base/nearest_names.hpp"
#include "models/base/text_file.hpp"
#include "models/plan/plan_screen.hpp"
#include "models/plan/plan_setting.hpp"
#include "models/plan/plan_toml.hpp"
#include "models/plan/plan_values.hpp"

namespace foreshard {
namespace {

constexpr std::size_t kMaxValues = 1000;  // of one key

std::vector<std::string> key_names() {
  std::vector<std::string> names;
  for (const SpeltKey& key : spelt_keys(Plan{})) names.push_back(key.name);
  return names;
}

// The plan that differs from the default in this one key.
Result<Plan> with_value(const std::string& key, const toml::node& value, const std::string& file) {
  const std::size_t dot = key.find('.');
  toml::table root;
  if (dot == std::string::npos) {
    root.insert(key, value);
  } else {
    toml::table section;
    section.insert(key.substr(dot + 1), value);
    root.insert(key.substr(0, dot), std::move(section));
  }
  Plan plan;
  ValueReader reader(root, file);
  visit_plan_keys(plan, reader);
  if (reader.error()) return tl::unexpected(*reader.error());
  return plan;
}

Result<PlanAxis> read_axis(const std::string& key, std::size_t number, const toml::node& values,
                           const std::string& file) {
  const toml::array* list = values.as_array();
  if (list == nullptr || list->empty() || list->size() > kMaxValues) {
    return fail(file, key,
                (list == nullptr ? "is " + shown(values)
                                 : "has " + std::to_string(list->size()) + " values") +
                    "; expected a list of 1 to " + std::to_string(kMaxValues) +
                    " values, such as [1, 2, 4]");
  }
  PlanAxis axis;
  for (const toml::node& value : *list) {
    const auto plan = with_value(key, value, file);
    if (!plan) return tl::unexpected(plan.error());
    PlanSetting setting(*plan, number);
    const bool is_twice = std::any_of(axis.begin(), axis.end(), [&](const PlanSetting& other) {
      return other.value() == setting.value();
    });
    if (is_twice) {
      return fail(file, key, "has " + setting.value() + " twice; expected each value once");
    }
    axis.push_back(std::move(setting));
  }
  return axis;
}

}  // namespace

Result<std::vector<PlanAxis>> parse_plan_space(std::string_view text, const std::string& file) {
  const Result<std::string> screened = screened_plan(text, file);
  if (!screened) return tl::unexpected(screened.error());
  const toml::parse_result parsed = toml::parse(*screened, file);
  if (!parsed) {
    const toml::parse_error& error = parsed.error();
    return fail(with_line(file, error.source()), "",
                std::string(error.description()) +
                    "; expected lines such as \"batch.micro_batch\" = [1, 2, 4]");
  }
  const toml::table& root = parsed.table();
  const std::vector<std::string> names = key_names();
  for (const auto& [key, value] : root) {
    const std::string name(key.str());
    if (std::find(names.begin(), names.end(), name) != names.end()) continue;
    const std::string where = with_line(file, key.source());
    if (value.is_table()) {
      return fail(where, name,
                  "is a section; expected the key's whole name in quotes, such as "
                  "\"batch.micro_batch\" = [1, 2, 4]");
    }
    return fail(where, name,
                "is not a key of a plan; expected one that `foreshard plan --defaults` prints, "
                "with its section: \"batch.micro_batch\"" +
                    did_you_mean(nearest_names(name, names)));
  }
  std::vector<PlanAxis> axes;
  for (std::size_t n = 0; n < names.size(); ++n) {
    const toml::node* values = root.get(names[n]);
    if (values == nullptr) continue;
    auto axis = read_axis(names[n], n, *values, with_line(file, values->source()));
    if (!axis) return tl::unexpected(axis.error());
    axes.push_back(std::move(*axis));
  }
  return axes;
}

Result<std::vector<PlanAxis>> load_plan_space(const std::string& path) {
  Result<std::string> text = read_text_file(path, "a space of plans in TOML", kMiB);
  if (!text) return tl::unexpected(text.error());
  return parse_plan_space(*text, path);
}

}  // namespace foreshard

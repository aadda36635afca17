#include "models/plan/plan_space.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "models/base/nearest_names.hpp"
#include "models/base/text_file.hpp"
#include "models/plan/plan_toml.hpp"
#include "models/plan/plan_values.hpp"

namespace foreshard {
namespace {

constexpr std::size_t kMaxChoices = 1000;  // of one axis

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

class SpaceReader {
 public:
  explicit SpaceReader(const std::string& file) : file_(file) {
    for (const SpeltKey& key : spelt_keys(Plan{})) names_.push_back(key.name);
  }

  Result<std::vector<PlanAxis>> read(const toml::table& root) {
    std::vector<PlanAxis> axes;
    for (const std::string& name : names_) {
      const toml::node* values = root.get(name);
      if (values == nullptr) continue;
      if (auto ok = add(axes, read_values(name, *values)); !ok) return tl::unexpected(ok.error());
    }
    for (const auto& [key, value] : root) {
      const std::string name(key.str());
      if (number_of(name)) continue;
      if (!is_list_of_tables(value)) return unknown(name, value, key.source());
      if (auto ok = add(axes, read_tables(name, value)); !ok) return tl::unexpected(ok.error());
    }
    return axes;
  }

 private:
  std::optional<std::size_t> number_of(const std::string& name) const {
    const auto found = std::find(names_.begin(), names_.end(), name);
    if (found == names_.end()) return {};
    return static_cast<std::size_t>(found - names_.begin());
  }

  static bool is_list_of_tables(const toml::node& value) {
    const toml::array* list = value.as_array();
    return list != nullptr && !list->empty() &&
           std::all_of(list->begin(), list->end(),
                       [](const toml::node& element) { return element.is_table(); });
  }

  tl::unexpected<Error> unknown(const std::string& name, const toml::node& value,
                                const toml::source_region& source) const {
    const std::string where = with_line(file_, source);
    if (value.is_table()) {
      return fail(where, name,
                  "is a section; expected the key's whole name in quotes, such as "
                  "\"batch.micro_batch\" = [1, 2, 4]");
    }
    return fail(where, name,
                "is not a key of a plan; expected one that `foreshard plan --defaults` prints, "
                "with its section: \"batch.micro_batch\"" +
                    did_you_mean(nearest_names(name, names_)));
  }

  Result<PlanSetting> read_setting(const std::string& key, const toml::node& value) const {
    const auto plan = with_value(key, value, with_line(file_, value.source()));
    if (!plan) return tl::unexpected(plan.error());
    return PlanSetting(*plan, *number_of(key));
  }

  Result<PlanAxis> read_values(const std::string& key, const toml::node& values) const {
    const std::string where = with_line(file_, values.source());
    const toml::array* list = values.as_array();
    if (list == nullptr || list->empty() || list->size() > kMaxChoices) {
      return fail(where, key,
                  (list == nullptr ? "is " + shown(values)
                                   : "has " + std::to_string(list->size()) + " values") +
                      "; expected a list of 1 to " + std::to_string(kMaxChoices) +
                      " values, such as [1, 2, 4]");
    }
    PlanAxis axis{key, {key}, {}};
    for (const toml::node& value : *list) {
      auto setting = read_setting(key, value);
      if (!setting) return tl::unexpected(setting.error());
      const bool is_twice = std::any_of(
          axis.choices.begin(), axis.choices.end(),
          [&](const PlanChoice& other) { return other.front().value() == setting->value(); });
      if (is_twice) {
        return fail(where, key, "has " + setting->value() + " twice; expected each value once");
      }
      axis.choices.push_back({std::move(*setting)});
    }
    return axis;
  }

  Result<PlanAxis> read_tables(const std::string& name, const toml::node& tables) const {
    PlanAxis axis{name, {}, {}};
    for (const toml::node& table : *tables.as_array()) {
      PlanChoice& choice = axis.choices.emplace_back();
      for (const auto& [key, value] : *table.as_table()) {
        const std::string set(key.str());
        if (!number_of(set)) return unknown(name + "." + set, value, key.source());
        auto setting = read_setting(set, value);
        if (!setting) return tl::unexpected(setting.error());
        choice.push_back(std::move(*setting));
        if (!sets(axis, set)) axis.keys.push_back(set);
      }
    }
    return axis;
  }

  Result<void> add(std::vector<PlanAxis>& axes, Result<PlanAxis> axis) const {
    if (!axis) return tl::unexpected(axis.error());
    for (const PlanAxis& other : axes) {
      for (const std::string& key : other.keys) {
        if (!sets(*axis, key)) continue;
        return fail(
            file_, axis->name,
            "sets " + key + ", and so does " + other.name + "; expected each key in one list only");
      }
    }
    axes.push_back(std::move(*axis));
    return {};
  }

  const std::string& file_;
  std::vector<std::string> names_;  // of the keys of a plan, by number
};

}  // namespace

bool sets(const PlanAxis& axis, std::string_view key) {
  return std::find(axis.keys.begin(), axis.keys.end(), key) != axis.keys.end();
}

Result<std::vector<PlanAxis>> parse_plan_space(std::string_view text, const std::string& file) {
  const Result<toml::table> table =
      parse_screened(text, file, "lines such as \"batch.micro_batch\" = [1, 2, 4]");
  if (!table) return tl::unexpected(table.error());
  return SpaceReader(file).read(*table);
}

Result<std::vector<PlanAxis>> load_plan_space(const std::string& path) {
  Result<std::string> text = read_text_file(path, "a space of plans in TOML", kMiB);
  if (!text) return tl::unexpected(text.error());
  return parse_plan_space(*text, path);
}

}  // namespace foreshard

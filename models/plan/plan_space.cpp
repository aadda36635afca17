#include "models/plan/plan_space.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "models/base/nearest_names.hpp"
#include "models/base/text_file.hpp"
#include "models/plan/plan_toml.hpp"

namespace foreshard {
namespace {

constexpr std::size_t kMaxChoices = 1000;  // of one axis

class SpaceReader {
 public:
  explicit SpaceReader(const std::string& file) : file_(file) {}

  Result<std::vector<PlanAxis>> read(const toml::table& root) {
    std::vector<PlanAxis> axes;
    for (const PlanKey& key : plan_keys()) {
      const toml::node* values = root.get(key.name());
      if (values == nullptr) continue;
      if (auto ok = add(axes, read_values(key, *values)); !ok) return tl::unexpected(ok.error());
    }
    for (const auto& [key, value] : root) {
      const std::string name(key.str());
      if (find_plan_key(name) != nullptr) continue;
      if (!is_list_of_tables(value)) return unknown(name, value, key.source());
      if (auto ok = add(axes, read_tables(name, value)); !ok) return tl::unexpected(ok.error());
    }
    return axes;
  }

 private:
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
    std::vector<std::string> names;
    for (const PlanKey& key : plan_keys()) names.emplace_back(key.name());
    return fail(where, name,
                "is not a key of a plan; expected one that `foreshard plan --defaults` prints, "
                "with its section: \"batch.micro_batch\"" +
                    did_you_mean(nearest_names(name, names)));
  }

  Result<PlanSetting> read_setting(const PlanKey& key, const toml::node& value) const {
    Plan plan;
    if (auto ok = set_from(value, key, file_, plan); !ok) return tl::unexpected(ok.error());
    return PlanSetting{&key, key.value_in(plan)};
  }

  Result<PlanAxis> read_values(const PlanKey& key, const toml::node& values) const {
    const std::string name(key.name());
    const std::string where = with_line(file_, values.source());
    const toml::array* list = values.as_array();
    if (list == nullptr || list->empty() || list->size() > kMaxChoices) {
      return fail(where, name,
                  (list == nullptr ? "is " + shown(values)
                                   : "has " + std::to_string(list->size()) + " values") +
                      "; expected a list of 1 to " + std::to_string(kMaxChoices) +
                      " values, such as [1, 2, 4]");
    }
    PlanAxis axis{name, {name}, {}};
    for (const toml::node& value : *list) {
      auto setting = read_setting(key, value);
      if (!setting) return tl::unexpected(setting.error());
      const bool is_twice = std::any_of(
          axis.choices.begin(), axis.choices.end(),
          [&](const PlanChoice& other) { return other.front().value == setting->value; });
      if (is_twice) {
        return fail(where, name,
                    "has " + setting->spelt_value() + " twice; expected each value once");
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
        const PlanKey* known = find_plan_key(set);
        if (known == nullptr) return unknown(name + "." + set, value, key.source());
        auto setting = read_setting(*known, value);
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

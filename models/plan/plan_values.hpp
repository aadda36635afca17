// The visitor of the list of keys that sets a plan's fields from TOML. Included by the reader only.
#pragma once

#include <algorithm>
#include <array>
#include <locale>
#include <optional>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "models/plan/plan_keys.hpp"
#include "models/plan/plan_toml.hpp"
#include "models/plan/plan_words.hpp"

namespace foreshard {

// Sets the fields of a plan; keeps the first thing wrong.
class ValueReader {
 public:
  ValueReader(const toml::table& root, const std::string& file) : root_(root), file_(file) {}

  template <typename Field, typename Bounds>
  void operator()(std::string_view section, std::string_view name, Field&& field,
                  const Bounds& bounds) {
    const toml::node* node = find(section, name);
    if (node == nullptr || error_) return;
    node_ = node;
    field_ = dotted(section, name);
    read(*node, field, bounds);
  }

  const toml::node* find(std::string_view section, std::string_view name) const {
    if (section.empty()) return root_.get(name);
    const toml::table* table = root_[section].as_table();
    return table == nullptr ? nullptr : table->get(name);
  }

  const std::optional<Error>& error() const { return error_; }

 private:
  static std::string expected_integer(Integers bounds) {
    return "an integer from " + std::to_string(bounds.least) + " to " + std::to_string(bounds.most);
  }

  void wrong(const std::string& expected, const std::string& suggestion = "") {
    if (error_) return;
    error_ = Error{with_line(file_, node_->source()), field_,
                   "is " + shown(*node_) + "; " +
                       (suggestion.empty() ? "" : "did you mean \"" + suggestion + "\"? ") +
                       "expected " + expected};
  }

  void read(const toml::node& node, bool& field, Anything) {
    const auto* value = node.as_boolean();
    value ? void(field = value->get()) : wrong("true or false");
  }

  void read(const toml::node& node, std::int64_t& field, Integers bounds) {
    if (!within(node, field, bounds)) wrong(expected_integer(bounds));
  }

  void read(const toml::node& node, std::optional<std::int64_t>& field, Integers bounds) {
    std::int64_t value = 0;
    if (within(node, value, bounds)) {
      field = value;
    } else if (is_word(node, "none")) {
      field.reset();
    } else {
      wrong(expected_integer(bounds) + ", or \"none\"");
    }
  }

  void read(const toml::node& node, double& field, Numbers bounds) {
    const auto value = node.is_number() ? node.value<double>() : std::nullopt;
    const bool fits = value && *value >= bounds.least &&
                      (bounds.most_excluded ? *value < bounds.most : *value <= bounds.most);
    if (!fits) return wrong(expected_number(bounds));
    field = *value;
  }

  void read(const toml::node& node, Pair<double>& field, Numbers bounds) {
    const toml::array* list = node.as_array();
    if (list == nullptr || list->size() != 2) {
      return wrong("a list of two numbers, each " + expected_number(bounds));
    }
    read((*list)[0], field.first, bounds);
    read((*list)[1], field.second, bounds);
  }

  template <PlanWord E>
  void read(const toml::node& node, E& field, Anything) {
    const std::optional<std::size_t> index = choice(node, kWords<E>);
    if (index) field = static_cast<E>(*index);
  }

  void read(const toml::node& node, std::optional<DType>& field, Anything) {
    constexpr std::array words = {kWords<DType>[0], kWords<DType>[1], std::string_view("gradient")};
    const std::optional<std::size_t> index = choice(node, words);
    if (!index) return;
    field =
        *index < kWords<DType>.size() ? std::optional(static_cast<DType>(*index)) : std::nullopt;
  }

  template <PlanWord E>
  void read(const toml::node& node, std::optional<E>& field, Anything bounds) {
    read(node, field.emplace(), bounds);
  }

  void read(const toml::node& node, PyTorchVersion& field, Anything) {
    const auto* value = node.as_string();
    const auto version = value ? parse_pytorch_version(value->get()) : std::nullopt;
    version ? void(field = *version) : wrong("a version of PyTorch, such as \"2.11\"");
  }

  void read(const toml::node& node, std::string& field, Anything) {
    const auto* value = node.as_string();
    value ? void(field = value->get()) : wrong("a string");
  }

  void read(const toml::node& node, ReshardAfterForward& field, Integers bounds) {
    using Kind = ReshardAfterForward::Kind;
    std::int64_t group = 0;
    if (const auto* value = node.as_boolean()) {
      field = {value->get() ? Kind::yes : Kind::no, 0};
    } else if (is_word(node, "auto")) {
      field = {};
    } else if (within(node, group, bounds)) {
      field = {Kind::group, group};
    } else {
      wrong("\"auto\", true, false or " + expected_integer(bounds));
    }
  }

  void read(const toml::node& node, std::vector<std::string>& field, Anything) {
    std::optional<std::vector<std::string>> names = strings(node);
    names ? void(field = std::move(*names)) : wrong("a list of names or globs in quotes");
  }

  void read(const toml::node& node, std::vector<WrapGroup>& field, Anything) {
    const toml::array* list = node.as_array();
    std::vector<WrapGroup> groups;
    bool good = list != nullptr;
    for (std::size_t i = 0; good && i < list->size(); ++i) {
      const toml::node& item = (*list)[i];
      if (std::optional<std::string> single = glob(item)) {
        groups.push_back({{std::move(*single)}, false});
        continue;
      }
      std::optional<std::vector<std::string>> group = strings(item);
      good = group && !group->empty();
      if (good) groups.push_back({std::move(*group), true});
    }
    good ? void(field = std::move(groups))
         : wrong("a list of globs, or of lists of globs that share a unit");
  }

  void read(const toml::node& node, SavedOutputs<bool>& field, Anything) {
    constexpr std::array<std::string_view, 3> words = {"attention", "matmul",
                                                       "every_second_matmul"};
    const toml::array* list = node.as_array();
    if (list == nullptr) return wrong("a list of " + joined(words));
    bool* const saved[] = {&field.attention, &field.matmul, &field.every_second_matmul};
    for (bool* output : saved) *output = false;
    for (const toml::node& item : *list) {
      const std::optional<std::size_t> index = choice(item, words);
      if (!index) return;
      *saved[*index] = true;
    }
  }

  static bool within(const toml::node& node, std::int64_t& field, Integers bounds) {
    const auto* value = node.as_integer();
    if (value == nullptr || value->get() < bounds.least || value->get() > bounds.most) return false;
    field = value->get();
    return true;
  }

  static bool is_word(const toml::node& node, std::string_view word) {
    const auto* value = node.as_string();
    return value != nullptr && value->get() == word;
  }

  template <std::size_t N>
  std::optional<std::size_t> choice(const toml::node& node,
                                    const std::array<std::string_view, N>& words) {
    const auto* value = node.as_string();
    const std::string given = value == nullptr ? "" : value->get();
    const auto found = std::find(words.begin(), words.end(), given);
    if (value != nullptr && found != words.end()) {
      return static_cast<std::size_t>(found - words.begin());
    }
    const bool short_enough = !given.empty() && given.size() < 64;
    wrong(joined(words), short_enough ? nearest(given, words) : "");
    return std::nullopt;
  }

  static std::optional<std::string> glob(const toml::node& node) {
    const auto* value = node.as_string();
    if (value == nullptr || value->get().empty()) return std::nullopt;
    return value->get();
  }

  static std::optional<std::vector<std::string>> strings(const toml::node& node) {
    const toml::array* list = node.as_array();
    if (list == nullptr) return std::nullopt;
    std::vector<std::string> names;
    for (const toml::node& item : *list) {
      std::optional<std::string> name = glob(item);
      if (!name) return std::nullopt;
      names.push_back(std::move(*name));
    }
    return names;
  }

  static std::string expected_number(Numbers bounds) {
    std::ostringstream stream;
    stream.imbue(std::locale::classic());
    stream << "a number from " << bounds.least << (bounds.most_excluded ? " to below " : " to ")
           << bounds.most;
    return stream.str();
  }

  const toml::table& root_;
  const std::string& file_;
  const toml::node* node_ = nullptr;
  std::string field_;
  std::optional<Error> error_;
};

}  // namespace foreshard

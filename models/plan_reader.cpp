// parse_plan: TOML to Plan by the list of keys. Unknown names are looked for before values are
// read, so that a misspelt key is reported as such and not as what its absence causes.
#define TOML_EXCEPTIONS 0
#include <algorithm>
#include <locale>
#include <sstream>
#include <utility>

#include <toml++/toml.h>

#include "models/plan.hpp"
#include "models/plan_keys.hpp"
#include "models/plan_rules.hpp"
#include "models/plan_words.hpp"
#include "models/text_file.hpp"

namespace foreshard {
namespace {

constexpr Bytes kMaxPlanSize = kMiB;
constexpr std::int64_t kMaxDots = 256;  // toml++ recurses into dotted keys without a limit

std::string dotted(std::string_view section, std::string_view name) {
  return section.empty() ? std::string(name) : std::string(section) + '.' + std::string(name);
}

std::string with_line(const std::string& file, const toml::source_region& where) {
  return where.begin.line == 0 ? file : file + ':' + std::to_string(where.begin.line);
}

std::string shown(const toml::node& node) {
  std::ostringstream stream;
  stream.imbue(std::locale::classic());
  node.visit([&](const auto& value) {
    using Node = std::decay_t<decltype(value)>;
    if constexpr (std::is_same_v<Node, toml::table>) {
      stream << "a section";
    } else if constexpr (std::is_same_v<Node, toml::array>) {
      stream << toml::toml_formatter(value);
    } else {
      stream << toml::toml_formatter(toml::value(value));
    }
  });
  std::string text = stream.str();
  std::replace(text.begin(), text.end(), '\n', ' ');
  if (text.size() > 60) text = text.substr(0, 57) + "...";
  return text;
}

std::string joined(const auto& words) {
  std::string text;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (i > 0) text += i + 1 == words.size() ? " or " : ", ";
    text += words[i];
  }
  return text;
}

std::string expected_integer(Integers bounds) {
  return "an integer from " + std::to_string(bounds.least) + " to " + std::to_string(bounds.most);
}

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

  template <std::size_t N>
  void read(const toml::node& node, std::string& field, const OneOf<N>& allowed) {
    const std::optional<std::size_t> index = choice(node, allowed.words);
    if (index) field = allowed.words[*index];
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

  void read(const toml::node& node, std::vector<std::vector<std::string>>& field, Anything) {
    const toml::array* list = node.as_array();
    std::vector<std::vector<std::string>> groups;
    bool good = list != nullptr;
    for (std::size_t i = 0; good && i < list->size(); ++i) {
      const toml::node& item = (*list)[i];
      std::optional<std::vector<std::string>> group = strings(item);
      if (const std::optional<std::string> single = glob(item)) group = {*single};
      good = group && !group->empty();
      if (good) groups.push_back(std::move(*group));
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

using KeyList = std::vector<std::pair<std::string, std::string>>;  // section, name

const KeyList& known_keys() {
  static const KeyList keys = [] {
    KeyList list;
    Plan plan;
    visit_plan_keys(plan, [&](std::string_view section, std::string_view name, auto&&, auto&&) {
      list.emplace_back(section, name);
    });
    return list;
  }();
  return keys;
}

// What to try instead of an unknown name: a key or section nearby, or the section that has the key.
std::string advice(const std::string& section, const std::string& name) {
  std::vector<std::string> here;
  for (const auto& [known_section, known_name] : known_keys()) {
    if (known_section == section) here.push_back(known_name);
    if (known_name == name && known_section != section) {
      return "; expected in " +
             (known_section.empty() ? "the top of the file" : "[" + known_section + "]");
    }
  }
  if (section.empty()) {
    for (const auto& [known_section, known_name] : known_keys()) {
      if (!known_section.empty()) here.push_back(known_section);
    }
  }
  const std::string suggestion = name.size() < 64 ? nearest(name, here) : "";
  if (!suggestion.empty()) return "; did you mean \"" + suggestion + "\"?";
  here.erase(std::unique(here.begin(), here.end()), here.end());
  return "; expected " + joined(here);
}

std::optional<Error> unknown_name(const toml::table& root, const std::string& file) {
  const KeyList& known = known_keys();
  const auto is_section = [&](std::string_view name) {
    return std::any_of(known.begin(), known.end(),
                       [&](const auto& key) { return !name.empty() && key.first == name; });
  };
  const auto is_key = [&](std::string_view section, std::string_view name) {
    return std::any_of(known.begin(), known.end(),
                       [&](const auto& key) { return key.first == section && key.second == name; });
  };
  for (const auto& [key, node] : root) {
    const std::string name(key.str());
    if (is_section(name)) {
      const toml::table* table = node.as_table();
      if (table == nullptr) {
        return Error{with_line(file, node.source()), name,
                     "is " + shown(node) + "; expected a section, [" + name + "]"};
      }
      for (const auto& [inner, value] : *table) {
        if (is_key(name, inner.str())) continue;
        return Error{with_line(file, inner.source()), dotted(name, inner.str()),
                     "is not a key of a plan" + advice(name, std::string(inner.str()))};
      }
    } else if (!is_key("", name)) {
      return Error{with_line(file, key.source()), name,
                   std::string("is not a ") + (node.is_table() ? "section" : "key") + " of a plan" +
                       advice("", name)};
    }
  }
  return std::nullopt;
}

bool has_absurd_key(std::string_view text) {
  std::int64_t dots = 0;
  char quote = 0;
  for (const char c : text) {
    if (c == '\n') {
      dots = 0;
      quote = 0;
    } else if (quote != 0) {
      if (c == quote) quote = 0;
    } else if (c == '"' || c == '\'') {
      quote = c;
    } else if (c == '.' && ++dots > kMaxDots) {
      return true;
    }
  }
  return false;
}

}  // namespace

Result<Plan> parse_plan(std::string_view text, const std::string& file) {
  if (has_absurd_key(text)) return fail(file, "", "has a key of absurd length; expected a plan");
  const toml::parse_result parsed = toml::parse(text, file);
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
  if (plan.operators != OperatorSetName::foreshard && !reader.find("optimizer", "kernel")) {
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
  Result<std::string> text = read_text_file(path, "a plan in TOML", kMaxPlanSize);
  if (!text) return tl::unexpected(text.error());
  return parse_plan(*text, path);
}

}  // namespace foreshard

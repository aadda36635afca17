#include <charconv>
#include <string>

#include "models/base/figures.hpp"
#include "models/plan/changed_keys.hpp"
#include "models/plan/plan_keys.hpp"
#include "models/plan/plan_words.hpp"

namespace foreshard {
namespace {

std::string spelt(bool value) {
  return value ? "true" : "false";
}
std::string spelt(std::int64_t value) {
  return std::to_string(value);
}

// The shortest decimal that reads back as the same number, always with the looks of a float.
std::string spelt(double value) {
  char digits[32];
  const auto end = std::to_chars(digits, digits + sizeof digits, value).ptr;
  std::string text(digits, end);
  if (text.find_first_of(".en") == std::string::npos) text += ".0";
  return text;
}

std::string spelt(std::string_view value) {
  std::string text = "\"";
  for (const char c : value) {
    const auto code = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      text += '\\';
      text += c;
    } else if (code < 0x20 || code == 0x7f) {
      text += "\\u" + hexadecimal(code, 4);
    } else {
      text += c;
    }
  }
  return text + '"';
}
std::string spelt(const std::string& value) {
  return spelt(std::string_view(value));
}

template <PlanWord E>
std::string spelt(E value) {
  return spelt(word(value));
}

std::string spelt(PyTorchVersion version) {
  return spelt(to_string(version));
}

template <typename T>
std::string spelt(const std::vector<T>& values) {
  std::string text = "[";
  for (const T& value : values) text += (text.size() > 1 ? ", " : "") + spelt(value);
  return text + "]";
}

std::string spelt(const WrapGroup& group) {
  return group.is_one_unit ? spelt(group.globs) : spelt(group.globs.front());
}
std::string spelt(const std::vector<WrapGroup>& groups) {
  std::string text = "[";
  for (const WrapGroup& group : groups) text += (text.size() > 1 ? ", " : "") + spelt(group);
  return text + "]";
}

std::string spelt(const ReshardAfterForward& reshard) {
  switch (reshard.kind) {
    case ReshardAfterForward::Kind::yes: return "true";
    case ReshardAfterForward::Kind::no: return "false";
    case ReshardAfterForward::Kind::group: return spelt(reshard.group);
    default: return "\"auto\"";
  }
}

// Nothing where the key is not written: it has no value for that.
std::string spelt(const std::optional<Implementation>& value) {
  return value ? spelt(*value) : "";
}
std::string spelt(const std::optional<std::int64_t>& value) {
  return value ? spelt(*value) : "\"none\"";
}
std::string spelt(const std::optional<DType>& value) {
  return value ? spelt(*value) : "\"gradient\"";
}

std::string spelt(const Pair<const double>& pair) {
  return "[" + spelt(pair.first) + ", " + spelt(pair.second) + "]";
}

std::string spelt(const SavedOutputs<const bool>& saved) {
  std::vector<std::string> words;
  if (saved.attention) words.emplace_back("attention");
  if (saved.matmul) words.emplace_back("matmul");
  if (saved.every_second_matmul) words.emplace_back("every_second_matmul");
  return spelt(words);
}

}  // namespace

std::vector<SpeltKey> spelt_keys(const Plan& plan) {
  std::vector<SpeltKey> keys;
  visit_plan_keys(plan, [&](std::string_view section, std::string_view name, const auto& field,
                            const auto& /*bounds*/) {
    keys.push_back(
        {std::string(section) + (section.empty() ? "" : ".") + std::string(name), spelt(field)});
  });
  return keys;
}

std::vector<SpeltKey> changed_keys(const Plan& plan) {
  static const std::vector<SpeltKey> defaults = spelt_keys(Plan{});
  std::vector<SpeltKey> keys;
  auto unchanged = defaults.begin();
  visit_plan_keys(plan, [&](std::string_view, std::string_view, const auto& field, const auto&) {
    std::string value = spelt(field);
    if (value != unchanged->value) keys.push_back({unchanged->name, std::move(value)});
    ++unchanged;
  });
  return keys;
}

std::string to_toml(const Plan& plan) {
  std::string text;
  std::string current;
  for (const SpeltKey& key : spelt_keys(plan)) {
    const std::size_t dot = key.name.find('.');
    const bool is_top = dot == std::string::npos;
    const std::string section = is_top ? "" : key.name.substr(0, dot);
    if (section != current) {
      text += "\n[" + section + "]\n";
      current = section;
    }
    if (key.value.empty()) continue;
    text += (is_top ? key.name : key.name.substr(dot + 1)) + " = " + key.value + "\n";
  }
  return text;
}

}  // namespace foreshard

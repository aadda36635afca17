#include "models/plan/foreign/conversion.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "models/base/assertion.hpp"
#include "models/base/figures.hpp"
#include "models/plan/plan_rules.hpp"

namespace foreshard::foreign {
namespace {

const std::string kNotUnderstood = "not understood";

char lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

bool is_nothing(const Value& value) {
  return value.kind == Value::Kind::null ||
         (value.kind == Value::Kind::list && value.items.empty()) ||
         (value.kind == Value::Kind::map && value.entries.empty());
}

bool has_understood(const Value& value) {
  return value.is_understood ||
         std::any_of(value.entries.begin(), value.entries.end(),
                     [](const Entry& entry) { return has_understood(entry.value); });
}

// 5e8 and "8" are integers too: JSON's writers and YAML's quote them so.
std::optional<std::int64_t> as_integer(const Value& value) {
  constexpr double kExact = 9007199254740992.0;  // 2^53
  if (value.kind == Value::Kind::integer) return value.integer;
  if (value.kind == Value::Kind::number && std::abs(value.number) <= kExact &&
      std::trunc(value.number) == value.number) {
    return static_cast<std::int64_t>(value.number);
  }
  std::int64_t integer = 0;
  const char* end = value.text.data() + value.text.size();
  const auto read = std::from_chars(value.text.data(), end, integer);
  if (value.kind != Value::Kind::string || read.ec != std::errc() || read.ptr != end) {
    return std::nullopt;
  }
  return integer;
}

std::optional<double> as_number(const Value& value) {
  if (value.kind == Value::Kind::integer) return static_cast<double>(value.integer);
  if (value.kind == Value::Kind::number) return value.number;
  double number = 0;
  const char* end = value.text.data() + value.text.size();
  const auto read = std::from_chars(value.text.data(), end, number);
  if (value.kind != Value::Kind::string || read.ec != std::errc() || read.ptr != end) {
    return std::nullopt;
  }
  return number;
}

}  // namespace

bool equal_but_for_case(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](char x, char y) { return lower(x) == lower(y); });
}

std::vector<std::string> words_of(const Value& value, std::string_view separators) {
  std::vector<std::string> words;
  if (value.kind == Value::Kind::list) {
    for (const Value& item : value.items) words.push_back(item.text);
    return words;
  }
  for (std::size_t at = 0; at <= value.text.size();) {
    const std::size_t end = std::min(value.text.find_first_of(separators, at), value.text.size());
    const std::size_t first = std::min(value.text.find_first_not_of(' ', at), end);
    const std::size_t last = value.text.find_last_not_of(' ', end - 1) + 1;
    words.push_back(end > at && first < last ? value.text.substr(first, last - first) : "");
    at = end + 1;
  }
  return words;
}

std::vector<std::string_view> each(Names names) {
  std::vector<std::string_view> words;
  for (std::size_t at = 0; at < names.size();) {
    const std::size_t end = std::min(names.find(' ', at), names.size());
    if (end > at) words.push_back(names.substr(at, end - at));
    at = end + 1;
  }
  return words;
}

bool is_off(const Value& value) {
  if (is_nothing(value)) return true;
  if (const Value* enabled = value.find("enabled")) return is_off(*enabled);
  if (value.kind == Value::Kind::list || value.kind == Value::Kind::map) return false;
  const std::string word = shown(value);
  constexpr std::string_view kOff[] = {"false", "no", "none", "off", "0", "\"\"", "disabled"};
  return std::any_of(std::begin(kOff), std::end(kOff),
                     [&word](std::string_view off) { return equal_but_for_case(word, off); });
}

std::string Conversion::actual(std::string_view path) const {
  const auto renamed = names_.find(path);
  return renamed == names_.end() ? section_ + std::string(path) : renamed->second;
}

const Value* Conversion::at(std::string_view asked) const {
  const std::string whole = actual(asked);
  std::string_view path = whole;
  const Value* value = &root_;
  while (value != nullptr && !path.empty()) {
    const std::size_t dot = std::min(path.find('.'), path.size());
    value = value->find(path.substr(0, dot));
    path.remove_prefix(std::min(dot + 1, path.size()));
  }
  return value == nullptr || value->kind == Value::Kind::null ? nullptr : value;
}

const Value* Conversion::find(std::string_view path) const {
  const Value* value = at(path);
  if (value != nullptr) value->is_understood = true;
  return value;
}

std::string Conversion::first_of(std::initializer_list<const char*> paths) const {
  for (const char* path : paths) {
    if (has(path)) return path;
  }
  return *paths.begin();
}

bool Conversion::is_on(std::string_view path) const {
  const Value* value = at(path);
  return value != nullptr && !is_off(*value);
}

bool Conversion::is_auto(std::string_view path) const {
  const Value* value = allows_auto_ ? at(path) : nullptr;
  return value != nullptr && value->kind == Value::Kind::string && value->text == "auto";
}

const Value* Conversion::usable(std::string_view path) {
  if (!is_auto(path)) return find(path);
  drop(path, kAuto);
  return nullptr;
}

std::optional<std::int64_t> Conversion::integer(std::string_view path, Integers bounds) {
  const Value* value = usable(path);
  if (value == nullptr) return std::nullopt;
  const std::optional<std::int64_t> integer = as_integer(*value);
  if (integer && *integer >= bounds.least && *integer <= bounds.most) return integer;
  wrong(path,
        "an integer from " + std::to_string(bounds.least) + " to " + std::to_string(bounds.most));
  return std::nullopt;
}

std::optional<double> Conversion::number(std::string_view path, Numbers bounds) {
  const Value* value = usable(path);
  if (value == nullptr) return std::nullopt;
  const std::optional<double> number = as_number(*value);
  if (number && *number >= bounds.least &&
      (bounds.most_excluded ? *number < bounds.most : *number <= bounds.most)) {
    return number;
  }
  wrong(path, formatted("a number from %g to %s%g", bounds.least,
                        bounds.most_excluded ? "below " : "", bounds.most));
  return std::nullopt;
}

std::optional<bool> Conversion::flag(std::string_view path) {
  const Value* value = usable(path);
  if (value == nullptr) return std::nullopt;
  for (const auto& [word, meaning] : {std::pair("true", true),
                                      {"yes", true},
                                      {"1", true},
                                      {"false", false},
                                      {"no", false},
                                      {"0", false}}) {
    if (equal_but_for_case(shown(*value), word)) return meaning;
  }
  wrong(path, "true or false");
  return std::nullopt;
}

std::optional<std::string> Conversion::string(std::string_view path) {
  const Value* value = usable(path);
  if (value == nullptr) return std::nullopt;
  if (value->kind == Value::Kind::string) return value->text;
  wrong(path, "a string");
  return std::nullopt;
}

void Conversion::take(std::string_view path, std::int64_t& field, Integers bounds,
                      std::optional<std::int64_t> fallback, std::string_view plan_key) {
  const std::optional<std::int64_t> value = integer(path, bounds);
  if (is_auto(path) || !(value || fallback)) return leave_unsaid({plan_key});
  field = value.value_or(fallback.value_or(field));
  carry(path, {plan_key});
}

void Conversion::take(std::string_view path, double& field, Numbers bounds,
                      std::optional<double> fallback, std::string_view plan_key) {
  const std::optional<double> value = number(path, bounds);
  if (is_auto(path) || !(value || fallback)) return leave_unsaid({plan_key});
  field = value.value_or(fallback.value_or(field));
  carry(path, {plan_key});
}

void Conversion::take(std::string_view path, bool& field, bool fallback,
                      std::string_view plan_key) {
  const std::optional<bool> value = flag(path);
  if (is_auto(path)) return leave_unsaid({plan_key});
  field = value.value_or(fallback);
  carry(path, {plan_key});
}

void Conversion::carry(std::string_view path, PlanKeys plan_keys, std::string note) {
  const Value* value = find(path);
  CarriedKey made{actual(path), value == nullptr ? "" : shown(*value), {}, std::move(note)};
  for (const std::string_view key : plan_keys) made.plan.push_back({std::string(key), ""});
  carried_.push_back(std::move(made));
}

void Conversion::imply(PlanKeys plan_keys, std::string note) {
  CarriedKey made{"", "", {}, std::move(note)};
  for (const std::string_view key : plan_keys) made.plan.push_back({std::string(key), ""});
  carried_.push_back(std::move(made));
}

void Conversion::leave_unsaid(PlanKeys plan_keys) {
  for (const std::string_view key : plan_keys) unsaid_.emplace_back(key);
}

void Conversion::drop(std::string_view path, std::string why) {
  const Value* value = find(path);
  if (value == nullptr) return;
  const std::string key = actual(path);
  const bool is_known = std::any_of(dropped_.begin(), dropped_.end(), [&](const DroppedKey& other) {
    return other.key == key && other.why == why;
  });
  if (!is_known) dropped_.push_back({key, shown(*value), std::move(why)});
}

void Conversion::limit(const Limit& limit, std::string_view prefix) {
  const std::string path = std::string(prefix) + std::string(limit.key);
  const Value* value = find(path);
  if (value == nullptr) return;
  const bool is_usual =
      limit.usual.empty() ? is_off(*value) : equal_but_for_case(shown(*value), limit.usual);
  if (is_usual) {
    without_effect_.push_back(actual(path));
  } else {
    drop(path, std::string(limit.why));
  }
}

void Conversion::limit(std::span<const Limit> limits, std::string_view prefix) {
  for (const Limit& one : limits) limit(one, prefix);
}

void Conversion::set_aside(Names paths, std::string_view prefix) {
  for (const std::string_view path : each(paths)) {
    const std::string whole = std::string(prefix) + std::string(path);
    if (find(whole) != nullptr) without_effect_.push_back(actual(whole));
  }
}

void Conversion::limit_all(const Limit& all) {
  for (const auto& [key, value] : root_.entries) {
    if (key.starts_with(all.key) && !value.is_understood) limit({key, all.usual, all.why});
  }
}

void Conversion::set_aside_all(std::initializer_list<std::string_view> beginnings) {
  for (const auto& [key, value] : root_.entries) {
    const bool begins = std::any_of(beginnings.begin(), beginnings.end(),
                                    [&key = key](auto one) { return key.starts_with(one); });
    if (begins && !value.is_understood) set_aside({key});
  }
}

void Conversion::name_ranks(std::string_view path, std::int64_t ranks) {
  facts.ranks = ranks;
  if (ranks_ && *ranks_ != ranks) {
    drop(path, "names " + plural(ranks, "rank") + "; the result is that of " +
                   std::to_string(*ranks_) + ", as requested");
  }
}

void Conversion::wrong(std::string_view path, const std::string& expected) {
  if (error_) return;
  const Value* value = find(path);
  error_ =
      Error{at_line(file_, value == nullptr ? 0 : value->line), std::string(path),
            (value == nullptr ? "is missing" : "is " + shown(*value)) + "; expected " + expected};
}

void Conversion::drop_rest(const Value& map, const std::string& prefix) {
  for (const auto& [key, value] : map.entries) {
    const bool is_comment = key.starts_with('_');  // JSON has no other way
    if (value.is_understood || is_nothing(value) || is_comment) continue;
    if (has_understood(value)) {
      drop_rest(value, prefix + key + ".");
    } else {
      dropped_.push_back({prefix + key, shown(value), kNotUnderstood});
    }
  }
}

Result<ConvertedPlan> Conversion::finish(std::string origin) {
  if (error_) return tl::unexpected(*error_);
  if (const std::optional<BrokenRule> broken = broken_rule(plan)) {
    return fail(file_, "as a plan, " + broken->field, broken->message);
  }
  drop_rest(root_, "");
  PlanFile converted{file_, plan, {}};
  const std::vector<SpeltKey> spelt = spelt_keys(plan);
  for (CarriedKey& key : carried_) {
    for (SpeltKey& of_plan : key.plan) {
      if (!converted.writes(of_plan.name)) converted.written.push_back({of_plan.name});
      const auto found = std::find_if(spelt.begin(), spelt.end(), [&](const SpeltKey& candidate) {
        return candidate.name == of_plan.name;
      });
      FORESHARD_ASSERT(found != spelt.end(), "a conversion names a key that no plan has");
      of_plan.value = found->value;
    }
  }
  // A section is not without effect where something in it was carried over or dropped.
  std::erase_if(without_effect_, [&](const std::string& path) {
    const auto is_it_or_inside = [&path](const auto& other) {
      return !other.value.empty() && other.key.starts_with(path) &&
             (other.key.size() == path.size() || other.key[path.size()] == '.');
    };
    return std::any_of(carried_.begin(), carried_.end(), is_it_or_inside) ||
           std::any_of(dropped_.begin(), dropped_.end(), is_it_or_inside);
  });
  std::vector<std::string> named;
  for (std::string& path : without_effect_) {
    if (std::find(named.begin(), named.end(), path) == named.end())
      named.push_back(std::move(path));
  }
  without_effect_ = std::move(named);
  return ConvertedPlan{std::move(converted), std::move(origin),          std::move(carried_),
                       std::move(dropped_),  std::move(without_effect_), std::move(unsaid_),
                       std::move(facts)};
}

}  // namespace foreshard::foreign

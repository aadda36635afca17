// How a field of a plan is a key's value: what its type allows, and the conversion both ways. Included by
// the list of keys only, whose rows no longer know the type.
#pragma once

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "models/plan/plan.hpp"
#include "models/plan/plan_value.hpp"
#include "models/plan/plan_words.hpp"

namespace foreshard::plan_field {

// Two numbers that one key holds as a list.
template <typename T>
struct Pair {
  T &first, &second;
};
template <typename T>
Pair(T&, T&) -> Pair<T>;

// Switches that one key holds as a list of the words of those that are on.
template <typename T>
struct Choices {
  T &attention, &matmul, &every_second_matmul;

  static constexpr std::array<std::string_view, 3> kWords{"attention", "matmul",
                                                          "every_second_matmul"};
  std::array<T*, 3> all() const { return {&attention, &matmul, &every_second_matmul}; }
};
template <typename T>
Choices(T&, T&, T&) -> Choices<T>;

// Sets the field where the value has its type.
template <typename T>
bool assign(T& field, const PlanValue& value) {
  const T* given = std::get_if<T>(&value);
  if (given != nullptr) field = *given;
  return given != nullptr;
}

// For each type of field: `limit` adds what the type allows, `value_of` reads the field, and `take` sets
// it, or says that the value is none of those allowed.

inline void limit(AllowedValues& allowed, const bool&) {
  allowed.flags = true;
}
inline PlanValue value_of(const bool& field) {
  return field;
}
inline bool take(bool& field, const PlanValue& value, const AllowedValues&) {
  return assign(field, value);
}

inline void limit(AllowedValues&, const std::int64_t&) {}
inline PlanValue value_of(const std::int64_t& field) {
  return field;
}
inline bool take(std::int64_t& field, const PlanValue& value, const AllowedValues& allowed) {
  const auto* given = std::get_if<std::int64_t>(&value);
  return given != nullptr && allowed.integers->hold(*given) && assign(field, value);
}

inline void limit(AllowedValues&, const double&) {}
inline PlanValue value_of(const double& field) {
  return field;
}
inline bool take(double& field, const PlanValue& value, const AllowedValues& allowed) {
  double given = 0;
  std::int64_t whole = 0;
  if (assign(whole, value)) {
    given = static_cast<double>(whole);
  } else if (!assign(given, value)) {
    return false;
  }
  if (!allowed.numbers->hold(given)) return false;
  field = given;
  return true;
}

template <typename T>
void limit(AllowedValues& allowed, const Pair<T>&) {
  allowed.list = AllowedValues::List::pair;
}
template <typename T>
PlanValue value_of(const Pair<T>& field) {
  return PlanList{field.first, field.second};
}
inline bool take(const Pair<double>& field, const PlanValue& value, const AllowedValues& allowed) {
  const auto* list = std::get_if<PlanList>(&value);
  return list != nullptr && list->size() == 2 && take(field.first, (*list)[0], allowed) &&
         take(field.second, (*list)[1], allowed);
}

inline void limit(AllowedValues& allowed, const std::string&) {
  allowed.text = "a string";
}
inline PlanValue value_of(const std::string& field) {
  return field;
}
inline bool take(std::string& field, const PlanValue& value, const AllowedValues&) {
  return assign(field, value);
}

inline void limit(AllowedValues& allowed, const PyTorchVersion&) {
  allowed.text = "a version of PyTorch, such as \"2.11\"; described are " +
                 to_string(kOldestPyTorch) + " to " + to_string(kNewestPyTorch);
}
inline PlanValue value_of(const PyTorchVersion& field) {
  return to_string(field);
}
inline bool take(PyTorchVersion& field, const PlanValue& value, const AllowedValues&) {
  const auto* text = std::get_if<std::string>(&value);
  const auto version = text ? parse_pytorch_version(*text) : std::nullopt;
  if (version) field = *version;
  return version.has_value();
}

template <PlanWord E>
void limit(AllowedValues& allowed, const E&) {
  allowed.words.assign(kWords<E>.begin(), kWords<E>.end());
}
template <PlanWord E>
PlanValue value_of(const E& field) {
  return std::string(word(field));
}
template <PlanWord E>
bool take(E& field, const PlanValue& value, const AllowedValues&) {
  const auto* text = std::get_if<std::string>(&value);
  const auto* found = std::find(kWords<E>.begin(), kWords<E>.end(), text ? *text : "");
  if (found != kWords<E>.end()) field = static_cast<E>(found - kWords<E>.begin());
  return found != kWords<E>.end();
}

// Nothing is nothing; the row has a word for it where there is one.
template <typename T>
void limit(AllowedValues& allowed, const std::optional<T>&) {
  limit(allowed, T{});
}
template <typename T>
PlanValue value_of(const std::optional<T>& field) {
  return field ? value_of(*field) : PlanValue{};
}
template <typename T>
bool take(std::optional<T>& field, const PlanValue& value, const AllowedValues& allowed) {
  T given{};
  const bool is_nothing = std::holds_alternative<std::monostate>(value);
  if (!is_nothing && !take(given, value, allowed)) return false;
  field = is_nothing ? std::nullopt : std::optional<T>(given);
  return true;
}

inline void limit(AllowedValues& allowed, const ReshardAfterForward&) {
  allowed.words = {"auto"};
  allowed.flags = true;
}
inline PlanValue value_of(const ReshardAfterForward& field) {
  switch (field.kind) {
    case ReshardAfterForward::Kind::yes: return true;
    case ReshardAfterForward::Kind::no: return false;
    case ReshardAfterForward::Kind::group: return field.group;
    default: return std::string("auto");
  }
}
inline bool take(ReshardAfterForward& field, const PlanValue& value, const AllowedValues& allowed) {
  using Kind = ReshardAfterForward::Kind;
  const auto* word = std::get_if<std::string>(&value);
  bool flag = false;
  std::int64_t group = 0;
  if (word != nullptr && *word == "auto") {
    field = {};
  } else if (take(flag, value, allowed)) {
    field = {flag ? Kind::yes : Kind::no, 0};
  } else if (take(group, value, allowed)) {
    field = {Kind::group, group};
  } else {
    return false;
  }
  return true;
}

inline void limit(AllowedValues& allowed, const std::vector<std::string>&) {
  allowed.list = AllowedValues::List::names;
}
inline PlanValue value_of(const std::vector<std::string>& field) {
  return PlanList(field.begin(), field.end());
}
inline bool take(std::vector<std::string>& field, const PlanValue& value, const AllowedValues&) {
  const auto* list = std::get_if<PlanList>(&value);
  if (list == nullptr) return false;
  std::vector<std::string> names(list->size());
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (!assign(names[i], (*list)[i]) || names[i].empty()) return false;
  }
  field = std::move(names);
  return true;
}

inline void limit(AllowedValues& allowed, const std::vector<WrapGroup>&) {
  allowed.list = AllowedValues::List::groups;
}
inline PlanValue value_of(const std::vector<WrapGroup>& field) {
  PlanList list;
  for (const WrapGroup& group : field) {
    list.push_back(group.is_one_unit ? value_of(group.globs) : value_of(group.globs.front()));
  }
  return list;
}
inline bool take(std::vector<WrapGroup>& field, const PlanValue& value,
                 const AllowedValues& allowed) {
  const auto* list = std::get_if<PlanList>(&value);
  if (list == nullptr) return false;
  std::vector<WrapGroup> groups(list->size());
  for (std::size_t i = 0; i < groups.size(); ++i) {
    const PlanValue& item = (*list)[i];
    groups[i].is_one_unit = std::holds_alternative<PlanList>(item);
    const PlanValue globs = groups[i].is_one_unit ? item : PlanList{item};
    if (!take(groups[i].globs, globs, allowed) || groups[i].globs.empty()) return false;
  }
  field = std::move(groups);
  return true;
}

template <typename T>
void limit(AllowedValues& allowed, const Choices<T>& field) {
  allowed.words.assign(field.kWords.begin(), field.kWords.end());
  allowed.list = AllowedValues::List::choices;
}
template <typename T>
PlanValue value_of(const Choices<T>& field) {
  PlanList words;
  for (std::size_t c = 0; c < field.kWords.size(); ++c) {
    if (*field.all()[c]) words.emplace_back(std::string(field.kWords[c]));
  }
  return words;
}
inline bool take(const Choices<bool>& field, const PlanValue& value, const AllowedValues&) {
  std::vector<std::string> words;
  if (!take(words, value, {})) return false;
  for (bool* choice : field.all()) *choice = false;
  for (const std::string& word : words) {
    const auto* found = std::find(field.kWords.begin(), field.kWords.end(), word);
    if (found == field.kWords.end()) return false;
    *field.all()[static_cast<std::size_t>(found - field.kWords.begin())] = true;
  }
  return true;
}

}  // namespace foreshard::plan_field

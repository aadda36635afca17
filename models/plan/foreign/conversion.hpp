// The work of turning another tool's configuration into a plan, and the record of it: each value is
// looked up, checked and either taken over, dropped with a reason or set aside as having no effect.
// Keys that are never looked up are dropped as not understood. Keeps the first thing wrong. Only for the sources
// of this folder.
//
// Keys are written as paths: "zero_optimization.stage". A null is a key that is not there.
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/plan/foreign/document.hpp"
#include "models/plan/foreign/foreign_plans.hpp"
#include "models/plan/plan_keys.hpp"

namespace foreshard::foreign {

inline const std::string kAuto = "\"auto\" is filled in by the trainer from its own arguments";

template <typename T>
struct Choice {
  std::string_view word;
  T value;
};

class Conversion {
 public:
  using PlanKeys = std::initializer_list<std::string_view>;

  Conversion(Value root, std::string file) : root_(std::move(root)), file_(std::move(file)) {}

  Plan plan;
  NamedFacts facts;

  // From now on the first path stands for the second, under which records name it.
  void rename(std::string path, std::string actual) { names_[std::move(path)] = std::move(actual); }

  // The value at a path, which is understood from now on.
  const Value* find(std::string_view path) const;
  // Whether it is present; this does not mark it as understood.
  bool has(std::string_view path) const { return at(path) != nullptr; }
  // Whether true or false stands there.
  bool is_flag(std::string_view path) const {
    return has(path) && at(path)->kind == Value::Kind::boolean;
  }
  // For a key that moved: the first of the paths that is there, or else the first.
  std::string first_of(std::initializer_list<const char*> paths) const;
  // DeepSpeed's "auto", where it is allowed: a trainer fills it in.
  void allow_auto() { allows_auto_ = true; }
  bool is_auto(std::string_view path) const;

  // Values by their type; nothing where there is none, "auto", or an error.
  std::optional<std::int64_t> integer(std::string_view path, Integers bounds);
  std::optional<double> number(std::string_view path, Numbers bounds);
  std::optional<bool> flag(std::string_view path);
  std::optional<std::string> string(std::string_view path);
  // One of the choices, in capitals or not.
  template <typename T>
  std::optional<T> choice(std::string_view path, std::initializer_list<Choice<T>> choices);

  // Sets a field from the value where there is one, else from the tool's own default. The plan keeps
  // its default, which is reported, where the tool has none and where the value is "auto".
  void take(std::string_view path, std::int64_t& field, Integers bounds,
            std::optional<std::int64_t> fallback, std::string_view plan_key);
  void take(std::string_view path, double& field, Numbers bounds, std::optional<double> fallback,
            std::string_view plan_key);
  void take(std::string_view path, bool& field, bool fallback, std::string_view plan_key);

  // Records what a key (or, where it is not there, its default) became.
  void carry(std::string_view path, PlanKeys plan_keys, std::string note = "");
  // Records what the tool does regardless of the file.
  void imply(PlanKeys plan_keys, std::string note);
  void leave_unsaid(PlanKeys plan_keys);

  // Each of these does nothing where the key is not there.
  void drop(std::string_view path, std::string why);
  void drop_if_set(std::string_view path, std::string why);  // to true
  void drop_degree(std::string_view path, std::string why);  // of more than one rank
  void drop_unless(std::string_view path, std::string_view usual, std::string why);
  void set_aside(std::initializer_list<std::string_view> paths);  // no effect on memory or time

  void wrong(std::string_view path, const std::string& expected);

  Result<ConvertedPlan> finish(std::string origin);

 private:
  std::string actual(std::string_view path) const;
  const Value* at(std::string_view path) const;
  const Value* usable(std::string_view path);  // not "auto", which is recorded
  void drop_rest(const Value& map, const std::string& prefix);

  Value root_;
  std::string file_;
  bool allows_auto_ = false;
  std::map<std::string, std::string, std::less<>> names_;
  std::optional<Error> error_;
  std::vector<CarriedKey> carried_;
  std::vector<DroppedKey> dropped_;
  std::vector<std::string> without_effect_, unsaid_;
};

bool equal_but_for_case(std::string_view a, std::string_view b);

template <typename T>
std::optional<T> Conversion::choice(std::string_view path,
                                    std::initializer_list<Choice<T>> choices) {
  const Value* value = usable(path);
  if (value == nullptr) return std::nullopt;
  std::string expected;
  for (const Choice<T>& one : choices) {
    if (equal_but_for_case(shown(*value), one.word)) return one.value;
    expected += (expected.empty() ? "" : &one + 1 == choices.end() ? " or " : ", ");
    expected += one.word;
  }
  wrong(path, expected);
  return std::nullopt;
}

Result<ConvertedPlan> accelerate_plan(Value root, const std::string& file);
Result<ConvertedPlan> torchtitan_plan(Value root, const std::string& file);
Result<ConvertedPlan> deepspeed_plan(Value root, const std::string& file);

}  // namespace foreshard::foreign

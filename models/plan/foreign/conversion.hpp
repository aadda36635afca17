// The work of turning another tool's configuration into a plan, and the record of it: each value is
// looked up, checked and either taken over, dropped with a reason or set aside as having no effect.
// Keys that are never looked up are dropped as not understood. Keeps the first thing wrong. Only for the sources
// of this folder.
//
// Keys are written as paths: "zero_optimization.stage". A null is a key that is not there.
//
// Converters are code for what depends on several keys, and tables for the rest: `Limit` for what a plan
// cannot express, lists of names for what changes neither memory nor time. A list names single keys,
// and a section only where nothing in it can have an effect.
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "models/plan/foreign/document.hpp"
#include "models/plan/foreign/foreign_plans.hpp"
#include "models/plan/plan_keys.hpp"

namespace foreshard::foreign {

inline constexpr std::string_view kCompileMode =
    "other kernels, or CUDA graphs with pools of their own, are not described";
inline const std::string kNoFp16 =
    "a plan has no fp16: bf16 is as large, but it is no type of the tensor cores before sm_80 (T4, "
    "V100), and the scaling of the loss is left out";
inline const std::string kAuto = "\"auto\" is filled in by the trainer from its own arguments";

// A file as it was parsed.
struct Source {
  Value root;
  std::string file;
  std::optional<std::int64_t> ranks = std::nullopt;
};

template <typename T>
struct Choice {
  std::string_view word;
  T value;
};

// A key that no plan can express, unless it is off or has its usual value. "" as the usual value: off.
struct Limit {
  std::string_view key, usual, why;
};

using Names = std::string_view;  // separated by spaces
std::vector<std::string_view> each(Names names);

// False, zero, nothing, "no" and the like, and a section whose `enabled` is.
bool is_off(const Value& value);

class Conversion {
 public:
  using PlanKeys = std::initializer_list<std::string_view>;

  // `ranks`: of the job, where they are known.
  Conversion(Source source)
      : root_(std::move(source.root)), file_(std::move(source.file)), ranks_(source.ranks) {}

  Plan plan;
  NamedFacts facts;

  std::optional<std::int64_t> ranks() const { return ranks_; }

  // From now on paths are looked up within a section, "deepspeed."; "": in the whole file.
  void enter(std::string section) { section_ = std::move(section); }
  // From now on the first path stands for the second, under which records name it.
  void rename(std::string path, std::string actual) { names_[std::move(path)] = std::move(actual); }

  // The value at a path, which is understood from now on.
  const Value* find(std::string_view path) const;
  // Whether it is present; this does not mark it as understood.
  bool has(std::string_view path) const { return at(path) != nullptr; }
  bool is_on(std::string_view path) const;  // present and not off
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
  void limit(const Limit& limit, std::string_view prefix = "");
  void limit(std::span<const Limit> limits, std::string_view prefix = "");
  void set_aside(Names paths, std::string_view prefix = "");  // no effect on memory or time
  void set_aside(std::initializer_list<std::string_view> paths) {
    for (const std::string_view path : paths) set_aside(path, "");
  }

  // The same for all keys at the top that begin so and were not looked up.
  void limit_all(const Limit& limit);
  void set_aside_all(std::initializer_list<std::string_view> beginnings);

  // How many ranks the file says there are, which the job may contradict.
  void name_ranks(std::string_view path, std::int64_t ranks);

  void wrong(std::string_view path, const std::string& expected);

  Result<ConvertedPlan> finish(std::string origin);

 private:
  std::string actual(std::string_view path) const;
  const Value* at(std::string_view path) const;
  const Value* usable(std::string_view path);  // not "auto", which is recorded
  void drop_rest(const Value& map, const std::string& prefix);

  Value root_;
  std::string file_, section_;
  std::optional<std::int64_t> ranks_;
  bool allows_auto_ = false;
  std::map<std::string, std::string, std::less<>> names_;
  std::optional<Error> error_;
  std::vector<CarriedKey> carried_;
  std::vector<DroppedKey> dropped_;
  std::vector<std::string> without_effect_, unsaid_;
};

bool equal_but_for_case(std::string_view a, std::string_view b);

// The items of a list, or of a string that separates them by one of these letters, without spaces.
std::vector<std::string> words_of(const Value& value, std::string_view separators);

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

Result<ConvertedPlan> accelerate_plan(Source source);
Result<ConvertedPlan> torchtitan_plan(Source source);
Result<ConvertedPlan> deepspeed_plan(Source source);
Result<ConvertedPlan> trainer_plan(Source source);
Result<ConvertedPlan> axolotl_plan(Source source);
Result<ConvertedPlan> llama_factory_plan(Source source);
Result<ConvertedPlan> fsdp_config_plan(Source source);

}  // namespace foreshard::foreign

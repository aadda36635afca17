// A value of a plan's key in the form that all keys share, and what values a key may have. Reading,
// writing, the reference, the viewer's controls and the tests' generators go by these, whatever the
// type of the field behind a key.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace foreshard {

struct PlanValue;
using PlanList = std::vector<PlanValue>;

// As a plan file has it; nothing: a key that is not written.
struct PlanValue : std::variant<std::monostate, bool, std::int64_t, double, std::string, PlanList> {
  using variant::variant;
};

// "a, b or c".
std::string joined(const std::vector<std::string>& words);

// As a plan file spells it; empty for nothing.
std::string spelt(const PlanValue& value);

struct Integers {
  std::int64_t least, most;
  bool hold(std::int64_t n) const { return n >= least && n <= most; }
};

struct Numbers {  // without the bounds themselves where they are excluded
  double least, most;
  bool most_excluded = false, least_excluded = false;
  bool hold(double x) const {
    return (least_excluded ? x > least : x >= least) && (most_excluded ? x < most : x <= most);
  }
};

// The values that a key may have: those of each kind that is given here.
struct AllowedValues {
  enum class List : std::uint8_t {
    none,     // one value
    pair,     // two of the numbers
    choices,  // any of the words
    names,    // any texts
    groups,   // texts, and lists of them
  };
  std::vector<std::string_view> words = {};
  bool flags = false;  // true and false
  std::optional<Integers> integers = {};
  std::optional<Numbers> numbers = {};
  std::string text = {};  // "a string"; empty: none
  List list = List::none;
  bool may_be_unwritten = false;  // which is a value of its own

  std::string text_of_all() const;  // "\"auto\", true, false or an integer from 1 to 8"
};

}  // namespace foreshard

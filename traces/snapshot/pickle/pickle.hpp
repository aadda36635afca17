// Reads Python pickles that hold plain data: None, bool, int, float, str, bytes, list, tuple, dict.
// Protocols 0 to 5. Nothing is ever imported or called: at an opcode that would (GLOBAL, REDUCE,
// BUILD, ...) reading ends, as it does at one that makes no sense or at the end of a file cut short.
// Where objects are asked for they are data too: what would be called, by its name, and with what.
//
// Values lie flat in one arena and name one another by number; what the pickle shares through its
// memo is shared here. So a cycle or a deep nest costs nothing to hold, but whoever walks the values
// must not follow them without a bound of his own.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/base/error.hpp"

namespace foreshard::traces {

using PickleId = std::uint32_t;

enum class PickleType : std::uint8_t {
  none,
  boolean,
  integer,
  large_integer,  // beyond 64 bits; its value is not kept
  real,
  text,
  global,  // what Python would import: its text is "module name"
  list,
  tuple,
  dict,
  object  // of a callable, its arguments, and the states that it would be given afterwards; of one
          // entry: what the storage of a tensor is referred to by
};

class PickleValues {
 public:
  static constexpr PickleId kMissing = UINT32_MAX;

  struct Entry {
    PickleId key = kMissing;  // of a dict
    PickleId value = kMissing;
    std::uint32_t next = kMissing;
  };

  // The entries of a list, tuple or dict, in order; of anything else, none.
  class Entries {
   public:
    class Iterator {
     public:
      Iterator(const std::vector<Entry>& all, std::uint32_t at) : all_(&all), at_(at) {}
      const Entry& operator*() const { return (*all_)[at_]; }
      Iterator& operator++() { return at_ = (*all_)[at_].next, *this; }
      bool operator!=(const Iterator& other) const { return at_ != other.at_; }

     private:
      const std::vector<Entry>* all_;
      std::uint32_t at_;
    };
    Entries(const std::vector<Entry>& all, std::uint32_t first) : all_(&all), first_(first) {}
    Iterator begin() const { return {*all_, first_}; }
    Iterator end() const { return {*all_, kMissing}; }
    bool empty() const { return first_ == kMissing; }

   private:
    const std::vector<Entry>* all_;
    std::uint32_t first_;
  };

  PickleType type(PickleId id) const {
    return id == kMissing ? PickleType::none : values_[id].type;
  }
  bool is(PickleId id, PickleType type) const { return id != kMissing && values_[id].type == type; }
  std::int64_t integer(PickleId id) const { return values_[id].integer; }  // also of a boolean
  double real(PickleId id) const { return values_[id].real; }
  std::string_view text(PickleId id) const { return {values_[id].text, values_[id].count}; }
  std::size_t count(PickleId id) const { return values_[id].count; }
  Entries entries(PickleId id) const;
  // The value of a text key, or kMissing. Looks at the first 64 entries: a larger dict is a table,
  // not a record.
  PickleId find(PickleId dict, std::string_view key) const;

  std::size_t size() const { return values_.size(); }
  std::size_t entry_count() const { return entries_.size(); }

 private:
  friend class PickleStack;
  struct List {
    std::uint32_t first, last;  // entries
  };
  struct Value {
    PickleType type = PickleType::none;
    std::uint32_t count = 0;  // entries, or bytes of text
    union {
      std::int64_t integer = 0;
      double real;
      const char* text;
      List list;
    };
  };

  std::vector<Value> values_;
  std::vector<Entry> entries_;
  std::deque<std::string> decoded_;  // text that does not stand in the input as it is
};

// Where reading had to end before the pickle did, and why.
struct PickleDamage {
  std::size_t byte = 0;
  std::string problem;
};

struct Pickle {
  PickleValues values;
  PickleId root = PickleValues::kMissing;
  std::optional<PickleDamage> damage;  // then root holds what had been read by then
};

// Text stays in `bytes`, which must live as long as the values. An error, which names `file`, is
// only what holds no value at all. `at` receives the byte reached, now and then; where it returns
// false, the pickle ends there.
enum class PickleObjects : std::uint8_t { refused, named };
Result<Pickle> read_pickle(std::string_view bytes, const std::string& file,
                           const std::function<bool(std::size_t byte)>& at = {},
                           PickleObjects objects = PickleObjects::refused);

}  // namespace foreshard::traces

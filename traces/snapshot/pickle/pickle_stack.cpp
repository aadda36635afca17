#include "traces/snapshot/pickle/pickle_stack.hpp"

#include <algorithm>
#include <cstdint>
#include <utility>

namespace foreshard::traces {
namespace {

// Values take 16 bytes and entries 12, where a hostile file needs one byte for either. A real snapshot
// has some 5 values and 8 entries for an event of 60 bytes or more: room for those, whatever the file's
// size, beside what a small file may have in any case. Both are numbered in 32 bits.
constexpr std::size_t kValuesOfAnySize = std::size_t{1} << 24, kBytesPerValue = 8;
constexpr std::size_t kEntriesOfAnySize = std::size_t{1} << 25, kBytesPerEntry = 4;
constexpr std::size_t kMaxNumbered = UINT32_MAX - 1;
constexpr std::size_t kMaxMarks = std::size_t{1} << 20;
constexpr std::size_t kMaxScatteredMemos = std::size_t{1} << 20;

}  // namespace

PickleStack::PickleStack(std::size_t bytes)
    : most_values_(std::min(kValuesOfAnySize + bytes / kBytesPerValue, kMaxNumbered)),
      most_entries_(std::min(kEntriesOfAnySize + bytes / kBytesPerEntry, kMaxNumbered)) {}

void PickleStack::wrong(std::string problem) {
  if (problem_.empty()) problem_ = std::move(problem);
}

void PickleStack::add(const Value& value) {
  auto& values = values_.values_;
  if (values.size() == most_values_) {
    return wrong("more than " + std::to_string(most_values_) +
                 " values; expected fewer in a file of this size");
  }
  values.push_back(value);
  stack_.push_back(static_cast<PickleId>(values.size() - 1));
}

void PickleStack::push(PickleType type, std::int64_t integer) {
  Value value;
  value.type = type;
  value.integer = integer;
  add(value);
}
void PickleStack::push_real(double real) {
  Value value;
  value.type = PickleType::real;
  value.real = real;
  add(value);
}
void PickleStack::push_text(std::string_view text) {
  Value value;
  value.type = PickleType::text;
  value.text = text.data();
  value.count = static_cast<std::uint32_t>(text.size());
  add(value);
}

bool PickleStack::has(std::size_t n) {
  const std::size_t floor = marks_.empty() ? 0 : marks_.back();
  if (stack_.size() >= floor + n) return true;
  wrong("a value is missing before this; expected a complete pickle");
  return false;
}

std::optional<std::size_t> PickleStack::pop_mark() {
  if (marks_.empty()) {
    wrong("the end of a list or dict without its start; expected a complete pickle");
    return std::nullopt;
  }
  popped_mark_ = marks_.back();
  marks_.pop_back();
  return popped_mark_;
}

void PickleStack::append(PickleId container, PickleId key, PickleId value) {
  auto& entries = values_.entries_;
  if (entries.size() == most_entries_) {
    return wrong("more than " + std::to_string(most_entries_) +
                 " entries; expected fewer in a file of this size");
  }
  Value& into = values_.values_[container];
  const auto entry = static_cast<std::uint32_t>(entries.size());
  entries.push_back({key, value, PickleValues::kMissing});
  if (into.count++ == 0) {
    into.list.first = entry;
  } else {
    entries[into.list.last].next = entry;
  }
  into.list.last = entry;
}

// Moves the stack's values from `first` on into a container.
void PickleStack::fill(PickleId container, std::size_t first) {
  const bool is_dict = values_.is(container, PickleType::dict);
  if (is_dict && (stack_.size() - first) % 2 != 0) {
    return wrong("a key without a value; expected pairs");
  }
  for (std::size_t i = first; i < stack_.size() && problem_.empty(); i += is_dict ? 2 : 1) {
    if (is_dict) {
      append(container, stack_[i], stack_[i + 1]);
    } else {
      append(container, PickleValues::kMissing, stack_[i]);
    }
  }
  stack_.resize(first);
}

void PickleStack::fill_below(std::size_t first, PickleType type) {
  const std::size_t floor = marks_.empty() ? 0 : marks_.back();
  if (first <= floor || !values_.is(stack_[first - 1], type)) {
    return wrong("values without a container; expected a list or a dict below them");
  }
  fill(stack_[first - 1], first);
}

void PickleStack::make(PickleType type, std::size_t first) {
  push(type);
  if (!problem_.empty()) return;
  const PickleId made = stack_.back();
  stack_.pop_back();
  fill(made, first);
  stack_.push_back(made);
}

void PickleStack::memoize(std::uint64_t index) {
  if (!has(1)) return;
  if (index < memo_.size()) {
    memo_[index] = stack_.back();
  } else if (index == memo_.size() && memo_.size() < most_entries_) {
    memo_.push_back(stack_.back());
  } else if (index > memo_.size() && scattered_memo_.size() < kMaxScatteredMemos) {
    scattered_memo_[index] = stack_.back();
  } else {
    wrong("too many memo entries, or memo numbers out of order; expected them numbered in order");
  }
}

void PickleStack::recall(std::uint64_t index) {
  if (index < memo_.size()) return stack_.push_back(memo_[index]);
  const auto found = scattered_memo_.find(index);
  if (found == scattered_memo_.end()) {
    return wrong("value number " + std::to_string(index) +
                 " is used before it was defined; expected an earlier definition");
  }
  stack_.push_back(found->second);
}

void PickleStack::gather_what_is_there() {
  if (!problem_.empty() && popped_mark_) marks_.push_back(*popped_mark_);
  problem_.clear();
  const auto is = [&](std::size_t i, PickleType type) { return values_.is(stack_[i], type); };
  while (problem_.empty() && !marks_.empty()) {
    const std::size_t first = marks_.back();
    marks_.pop_back();
    if (first == 0 || !(is(first - 1, PickleType::list) || is(first - 1, PickleType::dict))) {
      stack_.resize(first);
      continue;
    }
    const bool is_dict = is(first - 1, PickleType::dict);
    // A list's only entry comes without a mark.
    const std::size_t n = stack_.size() - first;
    if (n >= 2 && is(stack_.size() - 2, PickleType::list) &&
        is(stack_.size() - 1, PickleType::dict)) {
      if (!is_dict || n % 2 == 1) fill(stack_[stack_.size() - 2], stack_.size() - 1);
    }
    if (is_dict && (stack_.size() - first) % 2 == 1) stack_.pop_back();
    fill(stack_[first - 1], first);
  }
}

std::optional<Pickle> PickleStack::take_pickle(std::optional<PickleDamage> damage) {
  if (stack_.empty()) return std::nullopt;
  return Pickle{std::move(values_), stack_.front(), std::move(damage)};
}

void PickleStack::push_decoded(std::string text) {
  values_.decoded_.push_back(std::move(text));
  push_text(values_.decoded_.back());
}

void PickleStack::push_global(std::string_view module, std::string_view name) {
  push_decoded(std::string(module) + " " + std::string(name));
  if (problem_.empty()) values_.values_.back().type = PickleType::global;
}

void PickleStack::pop_global() {
  if (!has(2)) return;
  const PickleId module = stack_[stack_.size() - 2], name = stack_.back();
  if (!values_.is(module, PickleType::text) || !values_.is(name, PickleType::text)) {
    return wrong("the name of a class is no text; expected a module and a name");
  }
  stack_.resize(stack_.size() - 2);
  push_global(values_.text(module), values_.text(name));
}

void PickleStack::check_size() {
  if (stack_.size() > most_entries_ || marks_.size() > kMaxMarks) {
    wrong("too many values on the stack; expected them in lists");
  }
}

}  // namespace foreshard::traces

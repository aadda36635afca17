// The machine behind a pickle's opcodes: values stay on a stack until they are put into containers;
// marks are where the values of a container begin; a memo names values to be used again.
//
// What the opcodes have wrong is remembered as a problem: the first one, with which reading ends.
// Problems are worded for someone who has the file and not the opcodes.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "traces/snapshot/pickle/pickle.hpp"

namespace foreshard::traces {

class PickleStack {
 public:
  // Of a pickle of that many bytes, which bound how many values it may hold.
  explicit PickleStack(std::size_t bytes);

  const std::string& problem() const { return problem_; }
  void wrong(std::string problem);

  void push(PickleType type, std::int64_t integer = 0);
  void push_real(double real);
  void push_text(std::string_view text);  // of the input
  void push_decoded(std::string text);
  void push_global(std::string_view module, std::string_view name);
  void pop_global();  // of the two texts on top
  void duplicate() { stack_.push_back(stack_.back()); }

  std::size_t size() const { return stack_.size(); }
  void drop_to(std::size_t size) { stack_.resize(size); }
  // A problem where more waits than any real file needs.
  void check_size();

  bool is_one_value() const { return stack_.size() == 1 && marks_.empty(); }
  // Whether the stack holds n values above the innermost mark; a problem otherwise.
  bool has(std::size_t n);
  void mark() { marks_.push_back(stack_.size()); }
  // Where the values of the innermost mark begin; the mark is gone afterwards, unless the opcode
  // turns out to have a problem.
  std::optional<std::size_t> pop_mark();
  void begin_opcode() { popped_mark_.reset(); }

  // Puts the values from `first` on into a new container, or into the one below them.
  void make(PickleType type, std::size_t first);
  void fill_below(std::size_t first, PickleType type);

  void memoize(std::uint64_t index);
  void memoize_next() { memoize(memo_.size()); }
  void recall(std::uint64_t index);

  // Reading ends early: what stands on the stack goes into the containers it was meant for.
  void gather_what_is_there();
  // The outermost value. Nothing where there is none.
  std::optional<Pickle> take_pickle(std::optional<PickleDamage> damage);

 private:
  using Value = PickleValues::Value;

  void add(const Value& value);
  void append(PickleId container, PickleId key, PickleId value);
  void fill(PickleId container, std::size_t first);

  std::size_t most_values_, most_entries_;
  PickleValues values_;
  std::string problem_;
  std::vector<PickleId> stack_;
  std::vector<std::size_t> marks_;
  std::optional<std::size_t> popped_mark_;  // by the present opcode
  std::vector<PickleId> memo_;
  std::unordered_map<std::uint64_t, PickleId> scattered_memo_;
};

}  // namespace foreshard::traces

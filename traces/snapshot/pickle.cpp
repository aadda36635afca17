#include "traces/snapshot/pickle.hpp"

#include <bit>
#include <charconv>
#include <cstdio>
#include <optional>
#include <unordered_map>

#include "traces/snapshot/pickle_input.hpp"

namespace foreshard::traces {

PickleValues::Entries PickleValues::entries(PickleId id) const {
  const bool has_entries =
      id != kMissing && values_[id].type >= PickleType::list && values_[id].count > 0;
  return {entries_, has_entries ? values_[id].list.first : kMissing};
}

PickleId PickleValues::find(PickleId dict, std::string_view key) const {
  if (!is(dict, PickleType::dict)) return kMissing;
  int looked_at = 0;
  for (const Entry& entry : entries(dict)) {
    if (is(entry.key, PickleType::text) && text(entry.key) == key) return entry.value;
    if (++looked_at == 64) break;
  }
  return kMissing;
}

// Bounds that keep a hostile file below a gigabyte: 16 bytes a value, 12 an entry. A real snapshot
// has some 5 values and 8 entries an event.
constexpr std::size_t kMostValues = std::size_t{1} << 24;
constexpr std::size_t kMostEntries = std::size_t{1} << 25;
constexpr std::size_t kMostMarks = std::size_t{1} << 20;
constexpr std::size_t kMostScatteredMemos = std::size_t{1} << 20;

class PickleReader {
 public:
  PickleReader(std::string_view bytes, const std::string& file) : input_(bytes), file_(file) {}

  Result<Pickle> run() {
    while (problem_.empty() && !stopped_ && !input_.ended_early()) {
      opcode_at_ = input_.position();
      if (const auto opcode = input_.number(1)) step(static_cast<unsigned char>(*opcode));
      if (stack_.size() > kMostEntries || marks_.size() > kMostMarks) {
        wrong("too many values wait on the stack; expected them to be put into lists");
      }
    }
    if (!problem_.empty()) return fail(file_, "byte " + std::to_string(opcode_at_), problem_);
    const bool ends_early = input_.ended_early();
    if (ends_early) gather_what_is_there();
    if (stack_.empty()) {
      return fail(file_, "byte " + std::to_string(input_.position()),
                  "the pickle ends before its first value; expected a whole file");
    }
    pickle_.root = ends_early ? stack_.front() : stack_.back();
    pickle_.complete = !ends_early;
    return std::move(pickle_);
  }

 private:
  using Value = PickleValues::Value;

  void wrong(std::string problem) {
    if (problem_.empty()) problem_ = std::move(problem);
  }

  PickleId add(const Value& value) {
    auto& values = pickle_.values.values_;
    if (values.size() == kMostValues) {
      wrong("more than 16 million values; expected a snapshot of some 3 million events at most");
      return 0;
    }
    values.push_back(value);
    return static_cast<PickleId>(values.size() - 1);
  }
  void push(PickleType type, std::int64_t integer = 0) {
    Value value;
    value.type = type;
    value.integer = integer;
    stack_.push_back(add(value));
  }
  void push_real(double real) {
    Value value;
    value.type = PickleType::real;
    value.real = real;
    stack_.push_back(add(value));
  }
  void push_text(std::string_view text) {
    Value value;
    value.type = PickleType::text;
    value.text = text.data();
    value.count = static_cast<std::uint32_t>(text.size());
    stack_.push_back(add(value));
  }
  void push_text_of(std::size_t length_bytes) {
    const auto length = input_.number(length_bytes);
    if (!length) return;
    if (const auto text = input_.take(*length)) push_text(*text);
  }
  void push_escaped(std::string_view text) {
    if (text.find('\\') == std::string_view::npos) return push_text(text);
    pickle_.values.decoded_.push_back(unescape_pickle_text(text));
    push_text(pickle_.values.decoded_.back());
  }

  // Little-endian two's complement of any length.
  void push_long(std::size_t length_bytes) {
    const auto length = input_.number(length_bytes);
    if (!length) return;
    const auto digits = input_.take(*length);
    if (!digits) return;
    if (digits->size() > 8) return push(PickleType::large_integer);
    std::uint64_t n = 0;
    for (std::size_t i = digits->size(); i-- > 0;) {
      n = n << 8 | static_cast<unsigned char>((*digits)[i]);
    }
    const bool is_negative = !digits->empty() && (digits->back() & 0x80) != 0;
    if (is_negative && digits->size() < 8) n |= ~std::uint64_t{0} << (8 * digits->size());
    push(PickleType::integer, static_cast<std::int64_t>(n));
  }

  void push_decimal(bool may_be_boolean) {
    auto text = input_.line();
    if (!text) return;
    if (may_be_boolean && (*text == "00" || *text == "01")) {
      return push(PickleType::boolean, (*text)[1] - '0');
    }
    if (!text->empty() && text->back() == 'L') text->remove_suffix(1);
    std::int64_t n = 0;
    const auto read = std::from_chars(text->data(), text->data() + text->size(), n);
    if (read.ec == std::errc::result_out_of_range) return push(PickleType::large_integer);
    if (read.ec != std::errc() || read.ptr != text->data() + text->size()) {
      return wrong("a line that is no number; expected a whole number");
    }
    push(PickleType::integer, n);
  }

  void push_decimal_real() {
    const auto text = input_.line();
    if (!text) return;
    double n = 0;
    const auto read = std::from_chars(text->data(), text->data() + text->size(), n);
    if (read.ptr != text->data() + text->size()) {
      return wrong("a line that is no number; expected a real number");
    }
    push_real(n);
  }

  void push_quoted() {
    const auto text = input_.line();
    if (!text) return;
    const bool is_quoted = text->size() >= 2 && text->front() == text->back() &&
                           (text->front() == '\'' || text->front() == '"');
    if (!is_quoted) return wrong("text without quotes; expected a string of protocol 0");
    push_escaped(text->substr(1, text->size() - 2));
  }

  // Whether the stack holds n values above the innermost mark.
  bool has(std::size_t n) {
    const std::size_t floor = marks_.empty() ? 0 : marks_.back();
    if (stack_.size() >= floor + n) return true;
    wrong("a value is missing on the stack; expected a whole pickle");
    return false;
  }

  // Where the values of the innermost mark begin; the mark is gone afterwards.
  std::optional<std::size_t> pop_mark() {
    if (marks_.empty()) {
      wrong("a mark is missing on the stack; expected a whole pickle");
      return std::nullopt;
    }
    const std::size_t first = marks_.back();
    marks_.pop_back();
    return first;
  }

  void append(PickleId container, PickleId key, PickleId value) {
    auto& entries = pickle_.values.entries_;
    if (entries.size() == kMostEntries) {
      return wrong("more than 33 million entries; expected a snapshot of some 4 million events");
    }
    Value& into = pickle_.values.values_[container];
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
  void fill(PickleId container, std::size_t first) {
    const bool is_dict = pickle_.values.is(container, PickleType::dict);
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

  void fill_below(std::size_t first, PickleType type) {
    const std::size_t floor = marks_.empty() ? 0 : marks_.back();
    if (first <= floor || !pickle_.values.is(stack_[first - 1], type)) {
      return wrong("values for a container that is not there; expected a list or a dict below");
    }
    fill(stack_[first - 1], first);
  }

  void make(PickleType type, std::size_t first) {
    push(type);
    const PickleId made = stack_.back();
    stack_.pop_back();
    fill(made, first);
    stack_.push_back(made);
  }

  void memoize(std::uint64_t index) {
    if (!has(1)) return;
    if (index < memo_.size()) {
      memo_[index] = stack_.back();
    } else if (index == memo_.size()) {
      memo_.push_back(stack_.back());
    } else if (scattered_memo_.size() < kMostScatteredMemos) {
      scattered_memo_[index] = stack_.back();
    } else {
      wrong("memo numbers without order; expected them in sequence");
    }
  }
  void recall(std::uint64_t index) {
    if (index < memo_.size()) return stack_.push_back(memo_[index]);
    const auto found = scattered_memo_.find(index);
    if (found == scattered_memo_.end()) {
      return wrong("memo number " + std::to_string(index) +
                   " was never set; expected one that was");
    }
    stack_.push_back(found->second);
  }
  std::optional<std::uint64_t> line_number() {
    const auto text = input_.line();
    if (!text) return std::nullopt;
    std::uint64_t n = 0;
    const auto read = std::from_chars(text->data(), text->data() + text->size(), n);
    if (read.ec == std::errc() && read.ptr == text->data() + text->size()) return n;
    wrong("a line that is no memo number; expected a whole number");
    return std::nullopt;
  }

  void step(unsigned char opcode) {
    switch (opcode) {
      case 0x80: input_.take(1); break;  // PROTO
      case 0x95: input_.take(8); break;  // FRAME
      case '.':
        if (has(1)) stopped_ = true;
        break;
      case '(': marks_.push_back(stack_.size()); break;
      case '0':
        if (has(1)) stack_.pop_back();
        break;
      case '1':
        if (const auto first = pop_mark()) stack_.resize(*first);
        break;
      case '2':
        if (has(1)) stack_.push_back(stack_.back());
        break;
      case 'p':
        if (const auto n = line_number()) memoize(*n);
        break;
      case 'q':
        if (const auto n = input_.number(1)) memoize(*n);
        break;
      case 'r':
        if (const auto n = input_.number(4)) memoize(*n);
        break;
      case 0x94: memoize(memo_.size()); break;
      case 'g':
        if (const auto n = line_number()) recall(*n);
        break;
      case 'h':
        if (const auto n = input_.number(1)) recall(*n);
        break;
      case 'j':
        if (const auto n = input_.number(4)) recall(*n);
        break;
      default:
        if (!push_scalar(opcode) && !build_container(opcode)) reject(opcode);
    }
  }

  bool push_scalar(unsigned char opcode) {
    switch (opcode) {
      case 'N': push(PickleType::none); break;
      case 0x88: push(PickleType::boolean, 1); break;
      case 0x89: push(PickleType::boolean, 0); break;
      case 'I': push_decimal(true); break;
      case 'L': push_decimal(false); break;
      case 'J':
        if (const auto n = input_.number(4)) {
          push(PickleType::integer, static_cast<std::int32_t>(static_cast<std::uint32_t>(*n)));
        }
        break;
      case 'K':
        if (const auto n = input_.number(1))
          push(PickleType::integer, static_cast<std::int64_t>(*n));
        break;
      case 'M':
        if (const auto n = input_.number(2))
          push(PickleType::integer, static_cast<std::int64_t>(*n));
        break;
      case 0x8a: push_long(1); break;
      case 0x8b: push_long(4); break;
      case 'F': push_decimal_real(); break;
      case 'G':
        if (const auto n = input_.number(8))
          push_real(std::bit_cast<double>(__builtin_bswap64(*n)));
        break;
      case 'S': push_quoted(); break;
      case 'V':
        if (const auto text = input_.line()) push_escaped(*text);
        break;
      case 'U':
      case 'C':
      case 0x8c: push_text_of(1); break;
      case 'T':
      case 'X':
      case 'B': push_text_of(4); break;
      case 0x8d:
      case 0x8e: push_text_of(8); break;
      default: return false;
    }
    return true;
  }

  bool build_container(unsigned char opcode) {
    switch (opcode) {
      case ']': push(PickleType::list); break;
      case '}': push(PickleType::dict); break;
      case ')': push(PickleType::tuple); break;
      case 'l':
        if (const auto first = pop_mark()) make(PickleType::list, *first);
        break;
      case 'd':
        if (const auto first = pop_mark()) make(PickleType::dict, *first);
        break;
      case 't':
        if (const auto first = pop_mark()) make(PickleType::tuple, *first);
        break;
      case 0x85:
      case 0x86:
      case 0x87:
        if (has(opcode - 0x84u)) make(PickleType::tuple, stack_.size() - (opcode - 0x84u));
        break;
      case 'a':
        if (has(2)) fill_below(stack_.size() - 1, PickleType::list);
        break;
      case 's':
        if (has(3)) fill_below(stack_.size() - 2, PickleType::dict);
        break;
      case 'e':
        if (const auto first = pop_mark()) fill_below(*first, PickleType::list);
        break;
      case 'u':
        if (const auto first = pop_mark()) fill_below(*first, PickleType::dict);
        break;
      default: return false;
    }
    return true;
  }

  void reject(unsigned char opcode) {
    char code[8];
    std::snprintf(code, sizeof code, "0x%02x", opcode);
    if (const char* name = forbidden_opcode(opcode)) {
      return wrong(std::string("opcode ") + name + " (" + code +
                   ") asks to run or import something; expected plain data");
    }
    wrong(std::string("opcode ") + code + " is none that is known; expected a pickle");
  }

  // The input ended early: what stands on the stack goes into the containers it was meant for.
  void gather_what_is_there() {
    const auto is = [&](std::size_t i, PickleType type) {
      return pickle_.values.is(stack_[i], type);
    };
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

  PickleInput input_;
  const std::string& file_;
  std::size_t opcode_at_ = 0;
  bool stopped_ = false;
  std::string problem_;
  std::vector<PickleId> stack_;
  std::vector<std::size_t> marks_;
  std::vector<PickleId> memo_;
  std::unordered_map<std::uint64_t, PickleId> scattered_memo_;
  Pickle pickle_;
};

Result<Pickle> read_pickle(std::string_view bytes, const std::string& file) {
  return PickleReader(bytes, file).run();
}

}  // namespace foreshard::traces

#include "traces/snapshot/pickle/pickle.hpp"

#include <bit>
#include <charconv>
#include <optional>

#include "models/base/figures.hpp"
#include "traces/snapshot/pickle/pickle_input.hpp"
#include "traces/snapshot/pickle/pickle_stack.hpp"

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

namespace {

class PickleReader : PickleStack {
 public:
  PickleReader(std::string_view bytes, const std::string& file,
               const std::function<bool(std::size_t byte)>& at, PickleObjects objects)
      : PickleStack(bytes.size()), input_(bytes), file_(file), at_(at), objects_(objects) {}

  Result<Pickle> run() {
    while (problem().empty() && !stopped_ && !input_.ended_early()) {
      opcode_at_ = input_.position();
      if (at_ && opcode_at_ >= told_at_ + kBytesBetween && !at_(told_at_ = opcode_at_)) {
        wrong("reading was stopped");
        break;
      }
      begin_opcode();
      if (const auto opcode = input_.number(1)) step(static_cast<unsigned char>(*opcode));
      check_size();
    }
    if (input_.ended_early()) wrong("the pickle is truncated; expected a complete file");
    std::optional<PickleDamage> damage;
    if (!problem().empty()) damage = {opcode_at_, problem()};
    if (damage) gather_what_is_there();
    if (auto pickle = take_pickle(damage)) return std::move(*pickle);
    return fail(file_, "byte " + std::to_string(damage->byte), damage->problem);
  }

 private:
  void push_text_of(std::size_t length_bytes) {
    const auto length = input_.number(length_bytes);
    if (!length) return;
    if (const auto text = input_.take(*length)) push_text(*text);
  }
  void push_escaped(std::string_view text) {
    if (text.find('\\') == std::string_view::npos) return push_text(text);
    push_decoded(unescape_pickle_text(text));
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
      return wrong("a line that is not a number; expected a whole number");
    }
    push(PickleType::integer, n);
  }

  void push_decimal_real() {
    const auto text = input_.line();
    if (!text) return;
    double n = 0;
    const auto read = std::from_chars(text->data(), text->data() + text->size(), n);
    if (read.ptr != text->data() + text->size()) {
      return wrong("a line that is not a number; expected a real number");
    }
    push_real(n);
  }

  void push_quoted() {
    const auto text = input_.line();
    if (!text) return;
    const bool is_quoted = text->size() >= 2 && text->front() == text->back() &&
                           (text->front() == '\'' || text->front() == '"');
    if (!is_quoted) return wrong("unquoted text; expected a string of protocol 0");
    push_escaped(text->substr(1, text->size() - 2));
  }

  std::optional<std::uint64_t> line_number() {
    const auto text = input_.line();
    if (!text) return std::nullopt;
    std::uint64_t n = 0;
    const auto read = std::from_chars(text->data(), text->data() + text->size(), n);
    if (read.ec == std::errc() && read.ptr == text->data() + text->size()) return n;
    wrong("a line that is not a memo number; expected a whole number");
    return std::nullopt;
  }

  void step(unsigned char opcode) {
    switch (opcode) {
      case 0x80: input_.take(1); break;  // PROTO
      case 0x95: input_.take(8); break;  // FRAME
      case '.':
        stopped_ = is_one_value();
        if (!stopped_) wrong("the pickle stops within a list or a dict; expected its end first");
        break;
      case '(': mark(); break;
      case '0':
        if (has(1)) drop_to(size() - 1);
        break;
      case '1':
        if (const auto first = pop_mark()) drop_to(*first);
        break;
      case '2':
        if (has(1)) duplicate();
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
      case 0x94: memoize_next(); break;
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
        if (push_scalar(opcode) || build_container(opcode)) break;
        if (objects_ == PickleObjects::refused || !build_object(opcode)) reject(opcode);
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
        if (has(opcode - 0x84u)) make(PickleType::tuple, size() - (opcode - 0x84u));
        break;
      case 'a':
        if (has(2)) fill_below(size() - 1, PickleType::list);
        break;
      case 's':
        if (has(3)) fill_below(size() - 2, PickleType::dict);
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

  bool build_object(unsigned char opcode) {
    switch (opcode) {
      case 'c': {
        const auto module = input_.line();
        const auto name = input_.line();
        if (module && name) push_global(*module, *name);
        break;
      }
      case 0x93: pop_global(); break;  // STACK_GLOBAL
      case 'R':
      case 0x81:  // NEWOBJ
        if (has(2)) make(PickleType::object, size() - 2);
        break;
      case 'b':
        if (has(2)) fill_below(size() - 1, PickleType::object);
        break;
      case 'Q':
        if (has(1)) make(PickleType::object, size() - 1);
        break;
      default: return false;
    }
    return true;
  }

  void reject(unsigned char opcode) {
    const std::string code = "0x" + hexadecimal(opcode, 2);
    if (const char* name = forbidden_opcode(opcode)) {
      return wrong(std::string("opcode ") + name + " (" + code +
                   ") runs or imports code; expected plain data");
    }
    wrong("unknown opcode " + code + "; expected a value, a list or a dict");
  }

  PickleInput input_;
  static constexpr std::size_t kBytesBetween = 1 << 20;

  const std::string& file_;
  const std::function<bool(std::size_t byte)>& at_;
  const PickleObjects objects_;
  std::size_t opcode_at_ = 0, told_at_ = 0;
  bool stopped_ = false;
};

}  // namespace

Result<Pickle> read_pickle(std::string_view bytes, const std::string& file,
                           const std::function<bool(std::size_t byte)>& at, PickleObjects objects) {
  return PickleReader(bytes, file, at, objects).run();
}

}  // namespace foreshard::traces

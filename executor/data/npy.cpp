#include "executor/data/npy.hpp"

#include <bit>
#include <cstring>
#include <optional>
#include <set>
#include <string_view>
#include <vector>

namespace foreshard::executor {

namespace {

// Just enough of Python's literals for NumPy's header dict. Every function skips blanks first and
// returns nothing where the text is something else.
class Literal {
 public:
  explicit Literal(std::string_view text) : text_(text) {}

  bool take(char expected) {
    skip_blanks();
    if (text_.empty() || text_.front() != expected) return false;
    text_.remove_prefix(1);
    return true;
  }

  bool at_end() {
    skip_blanks();
    return text_.empty();
  }

  std::optional<std::string> quoted() {
    const char quote = take('\'') ? '\'' : take('"') ? '"' : '\0';
    if (quote == '\0') return std::nullopt;
    const auto end = text_.find(quote);
    if (end == std::string_view::npos) return std::nullopt;
    std::string inside(text_.substr(0, end));
    text_.remove_prefix(end + 1);
    return inside;
  }

  std::optional<bool> boolean() {
    skip_blanks();
    for (const std::string_view word : {"True", "False"}) {
      if (text_.starts_with(word)) {
        text_.remove_prefix(word.size());
        return word == "True";
      }
    }
    return std::nullopt;
  }

  std::optional<std::int64_t> natural() {
    skip_blanks();
    std::int64_t value = 0;
    std::size_t digits = 0;
    for (; digits < text_.size() && text_[digits] >= '0' && text_[digits] <= '9'; ++digits) {
      if (__builtin_mul_overflow(value, std::int64_t{10}, &value) ||
          __builtin_add_overflow(value, std::int64_t{text_[digits] - '0'}, &value)) {
        return std::nullopt;
      }
    }
    if (digits == 0) return std::nullopt;
    text_.remove_prefix(digits);
    return value;
  }

  // "()", "(5,)", "(2, 3)"; "(5)" is no tuple.
  std::optional<std::vector<std::int64_t>> tuple() {
    if (!take('(')) return std::nullopt;
    std::vector<std::int64_t> items;
    bool comma = true;
    while (!take(')')) {
      const auto item = comma ? natural() : std::nullopt;
      if (!item) return std::nullopt;
      items.push_back(*item);
      comma = take(',');
    }
    if (items.size() == 1 && !comma) return std::nullopt;
    return items;
  }

 private:
  void skip_blanks() {
    const auto start = text_.find_first_not_of(" \t\n\r");
    text_.remove_prefix(start == std::string_view::npos ? text_.size() : start);
  }

  std::string_view text_;
};

struct Header {
  std::string descr;
  std::vector<std::int64_t> shape;
};

std::optional<Header> parse_header(std::string_view text) {
  Literal literal(text);
  Header header;
  std::set<std::string> keys;
  if (!literal.take('{')) return std::nullopt;
  bool comma = true;
  while (!literal.take('}')) {
    const auto key = comma ? literal.quoted() : std::nullopt;
    if (!key || !keys.insert(*key).second || !literal.take(':')) return std::nullopt;
    if (*key == "descr") {
      const auto value = literal.quoted();
      if (!value) return std::nullopt;
      header.descr = *value;
    } else if (*key == "fortran_order") {  // means nothing in one dimension
      if (!literal.boolean()) return std::nullopt;
    } else if (*key == "shape") {
      const auto value = literal.tuple();
      if (!value) return std::nullopt;
      header.shape = *value;
    } else {
      return std::nullopt;
    }
    comma = literal.take(',');
  }
  if (keys.size() != 3 || !literal.at_end()) return std::nullopt;
  return header;
}

// "<u2" and the like; nothing for what is no integer.
std::optional<NpyArray> array_of(const std::string& descr) {
  constexpr bool little = std::endian::native == std::endian::little;
  if (descr.size() != 3) return std::nullopt;
  const char order = descr[0];
  const char kind = descr[1];
  const int size = descr[2] - '0';
  if (std::strchr("<>=|", order) == nullptr || (kind != 'u' && kind != 'i')) return std::nullopt;
  if (size != 1 && size != 2 && size != 4 && size != 8) return std::nullopt;
  if (order == '|' && size != 1) return std::nullopt;
  NpyArray array;
  array.byte_swapped = size > 1 && order == (little ? '>' : '<');
  constexpr TokenType unsigned_types[] = {TokenType::u8, TokenType::u16, TokenType::u32,
                                          TokenType::u64};
  constexpr TokenType signed_types[] = {TokenType::i8, TokenType::i16, TokenType::i32,
                                        TokenType::i64};
  const auto index = std::countr_zero(static_cast<unsigned>(size));
  array.type = kind == 'u' ? unsigned_types[index] : signed_types[index];
  return array;
}

}  // namespace

Result<NpyArray> parse_npy(std::span<const std::byte> bytes, const std::string& file) {
  constexpr std::string_view kMagic = "\x93NUMPY";
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (text.size() < 10 || !text.starts_with(kMagic)) {
    return fail(file, "", "is not a NumPy file; expected a 1-D .npy of integers");
  }
  const int version = text[6];
  if (version < 1 || version > 3 || text[7] != 0) {
    return fail(file, "version", "is unknown; expected NumPy format 1.0, 2.0 or 3.0");
  }
  const std::size_t length_bytes = version == 1 ? 2 : 4;
  const std::size_t header_start = 8 + length_bytes;
  std::size_t length = 0;
  for (std::size_t i = 0; i < length_bytes && 8 + i < bytes.size(); ++i) {
    length |= std::to_integer<std::size_t>(bytes[8 + i]) << (8 * i);
  }
  if (header_start > bytes.size() || length > bytes.size() - header_start) {
    return fail(file, "header", "is truncated; expected a complete NumPy file");
  }
  const auto header = parse_header(text.substr(header_start, length));
  if (!header) {
    return fail(file, "header",
                "is not a NumPy header; expected descr, fortran_order and shape of an array");
  }
  auto array = array_of(header->descr);
  if (!array) {
    return fail(file, "descr", "is '" + header->descr + "'; expected integers (such as '<u2')");
  }
  if (header->shape.size() != 1) {
    return fail(file, "shape",
                "has " + std::to_string(header->shape.size()) + " dimensions; expected 1");
  }
  array->length = header->shape.front();
  array->data_offset = header_start + length;
  const auto present = static_cast<std::int64_t>(bytes.size() - array->data_offset);
  const auto size = item_size(array->type);
  if (present % size != 0 || array->length != present / size) {
    return fail(file, "shape",
                "(" + std::to_string(array->length) + ",) of '" + header->descr +
                    "' does not fit the " + std::to_string(present) + " bytes of data");
  }
  return *array;
}

}  // namespace foreshard::executor

#include "executor/data/npy.hpp"

#include <algorithm>
#include <bit>
#include <charconv>
#include <optional>
#include <string_view>
#include <vector>

namespace foreshard::executor {

namespace {

struct Header {
  std::string descr;
  std::vector<std::int64_t> shape;
};

// Takes the text's next token away, and the blanks before it; false where it is another one.
bool take(std::string_view& text, std::string_view token) {
  text.remove_prefix(std::min(text.find_first_not_of(" \t\n\r"), text.size()));
  if (!text.starts_with(token)) return false;
  text.remove_prefix(token.size());
  return true;
}

bool take_text(std::string_view& text, std::string& value) {
  if (!take(text, "'")) return false;
  value = text.substr(0, text.find('\''));
  text.remove_prefix(value.size());
  return take(text, "'");
}

// "()", "(5,)", "(2, 3)"; "(5)" is no tuple.
bool take_tuple(std::string_view& text, std::vector<std::int64_t>& items) {
  if (!take(text, "(")) return false;
  bool comma = true;
  while (!take(text, ")")) {
    std::int64_t item = -1;
    const auto end = std::from_chars(text.data(), text.data() + text.size(), item).ptr;
    if (!comma || item < 0) return false;
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    items.push_back(item);
    comma = take(text, ",");
  }
  return comma || items.size() > 1;
}

// A Python dict of exactly descr, fortran_order (which means nothing in one dimension) and shape, in any order.
std::optional<Header> parse_header(std::string copy) {
  std::ranges::replace(copy, '"', '\'');
  std::string_view text = copy;
  Header header;
  int missing = 3;
  auto take_entry = [&, has_descr = false, has_order = false, has_shape = false]() mutable {
    const auto is_next = [&text](const char* key, bool& is_taken) {
      return !is_taken && (is_taken = take(text, key));
    };
    if (is_next("'descr'", has_descr)) return take(text, ":") && take_text(text, header.descr);
    if (is_next("'shape'", has_shape)) return take(text, ":") && take_tuple(text, header.shape);
    return is_next("'fortran_order'", has_order) && take(text, ":") &&
           (take(text, "True") || take(text, "False"));
  };
  if (!take(text, "{")) return std::nullopt;
  while (missing > 0 && take_entry() && (take(text, ",") || missing == 1)) --missing;
  const bool is_whole = missing == 0 && take(text, "}");
  take(text, "");
  return is_whole && text.empty() ? std::optional(std::move(header)) : std::nullopt;
}

// "<u2" and the like; nothing for what is no integer.
std::optional<NpyArray> array_of(const std::string& descr) {
  constexpr std::string_view kSizes = "1248";
  constexpr TokenType kTypes[2][4] = {
      {TokenType::u8, TokenType::u16, TokenType::u32, TokenType::u64},
      {TokenType::i8, TokenType::i16, TokenType::i32, TokenType::i64}};
  if (descr.size() != 3) return std::nullopt;
  const char order = descr[0], kind = descr[1];
  const std::size_t size = kSizes.find(descr[2]);
  const bool is_integer = (kind == 'u' || kind == 'i') && size < kSizes.size();
  const bool is_ordered = order == '<' || order == '>' || order == '=';
  if (!is_integer || (!is_ordered && (order != '|' || size > 0))) return std::nullopt;
  NpyArray array;
  constexpr bool kIsLittle = std::endian::native == std::endian::little;
  array.byte_swapped = size > 0 && order == (kIsLittle ? '>' : '<');
  array.type = kTypes[kind == 'i'][size];
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
  const auto header = parse_header(std::string(text.substr(header_start, length)));
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

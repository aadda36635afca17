#include "executor/data/raw_tokens.hpp"

#include <algorithm>
#include <array>

namespace foreshard::executor {
namespace {

constexpr std::size_t kHeader = 256 * 4;  // bytes

std::int64_t word(std::span<const std::byte> bytes, std::size_t index) {
  std::uint32_t value = 0;
  for (std::size_t i = 4; i-- > 0;) {
    value = value << 8 | std::to_integer<std::uint32_t>(bytes[4 * index + i]);
  }
  return static_cast<std::int32_t>(value);
}

// By the header of llm.c; nothing: there is none.
std::optional<TokenType> type_in_header(std::span<const std::byte> bytes) {
  if (bytes.size() < kHeader) return std::nullopt;
  const std::array head = {word(bytes, 0), word(bytes, 1)};
  if (head == std::array<std::int64_t, 2>{20240520, 1}) return TokenType::u16;
  if (head == std::array<std::int64_t, 2>{20240801, 7}) return TokenType::u32;
  return std::nullopt;
}

// Whether the upper halves of what would be uint32 are all 0, and their lower ones are not.
bool looks_like_u32(std::span<const std::byte> bytes) {
  constexpr std::size_t kFewest = 16 * 4, kMost = 4096 * 4;
  if (bytes.size() % 4 != 0 || bytes.size() < kFewest) return false;
  const auto looked_at = bytes.first(std::min(bytes.size(), kMost));
  bool is_zero = true;
  for (std::size_t i = 0; i < looked_at.size(); i += 4) {
    if (looked_at[i + 2] != std::byte{0} || looked_at[i + 3] != std::byte{0}) return false;
    is_zero = is_zero && looked_at[i] == std::byte{0} && looked_at[i + 1] == std::byte{0};
  }
  return !is_zero;
}

Result<RawTokens> behind_header(std::span<const std::byte> bytes, const std::string& file,
                                TokenType type, std::optional<TokenType> asked) {
  if (asked.value_or(type) != type) {
    return fail(file, "--data-type",
                "is " + std::string(name(*asked)) + ", but the file's header says " +
                    std::string(name(type)) + "; expected the header's");
  }
  const std::int64_t length = word(bytes, 2);
  const auto present = static_cast<std::int64_t>(bytes.size() - kHeader) / item_size(type);
  if (length < 0 || length > present) {
    return fail(file, "header",
                "says " + std::to_string(length) + " tokens, but " + std::to_string(present) +
                    " follow; expected a whole file");
  }
  return RawTokens{type, length, kHeader};
}

}  // namespace

Result<RawTokens> parse_raw_tokens(std::span<const std::byte> bytes, const std::string& file,
                                   std::int64_t vocabulary, std::optional<TokenType> asked) {
  if (const auto type = type_in_header(bytes)) return behind_header(bytes, file, *type, asked);
  const TokenType type = asked.value_or(vocabulary > 65536 ? TokenType::u32 : TokenType::u16);
  const std::int64_t size = item_size(type), present = std::ssize(bytes);
  if (present % size != 0) {
    return fail(file, "",
                "has " + std::to_string(present) + " bytes; expected a multiple of " +
                    std::to_string(size) +
                    (asked ? " for " + std::string(name(type))
                           : " for a vocabulary of " + std::to_string(vocabulary)));
  }
  if (!asked && type == TokenType::u16 && looks_like_u32(bytes)) {
    return fail(file, "",
                "every other uint16 is 0, as in a file of uint32; expected --data-type uint32, or "
                "uint16 if these are tokens");
  }
  return RawTokens{type, present / size, 0};
}

}  // namespace foreshard::executor

// What a .bin file of tokens holds: little-endian uint16 or uint32 and nothing else, or with the header of
// llm.c (dev/data/data_common.py there): 256 int32, of which the first three are a magic number, a version and
// how many tokens follow, 20240520 and 1 for uint16, 20240801 and 7 for uint32.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "executor/data/tokens.hpp"
#include "models/base/error.hpp"

namespace foreshard::executor {

struct RawTokens {
  TokenType type = TokenType::u16;
  std::int64_t length = 0;
  std::size_t data_offset = 0;
};

// A whole file's bytes. Without a header the type is what is asked for, or else uint16, or uint32 where the
// vocabulary exceeds 65536. An error where uint16 would be every other time 0, as they are in a file of uint32, and
// nothing is asked for; and where the file holds less than its header says.
Result<RawTokens> parse_raw_tokens(std::span<const std::byte> bytes, const std::string& file,
                                   std::int64_t vocabulary, std::optional<TokenType> asked);

}  // namespace foreshard::executor

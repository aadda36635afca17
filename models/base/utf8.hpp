// Untrusted text: names in recordings, keys of files, paths. It may be truncated, very long, not
// UTF-8, or contain terminal control sequences. Text that is displayed, or written where UTF-8 is
// required, is cleaned here.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace foreshard {

// Stands for what cannot be shown: U+FFFD.
constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

// Bytes of the well-formed UTF-8 sequence (RFC 3629) that begins the text, 0 where there is none.
// The text is not empty.
std::size_t utf8_sequence(std::string_view text);

bool is_utf8(std::string_view text);

// Whether ends of lines, and tabs, may stay.
enum class Lines { kept, replaced };

// UTF-8 without control characters (C0, DEL, C1), each of which, as each byte that is no UTF-8, has
// become U+FFFD.
std::string printable(std::string_view text, Lines lines = Lines::replaced);

// The text where it has at most `most` characters; else its beginning, "…", and the last
// `kept_at_end` of them. Cuts between characters.
std::string shortened(std::string_view text, std::size_t most, std::size_t kept_at_end = 0);

// How messages repeat a file's text: printable, at most 64 characters.
std::string excerpt(std::string_view text);

}  // namespace foreshard

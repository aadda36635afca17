#include "traces/kineto/foreign_file.hpp"

#include <algorithm>
#include <cstddef>

namespace foreshard::traces::kineto {

std::string looks_like(std::string_view text) {
  const auto begins = [&](std::string_view magic) { return text.starts_with(magic); };
  if (text.empty()) return "is empty";
  if (begins("SQLite format 3")) return "is an SQLite database (Nsight Systems' export?)";
  if (text[0] == '\x80' && text.size() > 1 && text[1] >= 2 && text[1] <= 5) {
    return "is a pickle (a memory snapshot?)";
  }
  if (begins("PK\x03\x04")) return "is a zip archive";
  if (begins("\x7f"
             "ELF")) {
    return "is a program";
  }
  const bool is_text =
      std::none_of(text.begin(), text.begin() + std::min<std::ptrdiff_t>(64, std::ssize(text)),
                   [](char c) { return static_cast<unsigned char>(c) < 9; });
  return is_text ? "is text that is no JSON" : "is binary data of an unknown kind";
}

}  // namespace foreshard::traces::kineto

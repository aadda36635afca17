#include "traces/input/sniff_file_type.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <filesystem>
#include <system_error>

#include "traces/input/byte_source.hpp"

namespace foreshard::traces {
namespace {

constexpr std::size_t kLooked = 4096;

struct Magic {
  std::string_view bytes;
  const char* what;
};
constexpr std::array<Magic, 8> kMagics{
    {{"SQLite format 3", "is an SQLite database"},
     {"PK\x03\x04", "is a zip archive"},
     {"\x89PNG", "is a PNG image"},
     {"\x93NUMPY", "is a NumPy array"},
     {"%PDF", "is a PDF document"},
     {"\xff\xd8\xff", "is a JPEG image"},
     {"\x7f"
      "ELF",
      "is a program"},
     {"{\"foreshard\":", "is JSON written by foreshard export"}}};

// JSON by a key that stands in its beginning.
constexpr std::array<Magic, 8> kKeys{
    {{"\"traceEvents\"", "is JSON from PyTorch's profiler or another Chrome trace"},
     {"\"schemaVersion\"", "is JSON from PyTorch's profiler"},
     {"|execution_trace|", "is a PyTorch execution trace, which has operators but no times"},
     {"\"foreshard-costs\"", "is JSON written by foreshard fit"},
     {"\"initial_segments\"", "is an allocation history (JSON lines)"},
     {"\"hidden_size\"", "is a model config (JSON)"},
     {"\"settings\"", "is an allocation history (JSON lines)"},
     {"\"streams\"", "is an allocation history (JSON lines)"}}};

bool is_safetensors(std::string_view text) {
  constexpr std::size_t kLengthBytes = 8;  // little-endian, the last ones of any real header zero
  return text.size() > kLengthBytes && text[kLengthBytes] == '{' && text[6] == '\0' &&
         text[7] == '\0';
}

}  // namespace

bool begins_as_json(std::string_view text) {
  for (;;) {
    text.remove_prefix(std::min(text.find_first_not_of(" \t\r\n"), text.size()));
    if (text.empty() || text[0] != '[') break;
    text.remove_prefix(1);
    text.remove_prefix(std::min(text.find_first_not_of(" \t\r\n"), text.size()));
    if (text.empty() || std::string_view("]\"-0123456789").find(text[0]) != text.npos) return true;
    for (const char* word : {"true", "false", "null"}) {
      if (text.starts_with(word)) return true;
    }
  }
  return text.starts_with('{');
}

std::string sniff_content(std::string_view text) {
  text = text.substr(0, kLooked);
  if (text.empty()) return "is empty";
  for (const Magic& magic : kMagics) {
    if (text.starts_with(magic.bytes)) return magic.what;
  }
  if (text[0] == '\x80' && text.size() > 1 && text[1] >= 2 && text[1] <= 5) {
    return "is a pickle, perhaps a memory snapshot";
  }
  if (is_safetensors(text)) return "is a safetensors file";
  const bool is_text =
      std::none_of(text.begin(), text.begin() + std::min<std::ptrdiff_t>(64, std::ssize(text)),
                   [](char c) { return static_cast<unsigned char>(c) < 9; });
  if (!is_text) return "is binary data of an unknown kind";
  if (!begins_as_json(text)) return "is text, but not JSON";
  for (const Magic& key : kKeys) {
    if (text.find(key.bytes) != std::string_view::npos) return key.what;
  }
  return "is JSON";
}

std::string sniff_file(const std::string& path) {
  const auto first = first_bytes(path, kLooked, "");
  if (!first) return "cannot be read";
  std::error_code error;
  const bool is_lost = first->empty() && std::filesystem::file_size(path, error) > 0 && !error;
  return is_lost ? "is gzip that cannot be inflated" : sniff_content(*first);
}

}  // namespace foreshard::traces

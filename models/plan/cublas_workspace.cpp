#include "models/plan/cublas_workspace.hpp"

#include <charconv>

namespace foreshard {
namespace {

constexpr std::int64_t kMostOfEither = 1 << 16;  // KiB of a buffer, and buffers

// Takes ":NUMBER" off the text's begin.
std::optional<std::int64_t> take_number(std::string_view& text) {
  if (!text.starts_with(':')) return std::nullopt;
  std::int64_t number = 0;
  const char* const end = text.data() + text.size();
  const auto read = std::from_chars(text.data() + 1, end, number);
  if (read.ec != std::errc() || number < 0 || number > kMostOfEither) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(read.ptr - text.data()));
  return number;
}

}  // namespace

std::optional<std::int64_t> cublas_workspace_bytes(std::string_view config) {
  std::int64_t bytes = 0;
  while (!config.empty()) {
    const auto kibibytes = take_number(config);
    const auto count = kibibytes ? take_number(config) : std::nullopt;
    if (!count) return std::nullopt;
    bytes += 1024 * *kibibytes * *count;
  }
  return bytes;
}

}  // namespace foreshard

#include "models/plan/pytorch_version.hpp"

#include <algorithm>
#include <charconv>

namespace foreshard {
namespace {

constexpr std::ptrdiff_t kMaxDigits = 4;

// Takes an integer off the front of the text.
std::optional<int> taken_integer(std::string_view& text) {
  int value = 0;
  const char* const begin = text.data();
  const auto [end, error] = std::from_chars(begin, begin + text.size(), value);
  if (error != std::errc() || value < 0 || end - begin > kMaxDigits) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - begin));
  return value;
}

}  // namespace

PyTorchVersion nearest_described(PyTorchVersion version) {
  return std::clamp(version, kOldestPyTorch, kNewestPyTorch);
}

std::optional<PyTorchVersion> parse_pytorch_version(std::string_view text) {
  const std::optional<int> major = taken_integer(text);
  if (!major || !text.starts_with('.')) return std::nullopt;
  text.remove_prefix(1);
  const std::optional<int> minor = taken_integer(text);
  if (!minor) return std::nullopt;
  return PyTorchVersion{*major, *minor};
}

std::string to_string(PyTorchVersion version) {
  return std::to_string(version.major) + '.' + std::to_string(version.minor);
}

}  // namespace foreshard

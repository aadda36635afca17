// Versions of PyTorch, as far as they are told apart: "2.11", "2.11.0" and "2.11.0+cu130" are one.
#pragma once

#include <compare>
#include <optional>
#include <string>
#include <string_view>

namespace foreshard {

struct PyTorchVersion {
  int major = 0;
  int minor = 0;
  auto operator<=>(const PyTorchVersion&) const = default;
};

// The versions whose behaviour is described.
constexpr PyTorchVersion kOldestPyTorch{2, 6};
constexpr PyTorchVersion kNewestPyTorch{2, 15};

// The version itself where it is described, otherwise the oldest or the newest one.
PyTorchVersion nearest_described(PyTorchVersion version);

// Reads "MAJOR.MINOR", whatever follows (patch release, build, commit); nothing for other text.
std::optional<PyTorchVersion> parse_pytorch_version(std::string_view text);

std::string to_string(PyTorchVersion version);  // "2.11"

}  // namespace foreshard

#include "models/sharding/cuda_device.hpp"

#include <charconv>
#include <string>

namespace foreshard {

int compute_capability(const Machine& machine) {
  const std::string& text = machine.compute_capability;
  const char* const end = text.data() + text.size();
  int major = 0, minor = 0;
  const auto before = std::from_chars(text.data(), end, major);
  if (before.ec != std::errc() || before.ptr == end || *before.ptr != '.') return 0;
  const auto after = std::from_chars(before.ptr + 1, end, minor);
  return after.ec == std::errc() && minor < 10 ? 10 * major + minor : 0;
}

int threads_of_multiprocessor(const DeviceTraits& device) {
  switch (device.compute_capability) {
    case 75: return 1024;
    case 86:
    case 87:
    case 89:
    case 120:
    case 121: return 1536;
    default: return 2048;
  }
}

DeviceTraits cuda_device(int compute_capability, int multiprocessors, bool has_fused_attention) {
  return {DeviceKind::cuda, compute_capability, multiprocessors,
          (compute_capability >= 90 ? 32 : 8) * kMiB, has_fused_attention};
}

std::optional<DeviceTraits> cuda_device(const Machine& machine) {
  constexpr int kAmpere = 80;
  const int capability = compute_capability(machine);
  if (capability < kAmpere || machine.multiprocessors <= 0) return std::nullopt;
  return cuda_device(capability, static_cast<int>(machine.multiprocessors));
}

}  // namespace foreshard

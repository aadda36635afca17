// What a step program depends on of the device it is for: sizes of workspaces and scratch follow from
// it by formulas, on any machine and without such a device.
#pragma once

#include <cstdint>

#include "models/base/units.hpp"

namespace foreshard {

// xla: the step is one compiled program, whose memory is planned ahead; others have an allocator.
enum class DeviceKind : std::uint8_t { cpu, cuda, xla };

struct DeviceTraits {
  DeviceKind kind = DeviceKind::cpu;
  int compute_capability = 0;  // 90 for 9.0; 0: none, as of a CPU
  int multiprocessors = 0;     // likewise
  // Of matrix products on the compute stream, allocated once in the set-up.
  Bytes matmul_workspace{1 << 20};
  // Attention in bf16 is cuDNN's, whose backward has buffers of its own (attention_workspace.hpp).
  bool has_fused_attention = false;
  // The same operands give the same bits, which cuDNN is asked for; other kernels do so anyway.
  bool is_deterministic = false;

  bool operator==(const DeviceTraits&) const = default;
};

}  // namespace foreshard

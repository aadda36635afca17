// The memory of one GPU in a run: what the allocators of its ranks hold, and what is used besides,
// by when that came: the context, libraries, communicators, and what steps load and connect.
//
// `foreshard train` measures it, recordings carry it (metadata gpu_memory.RANK, with the GPU's
// first rank), and a prediction's counterpart is simulator/costs/outside_memory.hpp.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace foreshard {

// How much of a GPU the process uses, as far as is known.
enum class GpuMemorySource {
  process,  // what the driver accounts to this process
  device,   // the whole GPU's use, less what it was before the process had a context
  context,  // the whole GPU's use, less what it was once the context was there
};
// "nvml_process", "nvml_device", "cuda_mem_get_info".
std::string_view name(GpuMemorySource source);

struct GpuMemory {
  int gpu = 0;  // as CUDA numbers them in its process
  std::string name;
  std::vector<int> ranks;  // on it
  GpuMemorySource source = GpuMemorySource::process;
  // In bytes; those that ranks' allocators hold at the end of the run.
  std::int64_t total = 0, reserved = 0;
  // In bytes, and outside the allocators: what came with each part of the run.
  std::optional<std::int64_t> context;
  std::int64_t libraries = 0, communicators = 0, first_step = 0, later = 0;

  std::int64_t outside() const {
    return context.value_or(0) + libraries + communicators + first_step + later;
  }
};

// "GPU 0 (NVIDIA H200): 1.24 GiB outside the allocator: ...".
std::string sentence(const GpuMemory& memory);

// The JSON object of `gpus_memory` in answers, and of the metadata.
std::string to_json(const GpuMemory& memory);
// Nothing where the text is not such an object.
std::optional<GpuMemory> gpu_memory_from_json(const std::string& text);

}  // namespace foreshard

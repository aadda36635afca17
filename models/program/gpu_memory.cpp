#include "models/program/gpu_memory.hpp"

#include <array>
#include <utility>

#include <nlohmann/json.hpp>

#include "models/base/figures.hpp"
#include "models/base/json_text.hpp"

namespace foreshard {
namespace {

using nlohmann::ordered_json;

constexpr std::array<std::string_view, 3> kSources{"nvml_process", "nvml_device",
                                                   "cuda_mem_get_info"};
constexpr std::array kSourceTexts{
    "as the driver accounts to this process",
    "by which the GPU's use has grown since the process began, in any process",
    "by which the GPU's use has grown since the context was created, in any process"};

// Sums of what a file says stay within bounds.
constexpr std::int64_t kMost = std::int64_t{1} << 56;

constexpr std::pair<const char*, std::int64_t GpuMemory::*> kNumbers[] = {
    {"total_bytes", &GpuMemory::total},           {"reserved_bytes", &GpuMemory::reserved},
    {"libraries_bytes", &GpuMemory::libraries},   {"nccl_bytes", &GpuMemory::communicators},
    {"first_step_bytes", &GpuMemory::first_step}, {"later_bytes", &GpuMemory::later}};

std::optional<std::int64_t> bytes(const ordered_json& json, const char* key) {
  const auto found = json.find(key);
  if (found == json.end() || !found->is_number_integer()) return {};
  const auto value = found->get<std::int64_t>();
  return value > -kMost && value < kMost ? std::optional(value) : std::nullopt;
}

}  // namespace

std::string_view name(GpuMemorySource source) {
  return kSources[static_cast<std::size_t>(source)];
}

std::string sentence(const GpuMemory& memory) {
  std::string text = "GPU " + std::to_string(memory.gpu) + " (" + memory.name +
                     "): " + binary_bytes(memory.outside()) + " outside the allocator, " +
                     kSourceTexts[static_cast<std::size_t>(memory.source)] + ": ";
  if (memory.context) text += "context " + binary_bytes(*memory.context) + ", ";
  text += "libraries " + binary_bytes(memory.libraries) + ", communicators " +
          binary_bytes(memory.communicators) + ", first step " + binary_bytes(memory.first_step);
  if (memory.later != 0) text += ", later " + binary_bytes(memory.later);
  return text + (memory.context ? "." : "; the context is not among it.");
}

std::string to_json(const GpuMemory& memory) {
  return json_text(ordered_json{
      {"gpu", memory.gpu},
      {"name", memory.name},
      {"ranks", memory.ranks},
      {"total_bytes", memory.total},
      {"reserved_bytes", memory.reserved},
      {"outside_allocator_bytes", memory.outside()},
      {"context_bytes", memory.context ? ordered_json(*memory.context) : ordered_json()},
      {"libraries_bytes", memory.libraries},
      {"nccl_bytes", memory.communicators},
      {"first_step_bytes", memory.first_step},
      {"later_bytes", memory.later},
      {"source", name(memory.source)}});
}

std::optional<GpuMemory> gpu_memory_from_json(const std::string& text) {
  const auto json = ordered_json::parse(text, nullptr, false);
  if (!json.is_object()) return {};
  try {
    GpuMemory memory;
    memory.gpu = json.at("gpu").get<int>();
    memory.name = json.at("name").get<std::string>();
    memory.ranks = json.at("ranks").get<std::vector<int>>();
    for (const auto& [key, field] : kNumbers) {
      const auto value = bytes(json, key);
      if (!value) return {};
      memory.*field = *value;
    }
    memory.context = bytes(json, "context_bytes");
    const auto source = json.at("source").get<std::string>();
    for (std::size_t i = 0; i < kSources.size(); ++i) {
      if (kSources[i] != source) continue;
      memory.source = static_cast<GpuMemorySource>(i);
      return memory;
    }
  } catch (const nlohmann::json::exception&) {
  }
  return {};
}

}  // namespace foreshard

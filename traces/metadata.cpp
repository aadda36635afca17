#include "traces/metadata.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <fstream>
#include <optional>
#include <string_view>

#include <sqlite3.h>

#include "models/base/figures.hpp"
#include "traces/processors.hpp"

namespace foreshard::traces {
namespace {

template <typename Number>
std::optional<Number> parsed(const std::string& text) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return {};
  return value;
}

template <typename Number>
Number parsed(const Metadata& metadata, const std::string& key, Number fallback) {
  const auto found = metadata.find(key);
  return found == metadata.end() ? fallback : parsed<Number>(found->second).value_or(fallback);
}

}  // namespace

Metadata run_metadata(const RunDescription& run) {
  Metadata all = run.more;
  const auto standard = [&](const char* key, std::string value) { all.try_emplace(key, value); };
  standard("program_hash", run.program_hash == 0 ? "" : hexadecimal(run.program_hash));
  standard("model", run.model_json);
  standard("plan", run.plan_toml);
  standard("ranks", std::to_string(run.ranks));
  standard("command", run.command);
  standard("versions", std::string("foreshard " FORESHARD_VERSION ", SQLite ") +
                           sqlite3_libversion() + ", compiler " __VERSION__);
  standard("clock", run.predicted ? "simulated" : "CLOCK_MONOTONIC");
  standard("threads_per_rank", std::to_string(run.threads_per_rank));
  standard("cpu_model", cpu_model());
  standard("cores", std::to_string(cores()));
  standard("recorder_overhead_ns_per_event", "0");
  standard("recorder_overhead_fraction", "0");
  standard("predicted", run.predicted ? "1" : "0");
  standard("complete", "0");
  standard("complete_until_ns", "0");
  return all;
}

std::int64_t integer(const Metadata& metadata, const std::string& key, std::int64_t fallback) {
  return parsed(metadata, key, fallback);
}

Result<std::int64_t> integer_between(const Metadata& metadata, const std::string& key,
                                     std::int64_t least, std::int64_t most, std::int64_t fallback,
                                     const std::string& file) {
  const auto found = metadata.find(key);
  if (found == metadata.end() || found->second.empty()) return fallback;
  const auto value = parsed<std::int64_t>(found->second);
  if (value && *value >= least && *value <= most) return *value;
  return fail(file, key,
              "is '" + found->second + "'; expected an integer from " + std::to_string(least) +
                  " to " + std::to_string(most));
}

std::vector<GpuMemory> gpus_memory(const Metadata& metadata) {
  std::vector<GpuMemory> all;
  for (auto it = metadata.lower_bound(kGpuMemoryKey);
       it != metadata.end() && it->first.starts_with(kGpuMemoryKey); ++it) {
    if (auto gpu = gpu_memory_from_json(it->second); gpu && !gpu->ranks.empty()) {
      all.push_back(std::move(*gpu));
    }
  }
  std::ranges::sort(all, {}, [](const GpuMemory& gpu) { return gpu.ranks.front(); });
  return all;
}

std::optional<GpuLibraries> gpu_libraries(const Metadata& metadata) {
  const auto found = metadata.find(kGpuLibrariesKey);
  return found == metadata.end() ? std::nullopt : gpu_libraries_from_json(found->second);
}

Metadata device_metadata(const DeviceTraits& device) {
  if (device.kind != DeviceKind::cuda) return {};
  return {{"compute_capability", std::to_string(device.compute_capability)},
          {"multiprocessors", std::to_string(device.multiprocessors)},
          {"matmul_workspace_bytes", std::to_string(device.matmul_workspace.count)},
          {"fused_attention", device.has_fused_attention ? "1" : "0"},
          {"deterministic", device.is_deterministic ? "1" : "0"}};
}

Result<DeviceTraits> recorded_device(const Metadata& metadata, const std::string& file) {
  constexpr std::int64_t kMost = 1'000'000;
  constexpr std::int64_t kMostWorkspace = std::int64_t{1} << 40;
  const auto capability = integer_between(metadata, "compute_capability", 0, kMost, 0, file);
  const auto processors = integer_between(metadata, "multiprocessors", 0, kMost, 0, file);
  const auto workspace =
      integer_between(metadata, "matmul_workspace_bytes", 0, kMostWorkspace, 0, file);
  const auto is_fused = integer_between(metadata, "fused_attention", 0, 1, 0, file);
  const auto is_deterministic = integer_between(metadata, "deterministic", 0, 1, 0, file);
  for (const auto* value : {&capability, &processors, &workspace, &is_fused, &is_deterministic}) {
    if (!*value) return tl::unexpected(value->error());
  }
  if (*capability == 0) return DeviceTraits{};
  return DeviceTraits{DeviceKind::cuda,
                      static_cast<int>(*capability),
                      static_cast<int>(*processors),
                      Bytes{*workspace},
                      *is_fused == 1,
                      *is_deterministic == 1};
}

double number(const Metadata& metadata, const std::string& key, double fallback) {
  const double value = parsed(metadata, key, fallback);
  return std::isfinite(value) ? value : fallback;
}

std::string cpu_model() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("model name")) {
      const auto value = line.find(": ");
      return value == std::string::npos ? "" : line.substr(value + 2);
    }
  }
  return "";
}

std::string clock_id() {
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  std::string id;
  std::getline(file, id);
  return id;
}

}  // namespace foreshard::traces

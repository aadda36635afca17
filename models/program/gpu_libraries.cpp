#include "models/program/gpu_libraries.hpp"

#include <utility>

#include <nlohmann/json.hpp>

#include "models/base/json_text.hpp"

namespace foreshard {
namespace {

using nlohmann::ordered_json;

constexpr std::pair<const char*, std::string GpuLibraries::*> kAlways[] = {
    {"driver", &GpuLibraries::driver},
    {"driver_cuda", &GpuLibraries::driver_cuda},
    {"cuda_runtime", &GpuLibraries::runtime},
    {"cublaslt", &GpuLibraries::cublaslt},
    {"attention", &GpuLibraries::attention}};
constexpr std::pair<const char*, std::optional<std::string> GpuLibraries::*> kWhereUsed[] = {
    {"nccl", &GpuLibraries::nccl}, {"cupti", &GpuLibraries::cupti}};

}  // namespace

std::string sentence(const GpuLibraries& libraries) {
  std::string text = "CUDA " + libraries.runtime + ", driver " + libraries.driver + " (CUDA " +
                     libraries.driver_cuda + "), cuBLASLt " + libraries.cublaslt +
                     ", attention: " + libraries.attention;
  if (libraries.nccl) text += ", NCCL " + *libraries.nccl;
  if (libraries.cupti) text += ", CUPTI " + *libraries.cupti;
  return text;
}

std::string to_json(const GpuLibraries& libraries) {
  ordered_json json;
  for (const auto& [key, field] : kAlways) json[key] = libraries.*field;
  for (const auto& [key, field] : kWhereUsed) {
    const auto& version = libraries.*field;
    json[key] = version ? ordered_json(*version) : ordered_json();
  }
  return json_text(json);
}

std::optional<GpuLibraries> gpu_libraries_from_json(const std::string& text) {
  const auto json = ordered_json::parse(text, nullptr, false);
  if (!json.is_object()) return {};
  GpuLibraries libraries;
  for (const auto& [key, field] : kAlways) {
    const auto found = json.find(key);
    if (found == json.end() || !found->is_string()) return {};
    libraries.*field = found->get<std::string>();
  }
  for (const auto& [key, field] : kWhereUsed) {
    const auto found = json.find(key);
    if (found != json.end() && found->is_string()) libraries.*field = found->get<std::string>();
  }
  return libraries;
}

}  // namespace foreshard

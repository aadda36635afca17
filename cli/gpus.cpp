#include "cli/gpus.hpp"

#include <map>

#include "executor/communication/transport.hpp"
#include "executor/device/launch_check.hpp"
#include "models/base/figures.hpp"
#include "models/base/units.hpp"
#include "models/program/attention_workspace.hpp"

namespace foreshard::cli {

Result<Gpus> gpus_of_this_machine() {
  auto library = executor::load_cuda_library(executor::module_directory());
  if (!library) return tl::unexpected(library.error());
  auto devices = (*library)->devices();
  if (!devices) return tl::unexpected(devices.error());
  return Gpus{std::move(*library), std::move(*devices)};
}

namespace {

// `library`: what there is for attention.
std::string attention_used(const Job& job, const std::string& library, bool is_cudnn) {
  if (!is_cudnn) return library;
  if (!job.own_device.has_fused_attention) return "plain (--attention plain)";
  const std::string_view kernel = attention_kernel(job);
  if (kernel == "plain") {
    return "plain (cuDNN's is for bf16, more than one token, heads of 8 to 128 and no sliding "
           "window)";
  }
  constexpr std::string_view kFused = "cuDNN";
  return library + std::string(kernel.substr(std::min(kernel.size(), kFused.size())));
}

}  // namespace

Result<void> use(const Gpus& gpus, const Processes& processes, const Job& job,
                 executor::TrainingOptions& options) {
  options.gpu_libraries = gpus.cuda->libraries();
  std::string& attention = options.gpu_libraries->attention;
  attention = attention_used(job, attention, gpus.devices[0].traits.has_fused_attention);
  if (processes.uses_nccl) {
    const auto version = gpus.cuda->nccl_version();
    if (!version) return tl::unexpected(version.error());
    options.gpu_libraries->nccl = *version;
  }
  if (options.activities != nullptr) {
    options.gpu_libraries->cupti = version_text(options.activities->version());
  }
  const int count = static_cast<int>(gpus.devices.size());
  const int only = processes.transport == nullptr ? executor::kNoRank : processes.index_here;
  options.checks_launches = executor::checks_launches();
  options.device_name = gpus.devices[0].name;
  const auto gpu_of = [count, only](int rank) {
    return (only == executor::kNoRank ? rank : only) % count;
  };
  std::map<int, std::vector<int>> ranks_of_gpus;
  for (int rank = 0; rank < job.ranks; ++rank) {
    if (processes.transport == nullptr || processes.transport->rank() == rank) {
      ranks_of_gpus[gpu_of(rank)].push_back(rank);
    }
  }
  options.memory_meter = gpus.cuda->make_memory_meter(ranks_of_gpus);
  const executor::KernelChoices choices{job.own_device, options.matmul_precision,
                                        options.tunes_products};
  options.make_device = [cuda = gpus.cuda.get(), gpu_of, choices](
                            executor::RunControl& run, int rank,
                            std::span<const StreamInfo> streams, int /*threads*/) {
    return cuda->make_device(run, rank, gpu_of(rank), streams, choices);
  };
  options.make_communicators = [cuda = gpus.cuda.get(), uses_nccl = processes.uses_nccl](
                                   executor::RunControl& run,
                                   std::span<executor::Device* const> devices,
                                   std::span<const int> of_group, executor::Transport* transport) {
    return uses_nccl ? cuda->make_nccl_communicators(run, devices, of_group, transport)
                     : cuda->make_local_communicators(run, devices);
  };
  const auto on_a_gpu = ceil_divide(job.ranks, count);
  if (!options.device_memory && !processes.uses_nccl && on_a_gpu > 1) {
    options.device_memory = gpus.devices[0].memory.count / on_a_gpu;
  }
  return {};
}

void AttentionChoice::add_to(Options& options) {
  options.choice(
      "--attention", wish, {"auto", "cudnn", "plain"},
      {"KERNEL",
       "kernel of attention in bf16 on GPUs; auto is cuDNN, but where this machine's GPU "
       "is meant and it is not installed"});
}

Result<void> AttentionChoice::check(const std::string& device) const {
  if (wish == "auto" || device == "cuda") return {};
  return fail("", "--attention", wish + " is a kernel of GPUs; expected --device cuda");
}

DeviceTraits AttentionChoice::apply(DeviceTraits traits) const {
  if (wish != "auto") traits.has_fused_attention = wish == "cudnn";
  return traits;
}

Result<DeviceTraits> own_device(const std::string& device, const AttentionChoice& attention,
                                const std::optional<Machine>& machine) {
  if (auto ok = attention.check(device); !ok) return tl::unexpected(ok.error());
  if (device == "cpu" || machine) {
    const auto traits = modelled_device(device, machine);
    return traits && device != "cpu" ? attention.apply(*traits) : traits;
  }
  auto gpus = gpus_of_this_machine();
  if (!gpus) return tl::unexpected(gpus.error());
  return attention.apply(gpus->devices.front().traits);
}

OwnDevice own_device_by(const AttentionChoice& attention) {
  return [attention](const std::string& device, const std::optional<Machine>& machine) {
    return own_device(device, attention, machine);
  };
}

}  // namespace foreshard::cli

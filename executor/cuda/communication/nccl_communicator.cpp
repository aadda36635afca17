#include "executor/cuda/communication/nccl_communicator.hpp"

#include <cstring>
#include <stdexcept>
#include <string>

#include <unistd.h>

#include "executor/cuda/communication/collective_log.hpp"
#include "executor/cuda/communication/local_communicator.hpp"
#include "executor/cuda/communication/nccl_group.hpp"
#include "executor/cuda/device/cuda_device.hpp"
#include "executor/cuda/kernels/check.hpp"
#include "executor/device/clock.hpp"
#include "models/base/figures.hpp"

namespace foreshard::executor::cuda {
namespace {

// How long ranks may take to connect.
constexpr Nanoseconds kLongestConnecting{300'000'000'000};

// The members of a group that are in this process; the last communicator that goes ends them
// together.
struct NcclGroups {
  ~NcclGroups() {
    for (const auto& group : all) group->finish();
  }
  std::vector<std::unique_ptr<NcclGroup>> all;
};

ncclDataType_t nccl_type(DType type) {
  switch (type) {
    case DType::fp32: return ncclFloat32;
    case DType::fp64: return ncclFloat64;
    case DType::bf16: return ncclBfloat16;
    case DType::int32:
    case DType::fp16:
    case DType::fp8: break;
  }
  throw std::invalid_argument("values of type " + std::string(name(type)) + " cannot be reduced");
}

ncclRedOp_t nccl_operation(Reduction reduction) {
  return reduction == Reduction::sum ? ncclSum : ncclAvg;
}

class NcclCommunicator final : public Communicator {
 public:
  NcclCommunicator(RunControl& run, CudaDevice& device, const NcclCalls& nccl,
                   std::span<const int> ranks, int index, std::shared_ptr<NcclGroups> groups,
                   NcclGroup& group)
      : Communicator(static_cast<int>(ranks.size()), index),
        run_(run),
        device_(device),
        nccl_(nccl),
        ranks_(ranks.begin(), ranks.end()),
        groups_(std::move(groups)),
        group_(group) {
    check(cudaSetDevice(device.gpu()), "cudaSetDevice");
    void* memory = nullptr;
    check(cudaMalloc(&memory, sizeof(float)), "cudaMalloc");
    for_barriers_ = static_cast<std::byte*>(memory);
  }
  ~NcclCommunicator() override {
    static_cast<void>(cudaSetDevice(device_.gpu()));
    static_cast<void>(cudaFree(for_barriers_));
  }

  void all_gather(Stream stream, Tag tag, std::byte* buffer, std::int64_t bytes) override {
    issue(stream, tag, "all_gather", "ncclAllGather", [&](ncclComm_t group, cudaStream_t on) {
      return nccl_.all_gather(buffer + index() * bytes, buffer, static_cast<std::size_t>(bytes),
                              ncclInt8, group, on);
    });
  }

  void reduce_scatter(Stream stream, Tag tag, DType type, Reduction reduction,
                      const std::byte* input, std::byte* output, std::int64_t count) override {
    issue(stream, tag, "reduce_scatter", "ncclReduceScatter",
          [&](ncclComm_t group, cudaStream_t on) {
            return nccl_.reduce_scatter(input, output, static_cast<std::size_t>(count),
                                        nccl_type(type), nccl_operation(reduction), group, on);
          });
  }

  void all_reduce(Stream stream, Tag tag, DType type, Reduction reduction, std::byte* buffer,
                  std::int64_t count) override {
    issue(stream, tag, "all_reduce", "ncclAllReduce", [&](ncclComm_t group, cudaStream_t on) {
      return nccl_.all_reduce(buffer, buffer, static_cast<std::size_t>(count), nccl_type(type),
                              nccl_operation(reduction), group, on);
    });
  }

  void barrier(Stream stream, Tag tag) override {
    issue(stream, tag, "barrier", "ncclAllReduce", [&](ncclComm_t group, cudaStream_t on) {
      return nccl_.all_reduce(for_barriers_, for_barriers_, 1, ncclFloat32, ncclSum, group, on);
    });
  }

  bool can_be_captured() const override { return true; }

  // What this rank knows is that it waits; whom for comes out when all say so.
  void add_waits(std::vector<Wait>& waits) const override {
    const char* operation = log_.running();
    if (operation == nullptr) operation = device_.collective_in_graph(this);
    if (operation == nullptr) return;
    for (const int rank : ranks_) {
      if (rank != device_.rank()) waits.push_back({device_.rank(), rank, operation});
    }
  }

 private:
  // A rank may never come, or stop before the others (out of memory): it is to be seen what had
  // finished before.
  template <typename Call>
  void issue(Stream stream, Tag tag, const char* operation, const char* name, Call call) {
    run_.throw_if_aborted();
    device_.may_stop_at(stream);
    const cudaStream_t native = device_.native(stream);
    CudaGraph* const graph = device_.captured();
    const auto number = static_cast<std::size_t>(stream);
    if (graph != nullptr) {
      graph->begin_collective(number, this, operation);
    } else {
      log_.arrive(native, operation);
    }
    group_.issue(name, [&](ncclComm_t group) { return call(group, native); });
    if (graph != nullptr) {
      graph->end_collective(number, this);
    } else {
      log_.finish(native);
    }
    device_.issued(stream, tag);
  }

  RunControl& run_;
  CudaDevice& device_;
  const NcclCalls& nccl_;
  const std::vector<int> ranks_;
  const std::shared_ptr<NcclGroups> groups_;
  NcclGroup& group_;
  mutable CollectiveLog log_;
  std::byte* for_barriers_ = nullptr;  // one fp32
};

// "node1 0000:17:00.0"
std::string place_of(const CudaDevice& device) {
  char host[256] = "", bus[32] = "";
  gethostname(host, sizeof host - 1);
  check(cudaDeviceGetPCIBusId(bus, sizeof bus, device.gpu()), "cudaDeviceGetPCIBusId");
  return std::string(host) + " " + bus;
}

std::string new_id(const NcclCalls& nccl) {
  ncclUniqueId id{};
  nccl.check(nccl.get_unique_id(&id), "ncclGetUniqueId");
  return {id.internal, sizeof id.internal};
}

// The group's, which its first member has made. NCCL cannot have two ranks on one GPU.
ncclUniqueId common_id(RunControl& run, const NcclCalls& nccl, std::span<Device* const> devices,
                       std::span<const int> ranks, Transport* transport) {
  std::vector<std::string> places, ids;
  if (transport == nullptr) {
    ids.push_back(new_id(nccl));
    for (Device* device : devices) places.push_back(place_of(static_cast<CudaDevice&>(*device)));
  } else {
    const bool leads = devices[0]->rank() == ranks[0];
    const auto all_places =
        exchange(run, *transport, place_of(static_cast<CudaDevice&>(*devices[0])));
    const auto all_ids = exchange(run, *transport, leads ? new_id(nccl) : "");
    for (const int rank : ranks) {
      places.push_back(all_places[static_cast<std::size_t>(rank)]);
      ids.push_back(all_ids[static_cast<std::size_t>(rank)]);
    }
  }
  for (std::size_t a = 0; a < places.size(); ++a) {
    for (std::size_t b = a + 1; b < places.size(); ++b) {
      if (places[a] != places[b]) continue;
      throw std::runtime_error("ranks " + std::to_string(ranks[a]) + " and " +
                               std::to_string(ranks[b]) + " share the GPU " + places[a] +
                               ", which NCCL cannot: threads of one process (--comm local) can");
    }
  }
  ncclUniqueId id{};
  if (ids[0].size() != sizeof id.internal) throw std::runtime_error("NCCL's id has not arrived");
  std::memcpy(id.internal, ids[0].data(), sizeof id.internal);
  return id;
}

void wait_until_connected(RunControl& run, NcclGroups& groups, Transport* transport) {
  const Nanoseconds deadline = monotonic_now() + kLongestConnecting;
  for (const auto& group : groups.all) {
    while (!group->is_ready()) {
      if (transport != nullptr) {
        if (const auto failure = transport->lost()) run.fail(failure->rank, failure->message);
      }
      if (monotonic_now() > deadline) {
        throw std::runtime_error("NCCL: not all ranks have connected within " +
                                 seconds_text(kLongestConnecting));
      }
      run.sleep_for(Nanoseconds{1'000'000});
    }
  }
}

}  // namespace

Result<std::string> nccl_version() {
  const auto calls = load_nccl();
  if (!calls) return tl::unexpected(calls.error());
  return version_text((*calls)->version);
}

std::vector<std::unique_ptr<Communicator>> make_nccl_communicators(RunControl& run,
                                                                   std::span<Device* const> devices,
                                                                   std::span<const int> ranks,
                                                                   Transport* transport) {
  if (ranks.size() == 1) return make_local_communicators(run, devices);
  const auto calls = load_nccl();
  if (!calls) throw std::runtime_error(calls.error().text());
  const NcclCalls& nccl = **calls;
  const ncclUniqueId id = common_id(run, nccl, devices, ranks, transport);
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.blocking = 0;
  const auto groups = std::make_shared<NcclGroups>();
  const auto index_of = [&](const Device& device) {
    return static_cast<int>(std::ranges::find(ranks, device.rank()) - ranks.begin());
  };
  std::vector<ncclComm_t> made(devices.size());
  nccl.check(nccl.group_start(), "ncclGroupStart");
  for (std::size_t i = 0; i < devices.size(); ++i) {
    const auto& device = static_cast<CudaDevice&>(*devices[i]);
    check(cudaSetDevice(device.gpu()), "cudaSetDevice");
    nccl.check(
        nccl.init_rank(&made[i], static_cast<int>(ranks.size()), id, index_of(device), &config),
        "ncclCommInitRankConfig");
  }
  nccl.check(nccl.group_end(), "ncclGroupEnd");
  for (std::size_t i = 0; i < devices.size(); ++i) {
    const auto& device = static_cast<CudaDevice&>(*devices[i]);
    groups->all.push_back(
        std::make_unique<NcclGroup>(run, nccl, device.rank(), device.gpu(), made[i]));
  }
  wait_until_connected(run, *groups, transport);
  std::vector<std::unique_ptr<Communicator>> communicators;
  for (std::size_t i = 0; i < devices.size(); ++i) {
    auto& device = static_cast<CudaDevice&>(*devices[i]);
    communicators.push_back(std::make_unique<NcclCommunicator>(
        run, device, nccl, ranks, index_of(device), groups, *groups->all[i]));
  }
  return communicators;
}

}  // namespace foreshard::executor::cuda

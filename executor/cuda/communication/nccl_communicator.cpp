#include "executor/cuda/communication/nccl_communicator.hpp"

#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <string>

#include <unistd.h>

#include "executor/cuda/communication/local_communicator.hpp"
#include "executor/cuda/communication/nccl_group.hpp"
#include "executor/cuda/device/cuda_device.hpp"
#include "executor/cuda/kernels/check.hpp"
#include "models/base/figures.hpp"

namespace foreshard::executor::cuda {
namespace {

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
                   std::span<const int> ranks, int index, std::shared_ptr<NcclGroup> group,
                   std::size_t member)
      : Communicator(static_cast<int>(ranks.size()), index),
        run_(run),
        device_(device),
        nccl_(nccl),
        ranks_(ranks.begin(), ranks.end()),
        group_(std::move(group)),
        member_(member) {
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
    const char* operation = device_.collective(this);
    if (operation == nullptr) return;
    for (const int rank : ranks_) {
      if (rank != device_.rank()) waits.push_back({device_.rank(), rank, operation});
    }
  }

 private:
  // NCCL itself has collectives of one communicator follow one another, on whatever streams, also
  // while they are captured (ncclLaunchPrepare in enqueue.cc).
  template <typename Call>
  void issue(Stream stream, Tag tag, const char* operation, const char* name, Call call) {
    run_.throw_if_aborted();
    device_.begin_collective(stream, this, operation);
    group_->issue(member_, name,
                  [&](ncclComm_t group) { return call(group, device_.native(stream)); });
    device_.end_collective(stream, tag);
  }

  RunControl& run_;
  CudaDevice& device_;
  const NcclCalls& nccl_;
  const std::vector<int> ranks_;
  const std::shared_ptr<NcclGroup> group_;
  const std::size_t member_;           // of it
  std::byte* for_barriers_ = nullptr;  // one fp32
};

// "node1 0000:17:00.0". NCCL takes the host's name from NCCL_HOSTID where it is set (utils.cc,
// getHostHashOnce).
std::string place_of(const CudaDevice& device) {
  char host[256] = "", bus[32] = "";
  gethostname(host, sizeof host - 1);
  const char* const id = std::getenv("NCCL_HOSTID");
  check(cudaDeviceGetPCIBusId(bus, sizeof bus, device.gpu()), "cudaDeviceGetPCIBusId");
  return std::string(id != nullptr ? id : host) + " " + bus;
}

std::string new_id(const NcclCalls& nccl) {
  ncclUniqueId id{};
  nccl.check(nccl.get_unique_id(&id), "ncclGetUniqueId");
  return {id.internal, sizeof id.internal};
}

// The group's, which its first member has made. NCCL refuses two ranks on one GPU of one host (init.cc,
// initTransportsRank).
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
      throw std::runtime_error(
          "ranks " + std::to_string(ranks[a]) + " and " + std::to_string(ranks[b]) +
          " share the GPU " + places[a] +
          ", which NCCL does not support; expected a GPU for each rank, threads of one process "
          "(--comm local), or, to try NCCL on one GPU, processes with different NCCL_HOSTID");
    }
  }
  ncclUniqueId id{};
  if (ids[0].size() != sizeof id.internal) throw std::runtime_error("NCCL's id has not arrived");
  std::memcpy(id.internal, ids[0].data(), sizeof id.internal);
  return id;
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
  constexpr int kUnlessItIsSet = 0;
  setenv("NCCL_GRAPH_REGISTER", "0", kUnlessItIsSet);
  const ncclUniqueId id = common_id(run, nccl, devices, ranks, transport);
  std::vector<NcclGroup::Place> here;
  for (Device* device : devices) {
    const auto index = std::ranges::find(ranks, device->rank()) - ranks.begin();
    here.push_back(
        {device->rank(), static_cast<int>(index), static_cast<CudaDevice*>(device)->gpu()});
  }
  const auto group = std::make_shared<NcclGroup>(run, nccl, here, transport);
  group->connect(static_cast<int>(ranks.size()), id);
  std::vector<std::unique_ptr<Communicator>> communicators;
  for (std::size_t i = 0; i < devices.size(); ++i) {
    communicators.push_back(std::make_unique<NcclCommunicator>(
        run, static_cast<CudaDevice&>(*devices[i]), nccl, ranks, here[i].index, group, i));
  }
  return communicators;
}

}  // namespace foreshard::executor::cuda

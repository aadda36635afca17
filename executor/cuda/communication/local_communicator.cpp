#include "executor/cuda/communication/local_communicator.hpp"

#include <set>
#include <stdexcept>
#include <string>

#include "executor/communication/meeting.hpp"
#include "executor/communication/reduction.hpp"
#include "executor/cuda/device/cuda_device.hpp"
#include "executor/cuda/device/events.hpp"
#include "executor/cuda/kernels/reduction.hpp"

namespace foreshard::executor::cuda {
namespace {

// What a member shows the others at their meetings: events for which their streams wait. Each is
// recorded again only when all have met once more after the wait.
struct Shown {
  cudaEvent_t arrived = nullptr, reduced = nullptr, finished = nullptr;
};

struct Group {
  explicit Group(std::span<Device* const> devices) : meeting(devices), shown(devices.size()) {}
  Meeting meeting;
  std::vector<Shown> shown;  // by member
};

class LocalCommunicator final : public Communicator {
 public:
  LocalCommunicator(RunControl& run, CudaDevice& device, const std::shared_ptr<Group>& group,
                    int index)
      : Communicator(static_cast<int>(group->shown.size()), index),
        run_(run),
        device_(device),
        group_(group),
        attendance_(run, {group, &group->meeting}, index) {
    check(cudaSetDevice(device.gpu()), "cudaSetDevice");
    mine() = {new_event(), new_event(), new_event()};
  }
  ~LocalCommunicator() override {
    for (const cudaEvent_t event : {mine().arrived, mine().reduced, mine().finished}) {
      static_cast<void>(cudaEventDestroy(event));
    }
  }

  void all_gather(Stream stream, Tag tag, std::byte* buffer, std::int64_t bytes) override {
    begin(stream, {"all_gather", buffer, bytes, DType::fp32, Reduction::sum});
    gather(stream, buffer, [bytes](int owner) { return ByteRange{bytes * owner, bytes}; });
    end(stream, tag);
  }

  void reduce_scatter(Stream stream, Tag tag, DType type, Reduction reduction,
                      const std::byte* input, std::byte* output, std::int64_t count) override {
    begin(stream, {"reduce_scatter", const_cast<std::byte*>(input), count, type, reduction});
    reduce(stream, {count * index(), count}, output);
    end(stream, tag);
  }

  void all_reduce(Stream stream, Tag tag, DType type, Reduction reduction, std::byte* buffer,
                  std::int64_t count) override {
    begin(stream, {"all_reduce", buffer, count, type, reduction});
    const std::int64_t item = item_size(type);
    const Slice slice = reduced_slice(count, size(), index());
    reduce(stream, slice, buffer + slice.begin * item);
    if (size() > 1) {
      check(cudaEventRecord(mine().reduced, device_.native(stream)), "cudaEventRecord");
      attendance_.meet();
      wait_for_others(stream, &Shown::reduced);
      gather(stream, buffer,
             [&](int owner) { return bytes_of(reduced_slice(count, size(), owner), item); });
    }
    end(stream, tag);
  }

  void barrier(Stream stream, Tag tag) override {
    begin(stream, {"barrier", nullptr, 0, DType::fp32, Reduction::sum});
    end(stream, tag);
  }

  // Hosts that meet in every collective do not when a graph is launched.
  bool can_be_captured() const override { return size() == 1; }

  // While a device is in a collective, whoever has not come to it keeps it there; those that have
  // wait themselves.
  void add_waits(std::vector<Wait>& waits) const override {
    attendance_.add_waits(waits);
    const char* operation = device_.collective(this);
    if (operation == nullptr) return;
    for (const Meeting::Member& other : group_->meeting.members) {
      if (other.rank != device_.rank()) waits.push_back({device_.rank(), other.rank, operation});
    }
  }

 private:
  Shown& mine() { return group_->shown[static_cast<std::size_t>(index())]; }

  void wait_for_others(Stream stream, cudaEvent_t Shown::*event) {
    for (const Shown& member : group_->shown) {
      if (&member == &mine()) continue;
      check(cudaStreamWaitEvent(device_.native(stream), member.*event, 0), "cudaStreamWaitEvent");
    }
  }

  // Those of one member come after one another, on whatever streams.
  void begin(Stream stream, const Contribution& contribution) {
    run_.throw_if_aborted();
    device_.begin_collective(stream, this, contribution.operation);
    if (size() > 1) {
      const cudaStream_t native = device_.native(stream);
      if (stream != last_stream_) {
        check(cudaStreamWaitEvent(native, mine().finished, 0), "cudaStreamWaitEvent");
      }
      last_stream_ = stream;
      check(cudaEventRecord(mine().arrived, native), "cudaEventRecord");
    }
    attendance_.begin(contribution);
    wait_for_others(stream, &Shown::arrived);
  }

  // Nobody goes on before everybody has read what it needs.
  void end(Stream stream, Tag tag) {
    if (size() > 1) {
      check(cudaEventRecord(mine().finished, device_.native(stream)), "cudaEventRecord");
    }
    attendance_.meet();
    wait_for_others(stream, &Shown::finished);
    device_.end_collective(stream, tag);
  }

  void reduce(Stream stream, Slice slice, std::byte* output) const {
    const Contribution& mine = attendance_.contribution(index());
    std::vector<const std::byte*> inputs;
    inputs.reserve(static_cast<std::size_t>(size()));
    for (int i = 0; i < size(); ++i) {
      inputs.push_back(attendance_.contribution(summand(index(), i, size())).buffer +
                       slice.begin * item_size(mine.type));
    }
    reduce_in_order(device_.native(stream), mine.type, mine.reduction == Reduction::average, inputs,
                    output, slice.count);
  }

  // Copies what the others have, each member beginning with its neighbour's.
  template <typename RangeOf>
  void gather(Stream stream, std::byte* buffer, RangeOf range_of) const {
    for (int i = 1; i < size(); ++i) {
      const int owner = (index() + i) % size();
      const ByteRange range = range_of(owner);
      if (range.bytes == 0) continue;
      check(cudaMemcpyAsync(
                buffer + range.begin, attendance_.contribution(owner).buffer + range.begin,
                static_cast<std::size_t>(range.bytes), cudaMemcpyDefault, device_.native(stream)),
            "cudaMemcpyAsync");
    }
  }

  RunControl& run_;
  CudaDevice& device_;
  const std::shared_ptr<Group> group_;
  Attendance attendance_;
  Stream last_stream_ = Stream::compute;
};

// Lets kernels on one GPU read what cudaMalloc returns on another.
void enable_reading(int reader, int owner) {
  int can = 0;
  check(cudaDeviceCanAccessPeer(&can, reader, owner), "cudaDeviceCanAccessPeer");
  if (can == 0) {
    throw std::runtime_error("GPU " + std::to_string(reader) + " cannot read the memory of GPU " +
                             std::to_string(owner) +
                             ", as ranks that are threads do; ranks as processes need not");
  }
  check(cudaSetDevice(reader), "cudaSetDevice");
  const cudaError_t enabled = cudaDeviceEnablePeerAccess(owner, 0);
  if (enabled != cudaErrorPeerAccessAlreadyEnabled) check(enabled, "cudaDeviceEnablePeerAccess");
  static_cast<void>(cudaGetLastError());
}

}  // namespace

std::vector<std::unique_ptr<Communicator>> make_local_communicators(
    RunControl& run, std::span<Device* const> devices) {
  std::set<int> gpus;
  for (Device* device : devices) gpus.insert(static_cast<CudaDevice*>(device)->gpu());
  for (const int reader : gpus) {
    for (const int owner : gpus) {
      if (reader != owner) enable_reading(reader, owner);
    }
  }
  for (Device* device : devices) static_cast<CudaDevice*>(device)->share_memory_with(gpus);
  const auto group = std::make_shared<Group>(devices);
  std::vector<std::unique_ptr<Communicator>> communicators;
  for (std::size_t i = 0; i < devices.size(); ++i) {
    communicators.push_back(std::make_unique<LocalCommunicator>(
        run, static_cast<CudaDevice&>(*devices[i]), group, static_cast<int>(i)));
  }
  return communicators;
}

}  // namespace foreshard::executor::cuda

#include "executor/cpu/cpu_device.hpp"

#include <algorithm>
#include <cstring>
#include <memory>
#include <new>
#include <string>

namespace foreshard::executor {
namespace {

// Whether one thread alone takes less than some tens of microseconds, which is what waking the others may cost.
bool is_small(const CostKey& key) {
  constexpr double kFlops = 2e6, kBytes = 256 << 10;
  return flops(key) <= kFlops && bytes_moved(key) <= kBytes;
}

// Copies a list to `at`, which moves behind it.
template <typename T>
std::span<const T> copy_list(std::span<const T> list, std::byte*& at) {
  T* const copy = reinterpret_cast<T*>(at);
  std::uninitialized_copy(list.begin(), list.end(), copy);
  at += list.size_bytes();
  return {copy, list.size()};
}

}  // namespace

CpuDevice::Lane::Lane(RunControl& run, int rank, const StreamInfo& of, int threads)
    : workers(of.role == StreamRole::compute ? threads : 1), stream(run, rank, of.name) {}

void CpuDevice::Lane::keep(const KernelLaunch& launch) {
  static_assert(std::is_trivially_destructible_v<KernelLaunch>);
  std::byte* at =
      launches.add(sizeof launch + launch.reads.size_bytes() + launch.writes.size_bytes());
  auto* const kept = new (at) KernelLaunch(launch);
  at += sizeof launch;
  kept->reads = copy_list(launch.reads, at);
  kept->writes = copy_list(launch.writes, at);
}

const KernelLaunch& CpuDevice::Lane::next_launch() {
  return *std::launder(reinterpret_cast<const KernelLaunch*>(launches.next()));
}

CpuDevice::CpuDevice(RunControl& run, int rank, std::span<const StreamInfo> streams, int threads,
                     const KernelTable& kernels)
    : Device(rank), run_(run), kernels_(kernels), memory_([this] { synchronize(); }) {
  for (const StreamInfo& stream : streams) {
    lanes_.push_back(std::make_unique<Lane>(run, rank, stream, threads));
  }
}

CpuDevice::~CpuDevice() {
  stop();
}

// An event belongs to one recording stream, which another program chooses anew.
void CpuDevice::begin(const Program& program) {
  if (program_ != &program) {
    synchronize();
    program_ = &program;
    const auto needed = static_cast<std::size_t>(program.events);
    if (events_.size() < needed) events_ = std::vector<Event>(needed);
  }
  ++epoch_;
}

void CpuDevice::launch(Stream stream, Tag tag, const KernelLaunch& launch) {
  const Kernel kernel = kernels_[launch.key.op];
  Lane& on = lane(stream);
  WorkerPool& workers = is_small(launch.key) ? on.alone : on.workers;
  on.keep(launch);
  call(stream, tag, [&on, kernel, &workers] { kernel({on.next_launch(), workers}); });
}

void CpuDevice::copy(Stream stream, Tag tag, std::span<std::byte> to, const std::byte* from) {
  call(stream, tag, [to, from] { std::memcpy(to.data(), from, to.size()); });
}

void CpuDevice::fill(Stream stream, Tag tag, std::span<std::byte> memory, std::byte value) {
  call(stream, tag, [memory, value] { std::ranges::fill(memory, value); });
}

void CpuDevice::call(Stream stream, Tag tag, const StreamTask& task) {
  lane(stream).stream.submit(tag, task);
}

void CpuDevice::record(Stream stream, EventId id, Tag tag) {
  lane(stream).stream.record(event(id), epoch_, tag);
}

void CpuDevice::wait(Stream stream, EventId id, Tag tag) {
  lane(stream).stream.wait(event(id), epoch_, tag);
}

void CpuDevice::host_wait(EventId id) {
  event(id).wait(run_, epoch_);
}

void CpuDevice::synchronize() {
  for (auto& lane : lanes_) lane->stream.synchronize();
}

void CpuDevice::stop() {
  for (auto& lane : lanes_) lane->stream.stop();
}

std::byte* CpuDevice::allocate_host(Bytes bytes) {
  return static_cast<std::byte*>(
      ::operator new (static_cast<std::size_t>(bytes.count),
                      std::align_val_t{static_cast<std::size_t>(kHostAlignment)}));
}

void CpuDevice::free_host(std::byte* memory, Bytes /*bytes*/) {
  ::operator delete (memory, std::align_val_t{static_cast<std::size_t>(kHostAlignment)});
}

bool CpuDevice::has_finished(Tag last) const {
  return std::ranges::all_of(lanes_,
                             [last](const auto& lane) { return lane->stream.has_finished(last); });
}

void CpuDevice::set_observer(Stream stream, TaskObserver* observer) {
  lane(stream).stream.set_observer(observer);
}

}  // namespace foreshard::executor

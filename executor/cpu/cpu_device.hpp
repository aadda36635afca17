// The CPU as a device: a stream is a thread (executor/device/stream.hpp), kernels are those of a table
// and share their work among a pool of threads, and memory is the process' own.
//
// Kernels of a computing stream have all of the rank's threads, those of the other streams, which copy
// and reduce, one each. A stream's thread starts with its first task.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "executor/cpu/kernels.hpp"
#include "executor/device/device.hpp"
#include "executor/device/device_memory.hpp"
#include "executor/device/entry_queue.hpp"
#include "executor/device/stream.hpp"

namespace foreshard::executor {

class CpuDevice : public Device {
 public:
  // Throws std::runtime_error where the system lends no more threads.
  CpuDevice(RunControl& run, int rank, std::span<const StreamInfo> streams, int threads = 1,
            const KernelTable& kernels = cpu_kernels());
  ~CpuDevice() override;

  // Launches, copies, fills and collectives all come to `call`.
  void begin(const Program& program) override;
  void launch(Stream stream, Tag tag, const KernelLaunch& launch) final;
  void copy(Stream stream, Tag tag, std::span<std::byte> to, const std::byte* from) final;
  void fill(Stream stream, Tag tag, std::span<std::byte> memory, std::byte value) final;
  void call(Stream stream, Tag tag, const StreamTask& task) override;
  void record(Stream stream, EventId event, Tag tag) override;
  void wait(Stream stream, EventId event, Tag tag) override;
  void host_wait(EventId event) override;
  void synchronize() override;
  void stop() final;

  SegmentBacking& backing() override { return memory_; }
  std::byte* pointer(Address address) const final { return memory_.pointer(address); }
  std::byte* allocate_host(Bytes bytes) override;
  void free_host(std::byte* memory, Bytes bytes) override;

  bool has_finished(Tag last) const override;
  Progress progress() const final { return run_.progress(rank()).now(); }
  void set_observer(Stream stream, TaskObserver* observer) final;

 protected:
  RunControl& run() { return run_; }

 private:
  struct Lane {
    Lane(RunControl& run, int rank, const StreamInfo& of, int threads);
    // Copies the launch and its lists of operands for the stream, which takes them in order.
    void keep(const KernelLaunch& launch);
    const KernelLaunch& next_launch();

    WorkerPool workers, alone;  // `alone`: the stream's own thread
    EntryQueue launches;
    StreamWorker stream;  // last: its thread uses the rest
  };
  Lane& lane(Stream stream) { return *lanes_[static_cast<std::size_t>(stream)]; }
  Event& event(EventId id) { return events_[static_cast<std::size_t>(id)]; }

  RunControl& run_;
  const KernelTable& kernels_;
  DeviceMemory memory_;
  const Program* program_ = nullptr;
  std::vector<Event> events_;
  Epoch epoch_ = 0;                           // of the events: one a step
  std::vector<std::unique_ptr<Lane>> lanes_;  // by stream
};

}  // namespace foreshard::executor

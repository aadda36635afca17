// One rank's device: what its program is interpreted on. It has streams, events and memory; the CPU
// device (executor/cpu/cpu_device.hpp) is the first of its kind, a GPU (executor/cuda/device/cuda_device.hpp)
// the second.
//
// The interpreter's host thread issues one instruction after the other, each with one call, and goes
// on at once; the device does the work of one stream in the order of issue, and orders streams among
// each other only by events. Nothing here is called more often than once per instruction.
//
// Operands are resolved when an instruction is issued: `launch`, `copy` and `fill` get the addresses
// where the buffers lie at that moment, and the device keeps what it needs of its arguments before it
// returns. The work itself may run much later, when the host has long freed the buffers and given
// their memory to others. That is right, because stream order keeps the two apart:
//   - The caching allocator has a pool for each stream, and hands freed memory only to requests of the
//     same pool. Whoever gets the memory next uses it on the pool's own stream, or on a stream that
//     waits for an event recorded there after the allocation: after everything that was issued before
//     the free on the pool's stream.
//   - Work on other streams that uses the buffer has been waited for on the pool's stream before the
//     free; ranks that read the buffer do so within a collective, which ends when all have.
//   - A host buffer has no stream. It is freed when the host has seen that all work on it is done.
//   - Memory goes back to the driver only after `synchronize`, as with cudaFree.
// What this requires of step programs is among the laws that the lowering's tests check (vector clocks). An
// address looked up late, when the work runs, could be wrong: the next step may have allocated the
// same buffer again, elsewhere. Poison mode fills memory in stream order, so it shows what it always
// did: a kernel that runs after the free of its operand, or before its operand was written, reads
// NaNs.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string_view>

#include "executor/device/device_graph.hpp"
#include "executor/device/kernel_launch.hpp"
#include "executor/device/run_control.hpp"
#include "executor/device/task.hpp"
#include "models/allocator/virtual_segments.hpp"
#include "models/program/step_program.hpp"

namespace foreshard::executor {

class Device {
 public:
  explicit Device(int rank) : rank_(rank) {}
  virtual ~Device() = default;  // as stop()
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  int rank() const { return rank_; }

  // Work, by the rank's host thread. What went wrong before, on a stream or in another rank, is
  // thrown by the next call.

  // What follows is of this program, anew: its events are not recorded. Where the program is another
  // one than before, everything issued has finished on return: programs number their events and
  // instructions each for itself.
  virtual void begin(const Program& program) = 0;
  // The optimizer's numbers for what is issued from now on, where kernels read them from memory.
  virtual void set_scalars(const KernelScalars& /*scalars*/) {}
  // Throws std::logic_error for an operator that no kernel computes.
  virtual void launch(Stream stream, Tag tag, const KernelLaunch& launch) = 0;
  // `from`: as many bytes. Either may be the host's.
  virtual void copy(Stream stream, Tag tag, std::span<std::byte> to, const std::byte* from) = 0;
  virtual void fill(Stream stream, Tag tag, std::span<std::byte> memory, std::byte value) = 0;
  // Work of the host in stream order: what comes next on the stream begins when the task has ended.
  virtual void call(Stream stream, Tag tag, const StreamTask& task) = 0;
  virtual void record(Stream stream, EventId event, Tag tag) = 0;
  virtual void wait(Stream stream, EventId event, Tag tag) = 0;
  virtual void host_wait(EventId event) = 0;  // throws Aborted
  // Waits for everything issued; throws Aborted.
  virtual void synchronize() = 0;
  // What `issue` issues, as a graph instead of being done; nullptr: this device has none. Throws
  // what it throws, and std::runtime_error where something of it cannot be in a graph.
  virtual std::unique_ptr<DeviceGraph> capture(const std::function<void()>& /*issue*/) {
    return nullptr;
  }
  // The host thread may issue nothing more: has_finished is to tell of all that it has issued.
  virtual void stops_issuing() {}
  // Ends the streams: they finish what was issued, or drop it when the run is aborted. In a run of
  // several ranks all devices must have done so before any rank's memory or communicators go, because
  // ranks read each other's buffers. The memory stays.
  virtual void stop() = 0;

  // Memory, by the host thread.

  virtual SegmentBacking& backing() = 0;                  // of the rank's caching allocator
  virtual std::byte* pointer(Address address) const = 0;  // of committed memory; for the device
  // Memory of the host that copies reach without detour (pinned), aligned to 64 bytes. Throws where
  // there is none.
  virtual std::byte* allocate_host(Bytes bytes) = 0;
  virtual void free_host(std::byte* memory, Bytes bytes) = 0;

  // Watching, from any thread.

  // Whether everything issued under a tag up to `last` has finished, once it has been issued.
  // Graphs count as finished: the ranks whose work waits for one say so themselves.
  virtual bool has_finished(Tag last) const = 0;
  // What the rank has done so far, the host's part included.
  virtual Progress progress() const = 0;

  // Told of the stream's tasks from now on; only while the stream is idle. nullptr: nobody.
  virtual void set_observer(Stream stream, TaskObserver* observer) = 0;
  // The host thread opens and closes named ranges, for tools that show them.
  virtual void range_begin(std::string_view /*name*/, Tag /*tag*/) {}
  virtual void range_end() {}

 private:
  const int rank_;
};

// Makes the device of one rank of this process, with these streams. `threads`: of the host, for its
// kernels.
using DeviceFactory = std::function<std::unique_ptr<Device>(
    RunControl& run, int rank, std::span<const StreamInfo> streams, int threads)>;

}  // namespace foreshard::executor

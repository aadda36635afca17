// Whether a device's graphs can be trusted with the steps of a run: a small one is captured, launched
// twice over other numbers, and its results are compared with what they must be. It consists of what
// the graphs of steps do: copies from and to the host, fills, kernels, marks of progress, two streams
// that part and meet by events, and collectives of all of the rank's communicators.
//
// Ranks that communicate test together and come to the same answer, and none launches what another one
// could not capture.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "executor/communication/communicators.hpp"
#include "executor/device/device.hpp"
#include "models/allocator/virtual_segments.hpp"

namespace foreshard::executor {

class GraphSelfTest {
 public:
  GraphSelfTest(Device& device, const GroupCommunicators& communicators);
  // After the device has finished or stopped.
  ~GraphSelfTest();
  GraphSelfTest(const GraphSelfTest&) = delete;
  GraphSelfTest& operator=(const GraphSelfTest&) = delete;

  // Why steps should not be launched as graphs; empty: they may be. Before the rank's first program,
  // by its host thread; takes a segment of the device's memory while it lasts. Throws Aborted, and
  // std::runtime_error where the same cannot be done without graphs either.
  std::string run();

 private:
  std::string try_graph();
  void issue();
  void launch(float factor);
  void copy_in(std::span<std::byte> to);
  void copy_out(std::span<const std::byte> from);
  void fill(std::span<std::byte> values);
  void add(Stream stream, std::span<const std::byte> term, std::span<std::byte> sum);
  void all_reduce(Communicator& communicator, Stream stream, std::span<std::byte> values);
  std::string agreed(const std::string& trouble);
  std::span<std::byte> on_device(int array) const;
  std::span<float> on_host(int array) const;
  Tag next_tag();

  Device& device_;
  std::vector<Communicator*> communicators_;  // of several ranks
  Program program_;
  VirtualSegments segments_;
  std::byte* on_device_ = nullptr;
  std::byte* on_host_ = nullptr;
  std::unique_ptr<DeviceGraph> graph_;
  std::int32_t issued_ = 0;
};

}  // namespace foreshard::executor

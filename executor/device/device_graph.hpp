// Work that a device has been issued once, kept so that one call issues all of it again: a CUDA
// graph.
//
// It does what was issued while it was captured, in the order of streams and events, with the
// addresses and arguments of that time. What is to differ between launches has to be in memory.
#pragma once

#include "executor/device/task.hpp"

namespace foreshard::executor {

class DeviceGraph {
 public:
  DeviceGraph() = default;
  // After its launches have finished, or the device has stopped.
  virtual ~DeviceGraph() = default;
  DeviceGraph(const DeviceGraph&) = delete;
  DeviceGraph& operator=(const DeviceGraph&) = delete;

  // By the host thread. Comes after everything issued so far, and before whatever is issued later,
  // on all streams. Its tags count as `later` greater than they were when it was captured.
  virtual void launch(Tag later) = 0;
};

}  // namespace foreshard::executor

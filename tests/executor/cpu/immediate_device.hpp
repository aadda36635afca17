// A device without streams: the host does everything at once, when it is issued. That is the order in
// which a program's results are defined; other devices must get the same.
#pragma once

#include <stdexcept>
#include <string>
#include <vector>

#include "executor/cpu/cpu_device.hpp"

namespace foreshard::executor {

class ImmediateDevice : public CpuDevice {
 public:
  using CpuDevice::CpuDevice;

  void begin(const Program& program) override {
    CpuDevice::begin(program);
    is_recorded_.assign(static_cast<std::size_t>(program.events), false);
  }
  void call(Stream /*stream*/, Tag tag, const StreamTask& task) override {
    run().throw_if_aborted();
    StreamTask now = task;
    now();
    if ((tag & kUnreported) != 0) return;
    run().progress(rank()).last_instruction = tag;
    run().progress(rank()).retire();
  }
  void record(Stream /*stream*/, EventId event, Tag /*tag*/) override {
    is_recorded_[static_cast<std::size_t>(event)] = true;
  }
  // A wait for an event that is recorded later orders nothing.
  void wait(Stream /*stream*/, EventId event, Tag /*tag*/) override { host_wait(event); }
  void host_wait(EventId event) override {
    if (is_recorded_[static_cast<std::size_t>(event)]) return;
    throw std::logic_error("event " + std::to_string(event) + " is not recorded yet");
  }
  void synchronize() override { run().throw_if_aborted(); }
  bool has_finished(Tag /*last*/) const override { return true; }

 private:
  std::vector<bool> is_recorded_;
};

}  // namespace foreshard::executor

// Steps that a device does as graphs (executor/device/device_graph.hpp): where a step is the one
// before once more, its instructions need not be issued one by one.
//
// A graph has the addresses of its capture, so the host goes on walking the program: it allocates,
// frees, counts and runs out of memory as ever, and computes what is the host's. What it would
// issue at the device it only passes by, as long as every buffer gets the place that it had in the
// step before. Where the host waits for the device, and at the step's end, what has been passed by
// must be on its way: a *stretch* of the program, from one such place to the next. When a stretch
// is come to for the first time it is issued under capture, and its graph is launched; from then on
// the graph is launched at once. So of steps that are alike the first is issued, the second
// captured, and the third is the first whose stretches cost one call each; a step without waits but
// for its last one is a single graph.
//
// That work is issued late changes nothing that it computes: its order stays, and within a
// stretch no work of the host depends on the device, as it would have to wait.
//
// As soon as a buffer lies elsewhere, or memory is about to go back to the driver, or the rank
// stops for lack of memory, what was passed by is issued as it always was, and so is the rest of
// the step. Graphs are dropped at the beginning of the next step, which may be captured anew; where
// that comes to nothing a few times in a row, the run goes on without graphs.
//
// What differs from step to step lies in memory: tokens and losses in buffers of the host, which
// are copied within the graph, and the optimizer's numbers in the device's (Device::set_scalars).
// Other numbers are the kernels' arguments; where one of them changes, so does the step.
//
// Not with graphs: recorded runs, as events belong to instructions; poison, as it follows each
// allocation; runs that wait for each instruction; ranks that meet on the host in each collective;
// devices that have none.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "executor/communication/communicators.hpp"
#include "executor/device/device.hpp"
#include "executor/graphs/graph_self_test.hpp"
#include "models/program/step_program.hpp"

namespace foreshard::executor {

struct GraphReport {
  std::int64_t steps_launched = 0;  // as graphs, and as nothing else
  std::string reason;               // why not more, where there is one
};

class StepGraphs {
 public:
  // Issues the instructions [first, last) of the program at hand.
  using Issue = std::function<void(std::int32_t first, std::int32_t last)>;

  // `why_not`: why there are none; empty: there may be.
  StepGraphs(Device& device, std::string why_not, Issue issue);

  // Before the first program: there are none unless a small one passes a test. `communicators`: of
  // the rank. Throws what the test does.
  void test(const GroupCommunicators& communicators);

  // By the interpreter, as it walks a program.

  void begin(const Program& program, std::int64_t step, const KernelScalars& scalars);
  // Whether the work of the next instruction is left for later.
  bool defers() const { return defers_; }
  void defer() { ++deferred_; }
  // The allocation at `instruction` got this place.
  void placed(const std::byte* place, std::int32_t instruction);
  // What comes before the instruction has to be on its way.
  void reach(std::int32_t instruction);
  // The same without a graph, and so is the rest of the step.
  void give_up(std::int32_t instruction, const std::string& reason);
  // Memory that graphs may refer to goes.
  void forget(std::int32_t instruction);
  // The program has been walked, all its instructions.
  void end(std::int32_t instructions);

  // After the device has finished or stopped, before its communicators go.
  void drop();
  GraphReport report() const;

 private:
  struct Stretch {
    std::unique_ptr<DeviceGraph> graph;
    std::int64_t step = 0;  // of the capture
  };
  static constexpr int kMostAttempts = 3;  // without a step that was launched in between
  bool capture(std::int32_t last);

  Device& device_;
  const Issue issue_;
  std::string why_not_;  // for good
  GraphReport report_;
  std::unique_ptr<GraphSelfTest> test_;  // while it lasts, or where the run ended in it

  // Of the step before, or of the one at hand as far as it has come.
  const Program* program_ = nullptr;
  KernelScalars scalars_;
  std::vector<const std::byte*> places_;  // by allocation
  bool is_whole_ = false;                 // it has come to its end

  std::vector<Stretch> stretches_;
  bool are_stale_ = false;  // they are not launched any more
  int attempts_ = 0;        // that have come to nothing

  std::int64_t step_ = 0;
  bool defers_ = false;
  std::int32_t first_ = 0;     // instruction of the stretch at hand
  std::int64_t deferred_ = 0;  // instructions of it whose work is left for later
  std::size_t allocation_ = 0, stretch_ = 0;
};

}  // namespace foreshard::executor

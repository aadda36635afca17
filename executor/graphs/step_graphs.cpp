#include "executor/graphs/step_graphs.hpp"

#include <stdexcept>
#include <utility>

#include "executor/device/tags.hpp"

namespace foreshard::executor {
namespace {

// Whether kernels get the same arguments: the learning rate and the step's number are none of them.
bool are_alike(KernelScalars a, const KernelScalars& b) {
  a.lr = b.lr;
  a.optimizer_step = b.optimizer_step;
  return a == b;
}

}  // namespace

StepGraphs::StepGraphs(Device& device, std::string why_not, Issue issue)
    : device_(device), issue_(std::move(issue)), why_not_(std::move(why_not)) {}

void StepGraphs::test(const GroupCommunicators& communicators) {
  if (!why_not_.empty()) return;
  test_ = std::make_unique<GraphSelfTest>(device_, communicators);
  why_not_ = test_->run();
  test_.reset();
}

void StepGraphs::begin(const Program& program, std::int64_t step, const KernelScalars& scalars) {
  if (!why_not_.empty()) return;
  const bool is_alike = is_whole_ && program_ == &program && are_alike(scalars_, scalars);
  if (std::exchange(are_stale_, false) || !is_alike) {
    if (!stretches_.empty()) device_.synchronize();
    stretches_.clear();
  }
  program_ = &program;
  scalars_ = scalars;
  step_ = step;
  defers_ = is_alike;
  is_whole_ = false;
  first_ = 0;
  deferred_ = 0;
  allocation_ = stretch_ = 0;
}

void StepGraphs::placed(const std::byte* place, std::int32_t instruction) {
  if (!why_not_.empty()) return;
  if (allocation_ == places_.size()) places_.push_back(nullptr);
  const std::byte*& before = places_[allocation_++];
  if (before != place) give_up(instruction, "buffers lay elsewhere than in the step before");
  before = place;
}

void StepGraphs::reach(std::int32_t instruction) {
  if (!defers_) return;
  if (deferred_ > 0) {
    if (stretch_ == stretches_.size() && !capture(instruction)) return;
    const Stretch& stretch = stretches_[stretch_++];
    stretch.graph->launch(tag_of(step_, 0) - tag_of(stretch.step, 0));
  }
  first_ = instruction;
  deferred_ = 0;
}

bool StepGraphs::capture(std::int32_t last) {
  std::string refused = "this device has none";
  try {
    if (auto graph = device_.capture([&] { issue_(first_, last); })) {
      stretches_.push_back({std::move(graph), step_});
      return true;
    }
  } catch (const Aborted&) {
    throw;
  } catch (const std::runtime_error& error) {
    refused = std::string("the step cannot be captured: ") + error.what();
  }
  give_up(last, refused);
  why_not_ = refused;
  return false;
}

void StepGraphs::give_up(std::int32_t instruction, const std::string& reason) {
  if (!std::exchange(defers_, false)) return;
  report_.reason = reason;
  are_stale_ = true;
  if (++attempts_ == kMostAttempts) why_not_ = reason;
  issue_(first_, instruction);
}

void StepGraphs::forget(std::int32_t instruction) {
  give_up(instruction, "memory went back to the driver");
  are_stale_ = true;
}

void StepGraphs::end(std::int32_t instructions) {
  reach(instructions);
  is_whole_ = true;
  if (!std::exchange(defers_, false)) return;
  ++report_.steps_launched;
  attempts_ = 0;
}

void StepGraphs::drop() {
  test_.reset();
  stretches_.clear();
  defers_ = is_whole_ = false;
}

GraphReport StepGraphs::report() const {
  GraphReport report = report_;
  if (!why_not_.empty()) report.reason = why_not_;
  if (report.steps_launched == 0 && report.reason.empty()) {
    report.reason = "no step was like the one before";
  }
  return report;
}

}  // namespace foreshard::executor

// When steps are issued, captured and launched: steps of two stretches, on a device that writes
// down what it is asked for.
#include "executor/graphs/step_graphs.hpp"

#include <array>
#include <stdexcept>

#include <gtest/gtest.h>

#include "executor/device/tags.hpp"
#include "tests/executor/cpu/immediate_device.hpp"

namespace foreshard::executor {
namespace {

class WritingDevice final : public ImmediateDevice {
 public:
  using ImmediateDevice::ImmediateDevice;

  // "capture(...) ", and at a launch how many steps after the capture.
  std::unique_ptr<DeviceGraph> capture(const std::function<void()>& issue) override {
    written += "capture( ";
    issue();
    written += ") ";
    if (refuses) throw std::runtime_error("not this");
    return std::make_unique<Graph>(written);
  }

  std::string written;
  bool refuses = false;

 private:
  struct Graph final : DeviceGraph {
    explicit Graph(std::string& text) : written(text) {}
    ~Graph() override { written += "drop "; }
    void launch(Tag later) override {
      written += "launch+" + std::to_string(step_of(later)) + " ";
      EXPECT_EQ(instruction_of(later), 0);
    }
    std::string& written;
  };
};

class StepGraphsTest : public testing::Test {
 protected:
  using Places = std::array<int, 2>;

  // A step: 0 allocates, 1 works, 2 works; 3 waits; 4 allocates, 5 works. Before `gone` memory goes
  // back to the driver.
  std::string step(const Places& places = {1, 2}, std::int32_t gone = -1) {
    device_.written.clear();
    graphs_.begin(*program_, ++step_, scalars_);
    for (std::int32_t i = 0; i < 6; ++i) {
      if (i == gone) graphs_.forget(i);
      if (i == 0 || i == 4) {
        graphs_.placed(&memory_[static_cast<std::size_t>(places[i == 0 ? 0 : 1])], i);
      } else if (i == 3) {
        graphs_.reach(i);
        device_.written += "wait ";
      } else if (graphs_.defers()) {
        graphs_.defer();
      } else {
        issue(i, i + 1);
      }
    }
    graphs_.end(6);
    return device_.written;
  }
  void issue(std::int32_t first, std::int32_t last) {
    for (std::int32_t i = first; i < last; ++i) {
      if (i % 4 != 0 && i != 3) device_.written += std::to_string(i) + " ";
    }
  }

  const std::string issued_ = "1 2 wait 5 ";
  const std::string captured_ = "capture( 1 2 ) launch+0 wait capture( 5 ) launch+0 ";

  std::array<std::byte, 8> memory_{};
  RunControl run_{1};
  WritingDevice device_{run_, 0, fsdp2_streams()};
  Program programs_[2];
  const Program* program_ = &programs_[0];
  KernelScalars scalars_;
  std::int64_t step_ = 0;
  StepGraphs graphs_{device_, "",
                     [this](std::int32_t first, std::int32_t last) { issue(first, last); }};
};

TEST_F(StepGraphsTest, TheSecondOfTwoAlikeIsCaptured) {
  EXPECT_EQ(step(), issued_);
  EXPECT_EQ(graphs_.report().reason, "no step was like the one before");
  EXPECT_EQ(step(), captured_);
  scalars_.lr = 0.5;
  scalars_.optimizer_step = 3;
  EXPECT_EQ(step(), "launch+1 wait launch+1 ");
  EXPECT_EQ(step(), "launch+2 wait launch+2 ");
  EXPECT_EQ(graphs_.report().steps_launched, 3);
  EXPECT_EQ(graphs_.report().reason, "");
}

TEST_F(StepGraphsTest, OtherProgramsAndNumbersAreIssued) {
  step();
  step();
  program_ = &programs_[1];
  EXPECT_EQ(step(), "drop drop " + issued_);
  EXPECT_EQ(step(), captured_);
  scalars_.weight_decay = 0.5;
  EXPECT_EQ(step(), "drop drop " + issued_);
  EXPECT_EQ(step(), captured_);
}

TEST_F(StepGraphsTest, WhereABufferHasMovedTheRestIsIssued) {
  step();
  step();
  EXPECT_EQ(step({1, 3}), "launch+1 wait 5 ");
  EXPECT_EQ(step({1, 3}), "drop drop " + captured_);
  EXPECT_EQ(step({4, 3}), issued_);
  EXPECT_EQ(graphs_.report().reason, "buffers lay elsewhere than in the step before");
}

TEST_F(StepGraphsTest, WhatIsLeftForLaterIsIssuedBeforeMemoryGoes) {
  step();
  step();
  EXPECT_EQ(step({1, 2}, 2), issued_);
  EXPECT_EQ(step(), "drop drop " + captured_);
  EXPECT_EQ(step({1, 2}, 5), "launch+1 wait 5 ");
  device_.written.clear();
  graphs_.forget(6);
  EXPECT_EQ(device_.written, "") << "between steps nothing is left";
}

TEST_F(StepGraphsTest, AttemptsThatComeToNothingEnd) {
  step();
  for (int attempt = 0; attempt < 3; ++attempt) step({3 + attempt, 2});
  EXPECT_EQ(step({5, 2}), issued_);
  EXPECT_EQ(step({5, 2}), issued_);
  EXPECT_EQ(graphs_.report().steps_launched, 0);
  EXPECT_EQ(graphs_.report().reason, "buffers lay elsewhere than in the step before");
}

TEST_F(StepGraphsTest, ARefusedCaptureIsTheLast) {
  device_.refuses = true;
  step();
  EXPECT_EQ(step(), "capture( 1 2 ) " + issued_);
  EXPECT_EQ(step(), issued_);
  EXPECT_EQ(graphs_.report().reason, "the step cannot be captured: not this");
}

}  // namespace
}  // namespace foreshard::executor

// Which unit's own work a thread is in: the same answer for every importer.
#include "traces/meaning/fsdp_scopes.hpp"

#include <string>

#include <gtest/gtest.h>

namespace foreshard::traces {
namespace {

class Thread {
 public:
  Thread& range(const std::string& name) {
    const std::string text = "FSDP::" + name;  // which the annotation's parts point into
    const Annotation meaning = annotation_of(text);
    scopes_.change(meaning.scope, std::string(meaning.unit), std::string(meaning.phase));
    return *this;
  }
  std::string now() const { return scopes_.current().unit + " " + scopes_.current().phase; }

 private:
  FsdpScopes<std::string> scopes_;
};

TEST(FsdpScopes, TheOuterUnitGoesOnWhenAnInnerOneEnds) {
  Thread thread;
  thread.range("root_pre_forward").range("pre_forward");
  EXPECT_EQ(thread.now(), "root forward");
  thread.range("pre_forward (layers.0)");
  EXPECT_EQ(thread.now(), "layers.0 forward");
  thread.range("post_forward (layers.0)");
  EXPECT_EQ(thread.now(), "root forward");
  thread.range("post_forward");
  EXPECT_EQ(thread.now(), " ");
}

TEST(FsdpScopes, AUnitEndsOnceAndInItsOwnPhase) {
  Thread thread;
  thread.range("pre_backward").range("pre_backward (layers.1)");
  thread.range("post_forward (layers.1)");  // of a recomputation that did not begin here
  EXPECT_EQ(thread.now(), "layers.1 backward");
  thread.range("post_backward_accumulate (layers.1)").range("post_backward_reshard (layers.1)");
  thread.range("post_backward_reduce (layers.1)");
  EXPECT_EQ(thread.now(), "root backward");
}

TEST(FsdpScopes, WhatIsOpenInsideOfAUnitThatEndsHasLostItsEnd) {
  Thread thread;
  thread.range("pre_forward").range("pre_forward (layers.0)").range("pre_forward (layers.0.mlp)");
  thread.range("post_forward (layers.0)");
  EXPECT_EQ(thread.now(), "root forward");
  thread.range("finalize_backward");
  EXPECT_EQ(thread.now(), " ");
}

TEST(FsdpScopes, ARecordingWithoutEndsKeepsTheLatest) {
  Thread thread;
  for (int i = 0; i < 5000; ++i) thread.range("pre_forward (layers." + std::to_string(i) + ")");
  EXPECT_EQ(thread.now(), "layers.4999 forward");
}

}  // namespace
}  // namespace foreshard::traces

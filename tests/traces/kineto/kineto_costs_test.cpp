// Which kernels carry their operator's cost key, and collectives on threads of a backend.
#include <string>

#include <gtest/gtest.h>

#include "tests/traces/kineto/kineto_sample.hpp"

namespace foreshard::traces {
namespace {

std::string event(const std::string& category, const std::string& name, int thread, double start,
                  double duration, const std::string& arguments) {
  return R"({"ph":"X","cat":")" + category + R"(","name":")" + name + R"(","pid":1,"tid":)" +
         std::to_string(thread) + R"(,"ts":)" + std::to_string(start) + R"(,"dur":)" +
         std::to_string(duration) + R"(,"args":{)" + arguments + "}},";
}

std::string call(double start, int correlation) {
  return event("cuda_runtime", "cudaLaunchKernel", 1, start, 1,
               R"("correlation":)" + std::to_string(correlation));
}

std::string kernel(double start, int correlation) {
  return event("kernel", "k" + std::to_string(correlation), 7, start, 4,
               R"("device":0,"stream":7,"correlation":)" + std::to_string(correlation));
}

// Adds two tensors inside, which is a part of it.
const std::string kProduct = event("cpu_op", "aten::mm", 1, 10, 20,
                                   R"("Input Dims":[[4,8],[8,2]],"Input type":["float","float"])") +
                             event("cpu_op", "aten::add_", 1, 20, 5,
                                   R"("Input Dims":[[4,2],[4,2]],"Input type":["float","float"])");

std::string key_of(const Trace& trace, const std::string& name) {
  return trace.strings[event_named(trace, name).cost_key];
}

Trace imported(std::string events) {
  events.pop_back();
  return import_text(kineto_file(events));
}

TEST(KinetoCosts, AllKernelsOfAnOperatorHaveItsKey) {
  const Trace trace =
      imported(kProduct + call(12, 1) + call(22, 2) + kernel(40, 1) + kernel(50, 2));
  EXPECT_EQ(key_of(trace, "k1"), "matmul fp32 4 2 8");
  EXPECT_EQ(key_of(trace, "k2"), "matmul fp32 4 2 8");
}

TEST(KinetoCosts, NoneHasItWhereOneIsMissing) {
  const Trace trace = imported(kProduct + call(12, 1) + call(22, 2) + kernel(40, 1));
  EXPECT_EQ(key_of(trace, "k1"), "");
}

constexpr const char* kGather =
    R"("Input Dims":[[8],[4],[],[],[]],"Input type":["float","float","","Scalar","Scalar"])";
constexpr const char* kPart = R"("Input Dims":[[4]],"Input type":["float"])";

std::string gathers_of_two_units(double second_range) {
  return event("user_annotation", "FSDP::all_gather (a)", 1, 10, 20, R"("x":1)") +
         event("cpu_op", "c10d::_allgather_base_", 1, 12, 2, kGather) +
         event("user_annotation", "FSDP::all_gather (b)", 1, 40, 20, R"("x":1)") +
         event("cpu_op", "c10d::_allgather_base_", 1, 42, 2, kGather) +
         event("user_annotation", "gloo:all_gather", 5, 20, 5, kPart) +
         event("user_annotation", "gloo:all_gather", 6, second_range, 5, kPart);
}

std::string units(const Trace& trace) {
  std::string out;
  for (const Event& one : trace.events) {
    if (trace.strings[one.name] == "gloo:all_gather") out += trace.strings[one.unit] + ",";
  }
  return out;
}

// Whatever the kernel is called: the recording says so, or the operator does that launched it.
TEST(KinetoCosts, WhatIsCommunicationMayBeSaidElsewhere) {
  const Trace trace =
      imported(event("cpu_op", "symm_mem::fused_all_gather", 1, 0, 40, "") +
               event("cpu_op", "aten::mm", 1, 20, 10, "") + call(10, 1) + call(25, 2) +
               call(50, 3) + kernel(100, 1) + kernel(110, 2) +
               event("kernel", "k3", 7, 120, 4,
                     R"("device":0,"stream":7,"correlation":3,"Collective name":"allreduce")") +
               event("gpu_memcpy", "Memcpy PtoP (Device -> Device)", 7, 130, 4,
                     R"("device":0,"stream":7,"correlation":4,"bytes":512)"));
  EXPECT_EQ(event_named(trace, "k1").kind, EventKind::communication);
  EXPECT_EQ(event_named(trace, "k2").kind, EventKind::compute);
  EXPECT_EQ(event_named(trace, "k3").kind, EventKind::communication);
  EXPECT_EQ(event_named(trace, "Memcpy PtoP (Device -> Device)").kind, EventKind::communication);
  EXPECT_EQ(event_named(trace, "Memcpy PtoP (Device -> Device)").bytes, 512);
}

TEST(KinetoCosts, CollectivesAreOfTheirProcessGroup) {
  const Trace trace = imported(
      event("kernel", "ncclDevKernel_AllGather", 7, 10, 4,
            R"("device":0,"stream":7,"Collective name":"_allgather_base","Process Group Name":"3",)"
            R"("Process Group Ranks":"[0, 2]","Seq":0)"));
  const Event gather = event_named(trace, "ncclDevKernel_AllGather");
  EXPECT_EQ(trace.strings[gather.group], "3 [0, 2]");
  EXPECT_EQ(gather.sequence, 1);
}

TEST(KinetoCosts, CollectivesOfABackendAreOfTheirCalls) {
  const Trace trace = imported(gathers_of_two_units(50));
  EXPECT_EQ(units(trace), "a,b,");
  EXPECT_FALSE(trace.metadata.contains("unrelated_collectives"));
}

TEST(KinetoCosts, CollectivesWithoutACallStayWithout) {
  // The second begins before its call: one of the two is of a call that is not recorded.
  const Trace trace = imported(gathers_of_two_units(30));
  EXPECT_EQ(units(trace), ",,");
  EXPECT_EQ(trace.metadata.at("unrelated_collectives"), "2");
}

}  // namespace
}  // namespace foreshard::traces

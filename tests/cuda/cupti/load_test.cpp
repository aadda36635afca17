// Which CUPTI records a process: that of its CUDA.
#include <cstdlib>

#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "profiler/record/cupti/activity_recorder.hpp"

namespace foreshard::profiler {
namespace {

// What is loaded stays, so that each is asked in a process of its own.
void print_library() {
  const auto recorder = load_activity_recorder(FORESHARD_MODULE_FOLDER);
  const std::string answer = recorder ? (*recorder)->library() : recorder.error().text();
  static_cast<void>(std::fprintf(stderr, "%s\n", answer.c_str()));
  std::_Exit(0);
}

TEST(Cupti, IsThatOfTheRuntimeOfTheProcess) {
  ASSERT_EQ(setenv("FORESHARD_LIBRARY_PATH", FORESHARD_CUDA_12, 1), 0);
  EXPECT_EXIT(print_library(), testing::ExitedWithCode(0), "libcupti\\.so\\.13");
  ASSERT_NE(dlopen(FORESHARD_CUDA_12 "/libcudart.so.12", RTLD_NOW), nullptr) << dlerror();
  EXPECT_EXIT(print_library(), testing::ExitedWithCode(0), "cuda12/libcupti\\.so\\.12");
}

TEST(Cupti, OfCuda13RecordsAProcessOfCuda12WithoutItsOwn) {
  ASSERT_EQ(unsetenv("FORESHARD_LIBRARY_PATH"), 0);
  ASSERT_NE(dlopen(FORESHARD_CUDA_12 "/libcudart.so.12", RTLD_NOW), nullptr) << dlerror();
  EXPECT_EXIT(print_library(), testing::ExitedWithCode(0), "libcupti\\.so\\.13");
}

}  // namespace
}  // namespace foreshard::profiler

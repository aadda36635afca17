// What the program says where it was built without CUDA or MPI: their modules are not there.
#include <gtest/gtest.h>

#include "tests/cli/program_runner.hpp"

namespace foreshard::cli_tests {
namespace {

TEST(MissingModules, AreNamedWithWhatTheyNeed) {
  const Workplace place;
  for (const auto& [flag, value, library, needed] :
       {std::tuple("--device", "cuda", "libforeshard_cuda.so", "CUDA 13"),
        {"--comm", "mpi", "libforeshard_mpi.so", "OpenMPI"}}) {
    const Outcome outcome = place.run(job("train", 2, {"--steps", "1", flag, value}),
                                      {{"FORESHARD_MODULES", place.path("").string()}});
    EXPECT_NE(outcome.status, 0);
    EXPECT_TRUE(
        outcome.err.starts_with(std::string("foreshard: error: ") + flag + ": " + value + ": "))
        << outcome.err;
    for (const char* word : {library, needed, "; expected "}) {
      EXPECT_NE(outcome.err.find(word), std::string::npos) << word << " in: " << outcome.err;
    }
    EXPECT_EQ(outcome.out, "");
  }
}

}  // namespace
}  // namespace foreshard::cli_tests

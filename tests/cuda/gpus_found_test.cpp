// What `--device cuda` says of a machine on which nothing can be trained: no driver, no GPU, or one that
// is too old. The emulated runtime lacks them, as a real one differs from machine to machine.
#include <gtest/gtest.h>

#include "tests/cli/program_runner.hpp"

namespace foreshard::cli_tests {
namespace {

struct Machine {
  const char *name, *variable, *value, *sentence;

  friend std::ostream& operator<<(std::ostream& out, const Machine& m) { return out << m.name; }
};

class GpusFound : public testing::TestWithParam<Machine> {};

TEST_P(GpusFound, ASentenceSaysWhatIsMissing) {
  const Workplace place;
  const auto before = place.files();
  const Outcome outcome = place.run(
      job("train", 2, {"--steps", "1", "--device", "cuda", "--json", "run.json"}),
      {{"FORESHARD_MODULES", FORESHARD_EMULATED_MODULES}, {GetParam().variable, GetParam().value}});
  EXPECT_EQ(outcome.status, 1);
  EXPECT_EQ(outcome.err,
            std::string("foreshard: error: --device: cuda: ") + GetParam().sentence + "\n");
  EXPECT_EQ(outcome.out, "");
  EXPECT_EQ(place.files(), before);
}

INSTANTIATE_TEST_SUITE_P(
    Machines, GpusFound,
    testing::Values(
        Machine{"NoDriver", "FORESHARD_HOST_CUDA_DRIVER", "0",
                "there is no NVIDIA driver on this machine; expected one, or --device cpu"},
        Machine{"NoGpu", "FORESHARD_HOST_CUDA_DEVICES", "0",
                "no GPU is visible to this process; expected one (CUDA_VISIBLE_DEVICES may hide "
                "it), or --device cpu"},
        Machine{"TooOld", "FORESHARD_HOST_CUDA_CAPABILITY", "75",
                "Foreshard's host device has compute capability 7.5; expected 8.0 or later"}),
    [](const auto& param) { return param.param.name; });

}  // namespace
}  // namespace foreshard::cli_tests

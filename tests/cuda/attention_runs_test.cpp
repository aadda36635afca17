// `foreshard train` and `predict` with each way to compute attention: both say which it is, and memory is the predicted
// to the byte. cuDNN is the stand-in.
#include <fstream>

#include <gtest/gtest.h>

#include "tests/cli/program_runner.hpp"

namespace foreshard::cli_tests {
namespace {

using nlohmann::json;
using Arguments = std::vector<std::string>;

class AttentionRuns : public testing::Test {
 protected:
  enum class Cudnn { absent, present, refuses };
  json run_with(const char* command, Cudnn cudnn, Arguments more) const {
    more.insert(more.end(), {"--device", "cuda", "--json", "out.json"});
    const Outcome outcome =
        place.run(job(command, 2, more),
                  {{"FORESHARD_MODULES", cudnn == Cudnn::absent ? FORESHARD_HOST_CUDA_MODULES
                                                                : FORESHARD_HOST_CUDNN_MODULES},
                   {"FORESHARD_HOST_CUDNN", cudnn == Cudnn::refuses ? "refuses" : ""}});
    EXPECT_EQ(outcome.status, 0) << outcome.err;
    last_words_ = outcome.err;
    return json::parse(std::ifstream(place.path("out.json")), nullptr, false);
  }
  json train(Cudnn cudnn, Arguments more = {}) const {
    more.insert(more.end(), {"--steps", "3"});
    return run_with("train", cudnn, std::move(more));
  }

  const Workplace place;
  mutable std::string last_words_;

  void SetUp() override {
    json model = small_llama();
    model["head_dim"] = 64;  // so that attention takes the most memory
    place.write("model/config.json", model.dump());
    place.write("plan.toml",
                "[batch]\nmicro_batch = 2\nsequence = 48\n[precision]\nparam = \"bf16\"\n");
  }
};

TEST_F(AttentionRuns, TakeThePredictedMemoryByEachKernel) {
  struct Case {
    Cudnn cudnn;
    Arguments options;
    const char* attention;
  };
  std::map<std::string, json> peaks;
  for (const Case& c : {Case{Cudnn::absent, {}, "plain"},
                        {Cudnn::present, {}, "cuDNN"},
                        {Cudnn::present, {"--deterministic"}, "cuDNN, deterministic"},
                        {Cudnn::present, {"--attention", "plain"}, "plain"}}) {
    SCOPED_TRACE(c.attention);
    const json ran = train(c.cudnn, c.options);
    Arguments options = c.options;
    options.insert(options.end(), {"--steps", "3"});
    const json here = run_with("predict", c.cudnn, options);
    // Of a machine that is not here, cuDNN is assumed unless told otherwise.
    options.insert(options.end(), {"--machine", "h100-sxm", "--operators", "foreshard"});
    if (c.cudnn == Cudnn::absent) options.insert(options.end(), {"--attention", "plain"});
    const json elsewhere = run_with("predict", Cudnn::absent, options);
    EXPECT_EQ(ran.at("attention"), c.attention);
    EXPECT_EQ(ran.at("warnings"), json::array());
    for (const json& predicted : {here, elsewhere}) {
      EXPECT_EQ(predicted.at("attention"), c.attention);
      for (const char* field : {"ranks_memory", "steps_memory"}) {
        EXPECT_EQ(predicted.at(field), ran.at(field)) << field;
      }
    }
    const std::string library = ran.at("gpu_libraries").at("attention");
    EXPECT_EQ(library.find("cuDNN") == 0, c.attention[0] == 'c') << library;
    EXPECT_EQ(library.ends_with(", deterministic"),
              c.attention == std::string("cuDNN, deterministic"));
    peaks[c.attention] = ran.at("ranks_memory");
  }
  EXPECT_NE(peaks.at("plain"), peaks.at("cuDNN")) << "the plan is to have its peak in attention";
}

TEST_F(AttentionRuns, GoOnWithTheSameMemoryWhereCudnnRefuses) {
  const json took = train(Cudnn::present), refused = train(Cudnn::refuses);
  EXPECT_NE(last_words_.find("attention is computed by the plain kernel, not by cuDNN: the test "
                             "wants no launch"),
            std::string::npos)
      << last_words_;
  ASSERT_EQ(refused.at("warnings").size(), 1) << "both ranks say the same";
  EXPECT_EQ(refused.at("ranks_memory"), took.at("ranks_memory"));
  EXPECT_EQ(refused.at("steps").at(0).at("loss"),
            train(Cudnn::absent).at("steps").at(0).at("loss"));
  EXPECT_NEAR(refused.at("steps").at(2).at("loss"), took.at("steps").at(2).at("loss"), 1e-2);
}

TEST_F(AttentionRuns, AreTheSameBitsWhereTheyAreDeterministic) {
  const auto weights = [&](const std::string& name) {
    train(Cudnn::present, {"--deterministic", "--export-weights", name});
    return place.read(name);
  };
  EXPECT_TRUE(weights("a.safetensors") == weights("b.safetensors"));
}

TEST_F(AttentionRuns, TuneProductsOnRequest) {
  const json first = train(Cudnn::absent), tuned = train(Cudnn::absent, {"--tune"});
  EXPECT_EQ(first.at("tuned_products"), false);
  EXPECT_EQ(tuned.at("tuned_products"), true);
  EXPECT_EQ(tuned.at("ranks_memory"), first.at("ranks_memory"));
  EXPECT_EQ(tuned.at("steps").at(2).at("loss"), first.at("steps").at(2).at("loss"))
      << "there is one kernel to choose from";
  const Outcome both =
      place.run(job("train", 2, {"--steps", "1", "--device", "cuda", "--tune", "--deterministic"}),
                {{"FORESHARD_MODULES", FORESHARD_HOST_CUDA_MODULES}});
  EXPECT_EQ(both.status, 2);
  EXPECT_NE(both.err.find("--tune"), std::string::npos) << both.err;
}

TEST_F(AttentionRuns, RefuseAKernelThatIsNotThere) {
  const Outcome missing =
      place.run(job("train", 1, {"--steps", "1", "--device", "cuda", "--attention", "cudnn"}),
                {{"FORESHARD_MODULES", FORESHARD_HOST_CUDA_MODULES}});
  EXPECT_EQ(missing.status, 2);
  EXPECT_NE(missing.err.find("--attention"), std::string::npos) << missing.err;
  const Outcome on_cpu = place.run(job("train", 1, {"--steps", "1", "--attention", "plain"}));
  EXPECT_EQ(on_cpu.status, 2);
}

}  // namespace
}  // namespace foreshard::cli_tests

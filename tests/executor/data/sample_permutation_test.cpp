// The order of shuffled samples: each once in an epoch, other orders for other epochs and seeds.
#include "executor/data/sample_permutation.hpp"

#include <cmath>
#include <vector>

#include <gtest/gtest.h>

namespace foreshard::executor {
namespace {

std::vector<std::int64_t> order(std::uint64_t seed, std::int64_t epoch, std::int64_t samples) {
  const SamplePermutation permutation(seed, epoch, samples);
  std::vector<std::int64_t> order;
  for (std::int64_t place = 0; place < samples; ++place) {
    order.push_back(permutation.sample_at(place));
  }
  return order;
}

TEST(SamplePermutation, VisitsEachSampleOnce) {
  for (const std::int64_t samples :
       {1, 2, 3, 4, 5, 15, 16, 17, 100, 255, 257, 1000, 4097, 65'537}) {
    for (const std::int64_t epoch : {0, 1, 7}) {
      std::vector<int> visits(static_cast<std::size_t>(samples));
      for (const std::int64_t sample : order(3, epoch, samples)) {
        ++visits.at(static_cast<std::size_t>(sample));
      }
      for (const int n : visits) ASSERT_EQ(n, 1) << samples << ", epoch " << epoch;
    }
  }
}

TEST(SamplePermutation, DiffersByEpochAndSeed) {
  EXPECT_EQ(order(1, 0, 500), order(1, 0, 500));
  EXPECT_NE(order(1, 0, 500), order(1, 1, 500));
  EXPECT_NE(order(1, 0, 500), order(2, 0, 500));
  EXPECT_NE(order(1, 1, 500), order(2, 0, 500));
}

// Of n places a random order leaves one in its place on average, neighbours are far apart, and each sample
// comes to each quarter of the places alike: chi-square of 3 degrees of freedom, whose 99.99 % is 21.
TEST(SamplePermutation, LooksRandom) {
  constexpr std::int64_t kSamples = 1000, kEpochs = 200;
  double in_place = 0, apart = 0;
  std::vector<double> quarters(4);
  for (std::int64_t epoch = 0; epoch < kEpochs; ++epoch) {
    const std::vector<std::int64_t> samples = order(5, epoch, kSamples);
    for (std::size_t i = 0; i < samples.size(); ++i) {
      in_place += samples[i] == static_cast<std::int64_t>(i) ? 1 : 0;
      if (i > 0) apart += std::abs(static_cast<double>(samples[i] - samples[i - 1]));
      if (samples[i] == 123) ++quarters[4 * i / samples.size()];
    }
  }
  EXPECT_NEAR(in_place / kEpochs, 1, 0.4);
  EXPECT_NEAR(apart / (kEpochs * (kSamples - 1)), kSamples / 3.0, kSamples / 100.0);
  double chi = 0;
  for (const double n : quarters)
    chi += (n - kEpochs / 4.0) * (n - kEpochs / 4.0) / (kEpochs / 4.0);
  EXPECT_LT(chi, 21);
}

// Far along in very many samples, where nothing could be stored.
TEST(SamplePermutation, HasPlacesAnywhere) {
  constexpr std::int64_t kSamples = std::int64_t{1} << 45;
  const SamplePermutation permutation(9, 2, kSamples);
  for (const std::int64_t place : {std::int64_t{0}, kSamples / 3, kSamples - 1}) {
    const std::int64_t sample = permutation.sample_at(place);
    EXPECT_GE(sample, 0);
    EXPECT_LT(sample, kSamples);
    EXPECT_EQ(sample, permutation.sample_at(place));
  }
}

}  // namespace
}  // namespace foreshard::executor

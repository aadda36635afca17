// Figures as text, and figures that stand for many.
#include "models/base/figures.hpp"

#include <clocale>
#include <cstdint>
#include <limits>

#include <gtest/gtest.h>

#include "models/base/statistics.hpp"

namespace foreshard {
namespace {

TEST(Figures, HaveOneFormEach) {
  EXPECT_EQ(binary_bytes(138 * 1024 * 1024), "138.00 MiB");
  EXPECT_EQ(binary_bytes(1536), "1.50 KiB");
  EXPECT_EQ(binary_bytes(-512), "-512 B");
  EXPECT_EQ(binary_bytes(std::int64_t{3} << 30), "3.00 GiB");
  EXPECT_EQ(duration(0), "0 ms");
  EXPECT_EQ(duration(45'600), "45.60 us");
  EXPECT_EQ(duration(12'304'000), "12.30 ms");
  EXPECT_EQ(duration(1'673'000), "1.673 ms");
  EXPECT_EQ(duration(4'560), "4.560 us");
  EXPECT_EQ(duration(830'710), "830.7 us");
  EXPECT_EQ(duration(999'960'000), "1.000 s");
  EXPECT_EQ(duration(1'234'600'000'000), "1235 s");
  EXPECT_EQ(duration(130), "130 ns");
  EXPECT_EQ(duration(-1'500'000), "-1.500 ms");
  EXPECT_EQ(duration(1'230'000'000), "1.230 s");
  EXPECT_EQ(milliseconds(12'345'678), "12.346 ms");
  EXPECT_EQ(in_milliseconds(12'345'678), "12.346");
  EXPECT_EQ(in_milliseconds(12'345'678, 1), "12.3");
  EXPECT_EQ(percent(1.0, 8.0), "12.5 %");
  EXPECT_EQ(signed_percent(1, 8), "+12.5 %");
  EXPECT_EQ(signed_percent(-1, 8), "-12.5 %");
  EXPECT_EQ(signed_percent(0, 8), "0.0 %");
  EXPECT_EQ(signed_percent(1, 0), "-");
  EXPECT_EQ(percent(std::int64_t{1}, std::int64_t{0}), "-");
  EXPECT_EQ(plural(1, "rank"), "1 rank");
  EXPECT_EQ(plural(0, "rank"), "0 ranks");
  EXPECT_EQ(with_thousands(1'234'567), "1,234,567");
  EXPECT_EQ(with_thousands(-123), "-123");
  EXPECT_EQ(with_thousands(-1234), "-1,234");
}

TEST(Figures, HaveAPointWhateverTheLocale) {
  const std::string before = std::setlocale(LC_NUMERIC, nullptr);
  if (std::setlocale(LC_NUMERIC, "de_DE.UTF-8") == nullptr) {
    GTEST_SKIP() << "needs the locale de_DE.UTF-8 (package locales-all of Debian)";
  }
  EXPECT_EQ(formatted("%.2f of %s", 1.5, "all"), "1.50 of all");
  EXPECT_EQ(to_fixed(1.5, 2), "1.50");
  std::setlocale(LC_NUMERIC, before.c_str());
}

TEST(Figures, IdentifiersAreHexadecimal) {
  EXPECT_EQ(hexadecimal(0xc0d297fd8ef8ba53), "c0d297fd8ef8ba53");
  EXPECT_EQ(hexadecimal(123456789), "00000000075bcd15");
  EXPECT_EQ(hexadecimal(0x1b, 2), "1b");
}

TEST(Median, IsTheMiddleOrTheMeanOfTheTwoMiddleOnes) {
  EXPECT_EQ(median(std::vector<std::int64_t>{}), 0);
  EXPECT_EQ(median(std::vector<std::int64_t>{5}), 5);
  EXPECT_EQ(median(std::vector<std::int64_t>{130, 110}), 120);
  EXPECT_EQ(median(std::vector<std::int64_t>{9, 1, 5}), 5);
  EXPECT_EQ(median(std::vector<std::int64_t>{9, 1, 5, 100}), 7);
  EXPECT_DOUBLE_EQ(median(std::vector<double>{1.0, 2.0}), 1.5);
  constexpr std::int64_t kLargest = std::numeric_limits<std::int64_t>::max();
  EXPECT_EQ(median(std::vector<std::int64_t>{kLargest, kLargest - 2}), kLargest - 1);
  EXPECT_EQ(median(std::vector<std::int64_t>{kLargest, -kLargest}), 0);
}

}  // namespace
}  // namespace foreshard

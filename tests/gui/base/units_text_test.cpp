#include "gui/models/base/units_text.hpp"

#include <gtest/gtest.h>

#include "gui/models/base/precise_time.hpp"
#include "gui/paint/time_ticks.hpp"

namespace foreshard::gui {
namespace {

TEST(UnitsText, HasFourDigitsInTheLargestUnitThatFits) {
  EXPECT_EQ(time_figure(849.31e6).text(), "849.3 ms");
  EXPECT_EQ(time_figure(1.112e6).text(), "1.112 ms");
  EXPECT_EQ(time_figure(1.654e9).text(), "1.654 s");
  EXPECT_EQ(time_figure(999.96e6).text(), "1.000 s");
  EXPECT_EQ(time_figure(17).text(), "17 ns");
  EXPECT_EQ(bytes_figure(61'492'811'776).text(), "57.27 GiB");
  EXPECT_EQ(bytes_figure(512).text(), "512 B");
  EXPECT_EQ(count_figure(77166).text(), "77,166");
  EXPECT_EQ(flops_figure(137.44e9).text(), "137.4 GFLOP");
  EXPECT_EQ(flops_figure(458.1e12).text(), "458.1 TFLOP");
  EXPECT_EQ(exact_bytes(4202692608).toStdString(), "4,202,692,608 B");
}

TEST(UnitsText, NamesTheUnitOfARangeOnceWhereItIsTheSame) {
  EXPECT_EQ(time_range_text(149.2e6, 309.8e6), QStringLiteral("149.2 – 309.8 ms"));
  EXPECT_EQ(time_range_text(552e6, 1.15e9), QStringLiteral("552.0 ms – 1.150 s"));
}

TEST(UnitsText, AShortRangeHasTheDigitsThatTellItsEndsApart) {
  EXPECT_EQ(time_range_text(314'812'500, 314'817'500), QStringLiteral("314.8125 – 314.8175 ms"));
  EXPECT_EQ(time_range_text(-314'812'500, -314'812'300),
            QString::fromUtf8("\u2212314.81250 – \u2212314.81230 ms"));
  EXPECT_EQ(time_range_text(5, 5), QStringLiteral("5 – 5 ns"));
}

TEST(UnitsText, AMomentHasTheDigitsThatAPixelShows) {
  constexpr double kHour = 3600e9;
  EXPECT_EQ(precise_time(314'812'500, 0).text(), "314.8 ms");
  EXPECT_EQ(precise_time(314'812'500, 1e6).text(), "314.8 ms");
  EXPECT_EQ(precise_time(314'812'500, 1000).text(), "314.813 ms");
  EXPECT_EQ(precise_time(kHour + 1234, 1).text(), "3600.000001234 s");
  EXPECT_EQ(precise_time(kHour + 1234, 0.02).text(), "3600.000001234 s");
  EXPECT_EQ(precise_time(-1'500'000, 1).text(), QString::fromUtf8("\u22121.500000 ms"));
}

// Neighbouring figures of a ruler differ, however late in the trace.
TEST(UnitsText, TicksOfALongTraceAreTold) {
  QStringList texts;
  for (const Tick& tick : time_ticks(3'600'000'000'000, 0, 0.1, 1000)) {
    if (!tick.text.isEmpty()) texts << tick.text;
  }
  EXPECT_GT(texts.size(), 3);
  EXPECT_EQ(texts.removeDuplicates(), 0) << texts.join(QLatin1Char('|')).toStdString();
}

TEST(UnitsText, HasATrueMinus) {
  EXPECT_EQ(count_figure(-1234).text(), QString::fromUtf8("\u22121,234"));
  EXPECT_EQ(percent_text(-0.0204), QString::fromUtf8("\u22122.0 %"));
  EXPECT_EQ(percent_text(-0.0001), "0.0 %");
  EXPECT_EQ(signed_text(time_figure(9.7e6), false), "+9.700 ms");
}

}  // namespace
}  // namespace foreshard::gui

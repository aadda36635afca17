#include "gui/paint/step_line.hpp"

#include <QImage>

#include <gtest/gtest.h>

namespace foreshard::gui {
namespace {

const QColor kInk(10, 20, 30);

class StepLineTest : public testing::Test {
 protected:
  StepLineTest() { image.fill(Qt::white); }

  bool is_inked(int x, int y) const { return image.pixelColor(x, y) == kInk; }
  int inked_in(int column) const {
    int count = 0;
    for (int y = 0; y < image.height(); ++y) count += is_inked(column, y) ? 1 : 0;
    return count;
  }

  QImage image{40, 30, QImage::Format_RGB32};
  QPainter painter{&image};
  const StepColumns columns{4, 1, {20, 20, 20, 5, 5, 5, 12, 12}};
};

TEST_F(StepLineTest, StandsAtTheHeightOfEachColumnAndRisesBetweenThem) {
  draw_step_line(painter, columns, {kInk, 2});
  for (std::size_t n = 0; n < columns.y.size(); ++n) {
    const int x = 4 + static_cast<int>(n), y = static_cast<int>(columns.y[n]);
    EXPECT_TRUE(is_inked(x, y - 1) && is_inked(x, y)) << n;
  }
  EXPECT_EQ(inked_in(5), 2);
  EXPECT_EQ(inked_in(7), 17);  // from 20 up to 5
  EXPECT_EQ(inked_in(3), 0);
  EXPECT_EQ(inked_in(12), 0);
}

TEST_F(StepLineTest, DashesAreCountedAlongTheLine) {
  draw_step_line(painter, {0, 1, std::vector<double>(40, 10.0)}, {kInk, 2, 6, 4});
  for (int x = 0; x < 40; ++x) EXPECT_EQ(is_inked(x, 10), x % 10 < 6) << x;
}

TEST_F(StepLineTest, FillsFromEachColumnDown) {
  fill_below(painter, columns, 25, kInk);
  for (std::size_t n = 0; n < columns.y.size(); ++n) {
    EXPECT_EQ(inked_in(4 + static_cast<int>(n)), 25 - static_cast<int>(columns.y[n])) << n;
  }
}

TEST_F(StepLineTest, FillsBetweenTwoLines) {
  const StepColumns lower{4, 1, {25, 22, 22, 22, 22, 20, 20, 20}};
  fill_between(painter, columns, lower, kInk);
  for (std::size_t n = 0; n < columns.y.size(); ++n) {
    EXPECT_EQ(inked_in(4 + static_cast<int>(n)), static_cast<int>(lower.y[n] - columns.y[n])) << n;
  }
  EXPECT_EQ(inked_in(3), 0);
  EXPECT_EQ(inked_in(12), 0);
}

}  // namespace
}  // namespace foreshard::gui

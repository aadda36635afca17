// What assistive technology finds in the memory view.
#include <QAccessible>

#include "gui/models/base/units_text.hpp"
#include "tests/gui/memory/shown_memory.hpp"

namespace foreshard::gui {
namespace {

class MemoryAccessible : public ShownMemory {
 protected:
  MemoryAccessible() { show_random(); }

  static QAccessibleInterface& of(QWidget& widget) {
    return *QAccessible::queryAccessibleInterface(&widget);
  }
  static QString name(QAccessibleInterface& table, int item) {
    return table.child(item)->text(QAccessible::Name);
  }
};

TEST_F(MemoryAccessible, TheCurveIsItsAreasAtTheCursorAndTheMoment) {
  QAccessibleInterface& table = of(view.canvas());
  EXPECT_EQ(table.role(), QAccessible::Table);
  const int layers = static_cast<int>(curve().layers().size());
  ASSERT_EQ(table.childCount(), layers + 2);
  const auto levels = curve().bytes_by_layer(*view.sample());
  EXPECT_EQ(name(table, 0),
            QStringLiteral("reserved\t") + bytes_figure(curve().reserved(*view.sample())).text());
  for (int n = 0; n < layers; ++n) {
    const auto layer = static_cast<std::size_t>(layers - 1 - n);
    EXPECT_EQ(name(table, n + 1), curve().layers()[layer].name + QLatin1Char('\t') +
                                      bytes_figure(levels[layer]).text());
    EXPECT_EQ(table.child(n + 1)->role(), QAccessible::Row);
  }
  QAccessibleInterface* moment = table.child(layers + 1);
  EXPECT_TRUE(moment->state().selected);
  EXPECT_TRUE(name(table, layers + 1)
                  .startsWith(view.canvas().time_text(*view.sample()) + QLatin1Char('\n')));
  const QPoint centre = moment->rect().center();
  EXPECT_EQ(table.childAt(centre.x(), centre.y()), moment);
}

TEST_F(MemoryAccessible, TheMapIsItsPoolsAndTheSelectedBlock) {
  QAccessibleInterface& table = of(view.map());
  const int pools = table.childCount();
  ASSERT_GT(pools, 0);
  EXPECT_TRUE(name(table, 0).startsWith(QStringLiteral("pool ")));
  EXPECT_TRUE(name(table, 0).contains(QStringLiteral(" reserved, ")));
  const auto state = view.memory()->states().after(curve().events(*view.sample()));
  const auto block = state.tally.device_blocks().begin()->second;
  view.map().select(block);
  ASSERT_EQ(table.childCount(), pools + 1);
  EXPECT_TRUE(name(table, pools).contains(exact_bytes(block->bytes)));
  EXPECT_TRUE(table.child(pools)->rect().isValid());
  view.map().select(nullptr);
  EXPECT_EQ(table.childCount(), pools);
}

TEST_F(MemoryAccessible, OwnersAreRowsAndTheCurrentOneIsSelected) {
  OwnerTree& owners = inspector().owners();
  QAccessibleInterface& tree = of(owners);
  EXPECT_EQ(tree.role(), QAccessible::Tree);
  QAccessibleTableInterface* table = tree.tableInterface();
  ASSERT_NE(table, nullptr);
  ASSERT_EQ(table->rowCount(), owners.shown_rows().size());
  EXPECT_EQ(table->cellAt(1, 0)->text(QAccessible::Name), owners.shown_rows()[1]->text(0));
  EXPECT_EQ(table->cellAt(1, 1)->text(QAccessible::Name), owners.shown_rows()[1]->text(1));
  QTest::keyClick(&owners, Qt::Key_Down);
  EXPECT_TRUE(table->cellAt(1, 0)->state().selected);
}

TEST_F(MemoryAccessible, WithoutMemoryThereIsNothing) {
  session.close(0);
  wait_for(view);
  EXPECT_EQ(of(view.canvas()).childCount(), 0);
  EXPECT_EQ(of(view.map()).childCount(), 0);
}

}  // namespace
}  // namespace foreshard::gui

// What assistive technology finds in the comparison's canvas.
#include <QAccessible>

#include "tests/gui/compare/shown_comparison.hpp"

namespace foreshard::gui {
namespace {

using CompareAccessible = ShownComparison;

TEST_F(CompareAccessible, RowsHaveNamesAndFiguresAndTheSelectionItsCard) {
  QAccessibleInterface& table = *QAccessible::queryAccessibleInterface(&canvas());
  EXPECT_EQ(table.childCount(), 0);
  open_both();
  const int rows = table.childCount();
  QStringList names;
  for (int n = 0; n < rows; ++n) names << table.child(n)->text(QAccessible::Name);
  EXPECT_TRUE(names.contains(QStringLiteral("Step 3 of both")));
  EXPECT_EQ(names.filter(QStringLiteral("Units, ")).size(), 2);
  EXPECT_EQ(names.filter(QStringLiteral("Compute\t")).size(), 1);
  for (const QString& name : names) EXPECT_FALSE(name.isEmpty());

  const ComparedPair& pair = view.comparison()->step.pairs[3];
  session.selection().select(EventId{1, pair.events.candidate});
  ASSERT_EQ(table.childCount(), rows + 1);
  QAccessibleInterface* selected = table.child(rows);
  EXPECT_TRUE(selected->state().selected);
  EXPECT_TRUE(selected->text(QAccessible::Name)
                  .startsWith(QString::fromStdString(view.comparison()->step.name(pair))));
  EXPECT_TRUE(selected->text(QAccessible::Name).contains(QStringLiteral(": +50.0 %")));
  const QPoint centre = selected->rect().center();
  EXPECT_EQ(table.childAt(centre.x(), centre.y()), selected);
  session.selection().clear();
  EXPECT_FALSE(selected->isValid());
}

}  // namespace
}  // namespace foreshard::gui

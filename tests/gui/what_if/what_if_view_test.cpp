#include "gui/views/what_if/what_if_view.hpp"

#include <QAbstractButton>
#include <QElapsedTimer>
#include <QLineEdit>
#include <QSignalSpy>
#include <QTemporaryDir>
#include <QTreeWidget>
#include <set>

#include <gtest/gtest.h>

#include "gui/views/base/choices.hpp"
#include "gui/views/base/sentence_strip.hpp"
#include "gui/views/what_if/value_editors.hpp"
#include "tests/gui/what_if/settled.hpp"

namespace foreshard::gui {
namespace {

class WhatIfViewTest : public testing::Test {
 protected:
  void SetUp() override {
    view.resize(1600, 956);
    view.show();
    what_if.start_from(tiny_settings());
    ASSERT_TRUE(rests(what_if) && is_shown());
  }

  // Waits until every part shows the answer.
  bool is_shown() {
    return QTest::qWaitFor([this] { return view.shows_answer(); });
  }

  // The widget of that type that edits a key.
  template <typename Widget>
  Widget* editor(const char* key) {
    return view.panel().editor(key)->findChild<Widget*>();
  }
  const std::string& value(const char* key) { return what_if.settings().plan.value(key); }

  Session session;
  WhatIfView view{session};
  WhatIf& what_if = view.what_if();
};

// A control's own way to another value.
void move(QWidget& editor) {
  if (auto* slider = editor.findChild<NotchedSlider*>()) {
    QTest::keyClick(slider, slider->value() == 0 ? Qt::Key_Right : Qt::Key_Left);
  } else if (auto* segments = editor.findChild<SegmentedControl*>()) {
    QTest::keyClick(segments, segments->current() == 0 ? Qt::Key_Right : Qt::Key_Left);
  } else if (auto* list = editor.findChild<QComboBox*>()) {
    list->setCurrentIndex(list->currentIndex() == 0 ? 1 : 0);
    Q_EMIT list->activated(list->currentIndex());
  } else if (auto* tree = editor.findChild<QTreeWidget*>()) {
    tree->topLevelItem(0)->setCheckState(0, Qt::Checked);
  } else if (auto* button = editor.findChild<QAbstractButton*>()) {
    button->click();
  } else if (auto* line = editor.findChild<QLineEdit*>()) {
    const QString text = line->text();
    line->setText(text.startsWith(QLatin1Char('[')) ? QStringLiteral("[\"model.norm\"]")
                                                    : QStringLiteral("7"));
    Q_EMIT line->editingFinished();
  }
}

TEST_F(WhatIfViewTest, AnAnswerThatTakesLongIsAwaitedAboveALine) {
  const auto* strip = view.findChild<SentenceStrip*>();
  const auto* line = strip->findChild<ProgressHairline*>();
  ASSERT_NE(line, nullptr);
  EXPECT_TRUE(line->isHidden());
  WhatIfSettings large = what_if.settings();
  large.question.model = *load_llama_config("llama-3.1-405b");
  large.question.ranks = 512;
  large.question.nodes = 64;
  QElapsedTimer since;
  since.start();
  bool was_shown = false;
  what_if.change(large);
  ASSERT_TRUE(QTest::qWaitFor(
      [&] {
        was_shown = was_shown || line->isVisible();
        return !what_if.is_stale();
      },
      60'000));
  if (since.elapsed() > 3 * ProgressHairline::kDelayMs) {
    EXPECT_TRUE(was_shown);
  }
  EXPECT_TRUE(line->isHidden());
}

TEST_F(WhatIfViewTest, EveryKeyHasAControlThatChangesItAndNothingElse) {
  const SpeltPlan plan;
  for (const SpeltKey& key : plan.keys()) {
    ValueEditor* editor = view.panel().editor(key.name);
    ASSERT_NE(editor, nullptr) << key.name;
    editor->setEnabled(true);
    move(*editor);
    EXPECT_EQ(what_if.changed_keys(), std::vector<std::string>{key.name});
    EXPECT_TRUE(view.panel().row(key.name)->is_changed()) << key.name;
    what_if.reset();
    EXPECT_FALSE(view.panel().row(key.name)->is_changed()) << key.name;
  }
}

TEST_F(WhatIfViewTest, RanksAndNodesShareARowWithOneDot) {
  ControlRow* row = view.panel().row("ranks");
  EXPECT_EQ(view.panel().row("nodes"), row);
  for (const char* name : {"Ranks", "Nodes"}) {
    for (QComboBox* list : row->findChildren<QComboBox*>()) {
      if (list->accessibleName() != QLatin1String(name)) continue;
      const int before = list->currentIndex();
      list->setFocus();
      QTest::keyClick(list, Qt::Key_Down);
      EXPECT_NE(list->currentIndex(), before) << name;
      EXPECT_TRUE(row->is_changed()) << name;
    }
    what_if.reset();
    EXPECT_FALSE(row->is_changed()) << name;
  }
}

TEST_F(WhatIfViewTest, EveryWidgetThatTakesTheKeyboardIsNamed) {
  for (const QWidget* widget : view.findChildren<QWidget*>()) {
    if (widget->window() != &view) continue;  // lists that open
    if ((widget->focusPolicy() & Qt::TabFocus) == 0 || widget->focusProxy() != nullptr) continue;
    const auto* button = qobject_cast<const QAbstractButton*>(widget);
    const bool is_named = !widget->accessibleName().isEmpty() ||
                          (button != nullptr && !button->text().isEmpty()) ||
                          qobject_cast<const QScrollArea*>(widget) != nullptr;
    EXPECT_TRUE(is_named) << widget->metaObject()->className();
  }
}

TEST_F(WhatIfViewTest, NothingIsCutOffOrLiesOverAnotherInASmallWindow) {
  const auto* figures = view.findChild<FigureStrip*>();
  const std::vector<QWidget*> parts{view.findChild<BytePlot*>(), &view.variants(),
                                    &view.neighbours(), view.findChild<StepBars*>(), &view.sweep()};
  for (const QSize size : {QSize(1000, 580), QSize(1200, 700), QSize(1600, 956)}) {
    view.resize(size);
    QApplication::processEvents();
    EXPECT_EQ(view.size(), size);
    std::vector<QRect> boxes;
    for (QWidget* part : parts) {
      const QRect box(part->mapTo(&view, QPoint(0, 0)), part->size());
      EXPECT_LE(box.right(), view.width()) << part->metaObject()->className();
      for (const QRect& other : boxes) EXPECT_FALSE(box.intersects(other)) << size.width();
      boxes.push_back(box);
    }
    const QImage strip =
        view.grab(QRect(figures->mapTo(&view, QPoint()), figures->size())).toImage();
    for (int y = 0; y < strip.height() - 8; ++y) {
      EXPECT_EQ(strip.pixelColor(strip.width() - 3, y), strip.pixelColor(2, 2)) << size.width();
    }
  }
}

// Which widgets are painted.
class Painted : public QObject {
 public:
  explicit Painted(QWidget& of) {
    for (QWidget* widget : of.findChildren<QWidget*>()) widget->installEventFilter(this);
  }
  bool eventFilter(QObject* watched, QEvent* event) override {
    if (event->type() == QEvent::Paint) widgets.insert(watched);
    return false;
  }
  std::set<const QObject*> widgets;
};

TEST_F(WhatIfViewTest, AMoveRepaintsNoControlButThatOfItsKey) {
  what_if.set_value("batch.micro_batch", "3");
  ASSERT_TRUE(rests(what_if) && is_shown());
  Painted painted(view.panel());
  what_if.set_value("batch.micro_batch", "2");
  ASSERT_TRUE(answers(what_if) && is_shown());
  QApplication::processEvents();
  EXPECT_EQ(painted.widgets.count(editor<NotchedSlider>("batch.micro_batch")), 1U);
  for (const char* key : {"batch.accumulation", "wrap.policy", "prefetch.forward"}) {
    EXPECT_EQ(painted.widgets.count(editor<SegmentedControl>(key)), 0U) << key;
  }
}

TEST_F(WhatIfViewTest, AClickOnANotchMovesTheSlider) {
  auto* slider = editor<NotchedSlider>("batch.micro_batch");
  QTest::mouseClick(slider, Qt::LeftButton, Qt::NoModifier, slider->notch_centre(1).toPoint());
  EXPECT_EQ(value("batch.micro_batch"), "2");
  QTest::keyClick(slider, Qt::Key_Right);
  EXPECT_EQ(value("batch.micro_batch"), "3");
}

TEST_F(WhatIfViewTest, ADragIsOneStepOfUndo) {
  auto* slider = editor<NotchedSlider>("batch.micro_batch");
  const auto at = [&](int notch) { return slider->notch_centre(notch).toPoint(); };
  QTest::mousePress(slider, Qt::LeftButton, Qt::NoModifier, at(3));
  for (const int notch : {4, 5, 6, 2, 1}) QTest::mouseMove(slider, at(notch));
  EXPECT_EQ(value("batch.micro_batch"), "2");
  QTest::mouseRelease(slider, Qt::LeftButton, Qt::NoModifier, at(1));
  QTest::mousePress(slider, Qt::LeftButton, Qt::NoModifier, at(1));
  QTest::mouseMove(slider, at(2));
  QTest::mouseMove(slider, at(1));
  QTest::mouseRelease(slider, Qt::LeftButton, Qt::NoModifier, at(1));  // back where it was: no step
  QTest::keyClick(slider, Qt::Key_Z, Qt::ControlModifier);
  EXPECT_EQ(value("batch.micro_batch"), "4");
  EXPECT_FALSE(what_if.can_undo());
  QTest::keyClick(slider, Qt::Key_Z, Qt::ControlModifier | Qt::ShiftModifier);
  EXPECT_EQ(value("batch.micro_batch"), "2");
  EXPECT_FALSE(what_if.can_redo());
  EXPECT_EQ(slider->value(), 1);
}

TEST_F(WhatIfViewTest, UndoInTheMiddleOfADragReturnsToItsBeginning) {
  auto* slider = editor<NotchedSlider>("batch.micro_batch");
  QTest::mousePress(slider, Qt::LeftButton, Qt::NoModifier, slider->notch_centre(5).toPoint());
  QTest::keyClick(slider, Qt::Key_Z, Qt::ControlModifier);
  EXPECT_EQ(value("batch.micro_batch"), "4");
  QTest::mouseRelease(slider, Qt::LeftButton, Qt::NoModifier, slider->notch_centre(5).toPoint());
  EXPECT_FALSE(what_if.can_undo());
}

TEST_F(WhatIfViewTest, KeysPinUndoAndReset) {
  QTest::keyClick(&view, Qt::Key_P);
  ASSERT_EQ(what_if.pins().size(), 1U);
  what_if.set_value("batch.micro_batch", "2");
  QTest::keyClick(&view, Qt::Key_Z, Qt::ControlModifier);
  EXPECT_EQ(value("batch.micro_batch"), "4");
  QTest::keyClick(&view, Qt::Key_Z, Qt::ControlModifier | Qt::ShiftModifier);
  EXPECT_EQ(value("batch.micro_batch"), "2");
  QTest::keyClick(&view, Qt::Key_R, Qt::ControlModifier);
  EXPECT_TRUE(what_if.changed_keys().empty());
  ASSERT_TRUE(is_shown());
  QTest::keyClick(&view.variants(), Qt::Key_Down);
  QTest::keyClick(&view.variants(), Qt::Key_Delete);
  EXPECT_TRUE(what_if.pins().empty());
}

TEST_F(WhatIfViewTest, ANeighbourIsAppliedByMouseAndByKey) {
  const Changes first = what_if.surroundings()->neighbours.front().candidate.changes;
  NeighboursTable& table = view.neighbours();
  const QModelIndex link = table.model()->index(0, NeighboursTable::kApply);
  QTest::mouseClick(table.viewport(), Qt::LeftButton, Qt::NoModifier,
                    table.visualRect(link).center());
  EXPECT_EQ(what_if.settings().plan.value(first.front().name), first.front().value);
  what_if.undo();
  ASSERT_TRUE(rests(what_if) && is_shown());
  QTest::keyClick(&view.neighbours(), Qt::Key_Return);
  EXPECT_EQ(what_if.settings().plan.value(first.front().name), first.front().value);
}

TEST_F(WhatIfViewTest, APlanOfTheSweepIsAppliedByAClick) {
  const Sweep sweep = what_if.surroundings()->sweep;
  ASSERT_FALSE(sweep.points.empty());
  const std::size_t last = sweep.points.size() - 1;
  QTest::mouseClick(&view.sweep(), Qt::LeftButton, Qt::NoModifier,
                    view.sweep().point_centre(last).toPoint());
  const auto changed = what_if.changed_keys();
  for (const std::string& key : changed) {
    EXPECT_TRUE(key == sweep.first_key || key == sweep.second_key) << key;
  }
  EXPECT_TRUE(what_if.can_undo());
}

TEST_F(WhatIfViewTest, BadgesOfEqualVariantsStandBesideEachOtherInTheSweep) {
  for (int pin = 0; pin < 3; ++pin) what_if.pin();
  ASSERT_TRUE(is_shown());
  const std::vector<QRectF> badges = view.sweep().badge_boxes();
  ASSERT_EQ(badges.size(), 4U);
  for (std::size_t n = 0; n < badges.size(); ++n) {
    for (std::size_t other = 0; other < n; ++other) {
      EXPECT_FALSE(badges[n].intersects(badges[other])) << n << ' ' << other;
    }
  }
}

TEST_F(WhatIfViewTest, EveryVariantHasItsBarInASmallWindow) {
  const auto* bars = view.findChild<StepBars*>();
  view.resize(1360, 668);
  int height = bars->height();
  for (int pin = 0; pin < 6; ++pin) {
    what_if.pin();
    ASSERT_TRUE(is_shown());
    EXPECT_TRUE(QTest::qWaitFor([&] { return bars->height() > height; })) << pin;
    height = bars->height();
  }
}

TEST_F(WhatIfViewTest, NamesOfVariantsHaveRoomBeforeTheBarOfWhatIsReserved) {
  view.resize(1440, 668);
  QApplication::processEvents();
  EXPECT_EQ(view.variants().shown_name(0), QStringLiteral("baseline"));
  EXPECT_GT(view.variants().bar_width(), 0);
  what_if.set_value("batch.micro_batch", "3");
  what_if.set_value("batch.accumulation", "2");
  ASSERT_TRUE(rests(what_if) && is_shown());
  EXPECT_TRUE(view.variants().shown_name(0).startsWith(QStringLiteral("Micro-batch 3,")));
  EXPECT_EQ(view.variants().bar_width(), 0);
}

TEST_F(WhatIfViewTest, ModulesAreCheckedByMouseAndByKey) {
  what_if.set_value("wrap.policy", "\"modules\"");
  auto* tree = editor<QTreeWidget>("wrap.modules");
  ASSERT_TRUE(QTest::qWaitFor([&] { return tree->isVisible(); }));
  QTreeWidgetItem* const top = tree->topLevelItem(0);
  const QRect row = tree->visualItemRect(top);
  EXPECT_GE(row.height(), 20);
  QTest::mouseClick(tree->viewport(), Qt::LeftButton, {}, {row.left() + 8, row.center().y()});
  EXPECT_EQ(value("wrap.modules"), "[\"model\"]");
  tree->setCurrentItem(top);
  QTest::keyClick(tree, Qt::Key_Space);
  EXPECT_EQ(value("wrap.modules"), "[]");
}

TEST_F(WhatIfViewTest, EveryValueOfASweepHasAMarkOfItsOwnInTheLegend) {
  const std::size_t modes = what_if.surroundings()->sweep.first_values.size();
  ASSERT_GE(modes, 5U);
  const QImage picture = view.sweep().grab().toImage();
  const double ratio = view.devicePixelRatioF();
  std::set<QString> marks;
  for (std::size_t mode = 0; mode < modes; ++mode) {
    const QPointF centre = view.sweep().legend().mark_centre(mode) * ratio;
    QString pixels;
    for (int x = -6; x <= 6; ++x) {
      for (int y = -7; y <= 7; ++y) {
        pixels += picture.pixelColor((centre + QPointF(x, y)).toPoint()).name();
      }
    }
    EXPECT_TRUE(marks.insert(pixels).second) << mode;
  }
}

TEST_F(WhatIfViewTest, AnErrorStandsAtItsControl) {
  auto* line = editor<QLineEdit>("sharding.shard_group");
  ASSERT_NE(line, nullptr);
  line->setText(QStringLiteral("-3"));
  Q_EMIT line->editingFinished();
  ASSERT_TRUE(QTest::qWaitFor([&] { return what_if.error().has_value(); }));
  EXPECT_TRUE(view.panel().row("sharding.shard_group")->error().contains(QStringLiteral("-3")));
  EXPECT_TRUE(view.panel().row("sharding.strategy")->error().isEmpty());
  what_if.undo();
  ASSERT_TRUE(answers(what_if) && is_shown());
  EXPECT_TRUE(view.panel().row("sharding.shard_group")->error().isEmpty());
}

TEST_F(WhatIfViewTest, AnErrorOpensTheSectionOfItsKey) {
  ControlRow* row = view.panel().row("allocator.max_split_size_mb");
  EXPECT_FALSE(row->isVisible());
  what_if.set_value("allocator.max_split_size_mb", "-1");
  ASSERT_TRUE(QTest::qWaitFor([&] { return what_if.error().has_value(); }));
  EXPECT_FALSE(row->error().isEmpty());
  EXPECT_TRUE(row->isVisible());
}

TEST_F(WhatIfViewTest, WhatAPredictionWarnsOfStandsInTheStripAndAtItsKey) {
  const auto* strip = view.findChild<SentenceStrip*>();
  EXPECT_EQ(strip->sentence().detail_state, Role::warn);
  EXPECT_TRUE(strip->sentence().detail.startsWith(QStringLiteral("Times are modelled from")))
      << strip->sentence().detail.toStdString();
  ControlRow* row = view.panel().row("batch.sequence");
  EXPECT_TRUE(row->warning().isEmpty());
  const int height = row->sizeHint().height();
  what_if.set_value("batch.sequence", "32768");
  ASSERT_TRUE(answers(what_if) && is_shown());
  EXPECT_TRUE(row->warning().contains(QStringLiteral("max_position_embeddings")))
      << row->warning().toStdString();
  EXPECT_GT(row->sizeHint().height(), height);
  EXPECT_TRUE(strip->sentence().detail.contains(row->warning()));
  what_if.undo();
  ASSERT_TRUE(answers(what_if) && is_shown());
  EXPECT_TRUE(row->warning().isEmpty());
}

TEST_F(WhatIfViewTest, KeysWithoutEffectAreGreyedAndExplained) {
  EXPECT_FALSE(view.panel().editor("wrap.modules")->isEnabled());
  EXPECT_FALSE(view.panel().editor("wrap.modules")->toolTip().isEmpty());
  what_if.set_value("wrap.policy", "\"modules\"");
  EXPECT_TRUE(view.panel().editor("wrap.modules")->isEnabled());
}

TEST_F(WhatIfViewTest, APlanThatIsSavedIsReadBackEqual) {
  what_if.set_value("batch.micro_batch", "3");
  what_if.set_value("prefetch.backward", "\"none\"");
  const SpeltPlan saved = what_if.settings().plan;
  const QTemporaryDir folder;
  const QString path = folder.filePath(QStringLiteral("plan.toml"));
  EXPECT_EQ(view.save_plan(path), QString());
  what_if.reset();
  EXPECT_EQ(view.load_plan_file(path).value_or(path), QString());
  EXPECT_EQ(what_if.settings().plan, saved);
  EXPECT_FALSE(view.load_plan_file(folder.filePath(QStringLiteral("none.toml"))));
  EXPECT_FALSE(view.save_plan(QStringLiteral("/nowhere/plan.toml")).isEmpty());
}

TEST_F(WhatIfViewTest, APlanFileIsWhatChangesAreCountedFrom) {
  const std::string before = value("batch.micro_batch");
  QTemporaryDir folder;
  const QString path = folder.filePath(QStringLiteral("mine.toml"));
  what_if.set_value("batch.micro_batch", "3");
  EXPECT_FALSE(view.has_unsaved_changes());  // of no file
  ASSERT_EQ(view.save_plan(path), QString());
  what_if.start_from(tiny_settings());
  ASSERT_TRUE(view.load_plan_file(path));
  EXPECT_EQ(value("batch.micro_batch"), "3");
  EXPECT_TRUE(what_if.changed_keys().empty());
  EXPECT_FALSE(view.has_unsaved_changes());
  EXPECT_EQ(view.panel().base(), QStringLiteral("From mine.toml"));

  what_if.set_value("batch.micro_batch", "4");
  EXPECT_EQ(what_if.changed_keys(), std::vector<std::string>{"batch.micro_batch"});
  EXPECT_TRUE(view.has_unsaved_changes());
  EXPECT_EQ(view.panel().base(), QStringLiteral("From mine.toml, changed since it was saved"));
  what_if.reset();
  EXPECT_EQ(value("batch.micro_batch"), "3");
  what_if.undo();
  EXPECT_EQ(value("batch.micro_batch"), "4");
  ASSERT_EQ(view.save_plan(path), QString());
  EXPECT_FALSE(view.has_unsaved_changes());
  for (int n = 0; n < 2; ++n) what_if.undo();
  EXPECT_EQ(value("batch.micro_batch"), before);  // as it was when the file was opened
}

TEST_F(WhatIfViewTest, AnotherRecordingIsStartedFromOnDemandOnceSomethingWasMoved) {
  const auto open = [&](const WhatIfSettings& settings, const char* title) {
    session.add(
        make_document(prediction_of(settings), Source::predicted, QString::fromUtf8(title), {}));
  };
  WhatIfSettings other = tiny_settings();
  other.question.ranks = 4;
  open(tiny_settings(), "two.fst");
  ASSERT_TRUE(rests(what_if));
  EXPECT_EQ(view.panel().base(), QStringLiteral("From two.fst"));
  EXPECT_TRUE(view.panel().start_from_other().isHidden());
  open(other, "four.fst");  // nothing was moved yet
  ASSERT_TRUE(rests(what_if));
  EXPECT_EQ(view.panel().base(), QStringLiteral("From four.fst"));
  EXPECT_EQ(what_if.settings().question.ranks, 4);

  what_if.set_value("batch.micro_batch", "2");
  ASSERT_TRUE(rests(what_if));
  session.set_current(0);
  ASSERT_TRUE(rests(what_if));
  EXPECT_EQ(what_if.settings().question.ranks, 4);
  EXPECT_EQ(view.panel().base(), QStringLiteral("From four.fst"));
  EXPECT_EQ(view.panel().start_from_other().text(), QStringLiteral("Start from two.fst"));
  view.panel().start_from_other().click();
  ASSERT_TRUE(rests(what_if));
  EXPECT_EQ(what_if.settings().question.ranks, 2);
  EXPECT_TRUE(what_if.changed_keys().empty());
  EXPECT_TRUE(view.panel().start_from_other().isHidden());
}

TEST_F(WhatIfViewTest, FilesOfOneNameAreTwoRecordings) {
  for (const char* folder : {"/a/", "/b/"}) {
    auto document = std::make_shared<Document>(*make_document(
        prediction_of(tiny_settings()), Source::predicted, QStringLiteral("run.fst"), {}));
    document->files = {std::string(folder) + "run.fst"};
    session.add(document);
    ASSERT_TRUE(rests(what_if));
  }
  what_if.set_value("batch.micro_batch", "2");
  ASSERT_TRUE(rests(what_if));
  session.set_current(1);
  EXPECT_TRUE(view.panel().start_from_other().isHidden());
  session.set_current(0);
  EXPECT_FALSE(view.panel().start_from_other().isHidden());
}

TEST_F(WhatIfViewTest, OtherViewsFollowWhatWasMoved) {
  EXPECT_EQ(session.what_if(), nullptr);
  what_if.set_value("batch.micro_batch", "2");
  ASSERT_TRUE(rests(what_if) && is_shown());
  ASSERT_NE(session.what_if(), nullptr);
  EXPECT_EQ(session.what_if()->plan()->batch.micro_batch, 2);
}

}  // namespace
}  // namespace foreshard::gui

// Controls that choose one of several: all of them in sight, or in a list that opens.
#pragma once

#include <QComboBox>
#include <QTabBar>

namespace foreshard::gui {

// Choices side by side of which one holds: as a pill, such as `Device time | Host time | Event
// order`, or as words of which the one that holds is underlined. Left and right arrows move it;
// choices that cannot be had now are greyed and skipped.
class SegmentedControl : public QTabBar {
  Q_OBJECT
 public:
  enum class Look : std::uint8_t { pill, underlined };
  explicit SegmentedControl(const QStringList& choices = {}, QWidget* parent = nullptr,
                            Look look = Look::pill);

  void set_choices(const QStringList& choices);  // the first one holds
  int current() const { return currentIndex(); }
  void set_current(int choice);  // tells nobody: for whoever already knows
  void set_choice_enabled(int choice, bool is_enabled, const QString& why_not = {});

 Q_SIGNALS:
  void chosen(int choice);  // by mouse or key

 protected:
  QSize tabSizeHint(int choice) const override;
  QSize minimumTabSizeHint(int choice) const override;
  void wheelEvent(QWheelEvent* event) override;

 private:
  int words_width(int choice) const;

  Look look_;
};

// A list that opens. The wheel scrolls the panel that it stands in, not its choices, unless the
// keyboard is on it.
class ChoiceList : public QComboBox {
  Q_OBJECT
 public:
  explicit ChoiceList(QWidget* parent = nullptr);

 protected:
  void paintEvent(QPaintEvent* event) override;
  void wheelEvent(QWheelEvent* event) override;
};

}  // namespace foreshard::gui

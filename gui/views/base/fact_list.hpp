// Rows of a label and a value, as inspectors have them: with a swatch, a note in a column of its
// own, a bar below the row, or a link that the mouse or Enter follows. Captions stand left, values
// and notes right, in columns that do not narrow while only figures change.
#pragma once

#include <QString>
#include <optional>
#include <variant>
#include <vector>

#include "gui/models/base/colour_role.hpp"
#include "gui/models/base/selection.hpp"
#include "gui/views/base/painted_widget.hpp"
#include "traces/event_list.hpp"

namespace foreshard::gui {

struct Fact {
  QString label;
  QString value;
  QString note{};                       // right of the value: "99.9 %"
  std::optional<EventColour> swatch{};  // before the label, and the colour of the bar
  double bar = 0;                       // share of the width; 0: none
  Role value_role = Role::text;
  // Makes the row a link: an event, or the allocation of a block.
  std::variant<std::monostate, EventId, traces::MemoryEventPointer> leads_to{};
  QString caption{};  // before the label, in a column of its own: "waited for"
  QString tooltip{};

  bool is_link() const { return leads_to.index() != 0; }
};

QString facts_text(const std::vector<Fact>& facts);  // a line for each, columns separated by tabs

class FactList : public PaintedWidget {
  Q_OBJECT
 public:
  explicit FactList(QWidget* parent = nullptr);

  void set_facts(std::vector<Fact> facts);
  const std::vector<Fact>& facts() const { return facts_; }
  // A row's centre, for tests and for what is placed beside it.
  QPoint row_centre(int row) const;

  QSize sizeHint() const override;
  QSize minimumSizeHint() const override;

 Q_SIGNALS:
  void followed(int row);  // a link

 protected:
  void paintEvent(QPaintEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  void mouseMoveEvent(QMouseEvent* event) override;
  void leaveEvent(QEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;
  bool event(QEvent* event) override;

 private:
  double row_top(int row) const;
  int row_at(QPointF point) const;
  bool is_link(int row) const;
  void measure();
  void draw_row(QPainter& painter, int row) const;
  void hover(int row);

  std::vector<Fact> facts_;
  double caption_width_ = 0, value_width_ = 0, note_width_ = 0;
  bool has_links_ = false;
  int hovered_ = -1;
  int current_ = -1;  // the link that Enter follows
};

}  // namespace foreshard::gui

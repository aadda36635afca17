// A panel beside a view, said as data: a head, sections below it that scroll where they need to, and
// buttons at the bottom. Sections keep their places and their widgets while what they say changes, so
// that neither the keyboard nor the scroll bar moves.
#pragma once

#include <QStringList>
#include <optional>
#include <vector>

#include "gui/models/base/colour_role.hpp"
#include "gui/models/base/units_text.hpp"
#include "gui/views/base/fact_list.hpp"
#include "gui/views/base/painted_widget.hpp"

class QHBoxLayout;
class QPushButton;
class QVBoxLayout;

namespace foreshard::gui {

// What a panel is about, where it belongs, and its figure:
//
//   [] reduce_scatter                 rank 0
//   model.layers.31 · backward         [ ]
//   2.173 ms  ± 0.76      314.75 – 316.92 ms
struct Headline {
  QString title;
  std::optional<EventColour> swatch{};
  std::optional<int> rank{};
  std::vector<int> ranks{};  // that could be looked at in its place
  QString detail{};
  QString detail_note{};
  QStringList detail_keys{};  // engraved at the right end of the detail's line
  Figure figure{};
  QString figure_note{};
  QString figure_aside{};  // at the right end of the figure's line
};

// A part of one bar.
struct Share {
  double amount = 0;
  EventColour colour;
};

// From top to bottom. One that has nothing below its title is hidden.
struct PanelSection {
  QString title{}, note{};
  QWidget* aside = nullptr;  // at the right end of the title
  std::vector<Share> shares{};
  QWidget* plot = nullptr;  // of whoever fills the panel, which takes it
  std::vector<Fact> facts{};
  QString lead{}, text{};  // bold, and after it
  bool is_boxed = false;   // the text: what the panel has to say

  bool is_empty() const {
    return shares.empty() && plot == nullptr && facts.empty() && lead.isEmpty() && text.isEmpty();
  }
  QString as_text() const;
};

struct PanelContent {
  Headline headline;
  std::vector<PanelSection> sections;

  const PanelSection& section(const QString& title) const;  // an empty one where there is none
};

class PanelHead : public PaintedWidget {
  Q_OBJECT
 public:
  explicit PanelHead(QWidget* parent = nullptr);

  void set_headline(Headline headline);
  const Headline& headline() const { return headline_; }
  QString as_text() const;
  QRectF rank_box() const;  // empty where no rank is named

  QSize sizeHint() const override;

 Q_SIGNALS:
  void rank_chosen(int rank);  // in the menu that a click on the rank, or Enter, opens

 protected:
  void paintEvent(QPaintEvent* event) override;
  void mouseMoveEvent(QMouseEvent* event) override;
  void mouseReleaseEvent(QMouseEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;

 private:
  QString rank_text() const;
  void offer_ranks();
  void draw_title(QPainter& painter, QRectF line) const;
  void draw_detail(QPainter& painter, QRectF line) const;
  void draw_figure_line(QPainter& painter, QRectF line) const;

  Headline headline_;
};

class SidePanel : public QWidget {
  Q_OBJECT
 public:
  explicit SidePanel(QWidget* parent = nullptr);

  void show_content(PanelContent content);
  const PanelContent& content() const { return content_; }
  PanelHead& head() const { return *head_; }
  // Older than what is asked for: figures grey until they come.
  void set_stale(bool is_stale);
  // `key`: that does the same.
  QPushButton* add_button(const QString& text, const QString& key = {});
  QPushButton* add_copy_button();
  virtual QString as_text() const;

 Q_SIGNALS:
  void event_followed(foreshard::gui::EventId event);
  void block_followed(foreshard::traces::MemoryEventPointer allocation);

 protected:
  void paintEvent(QPaintEvent* event) override;

 private:
  class SectionWidget;

  PanelContent content_;
  PanelHead* head_;
  std::vector<SectionWidget*> sections_;
  QVBoxLayout* column_;
  QHBoxLayout* buttons_;
  QWidget* footer_;
};

}  // namespace foreshard::gui

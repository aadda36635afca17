// The view "Timeline": the figures of a step above, the canvas below.
#pragma once

#include "gui/views/base/figure_strip.hpp"
#include "gui/views/base/view.hpp"
#include "gui/views/timeline/timeline_canvas.hpp"

namespace foreshard::gui {

class TimelineView : public View {
  Q_OBJECT
 public:
  explicit TimelineView(Session& session, QWidget* parent = nullptr);

  // What figures of the strip lead to.
  enum Link : std::uint8_t { kExposed, kSteps, kPeak };

  QString title() const override { return tr("Timeline"); }
  QWidget* strip() override { return strip_; }
  bool is_busy() const override { return canvas_->is_busy(); }
  QString as_text() const override { return canvas_->as_text(); }
  QString status() const override;
  Description description() const override;
  std::vector<KeyHelp> keys() const override;

  TimelineCanvas& canvas() { return *canvas_; }

  // What a search found in a document; null: none is made.
  void show_hits(const DocumentPtr& document, std::shared_ptr<const Hits> hits) {
    canvas_->scene().show_hits(document, std::move(hits));
  }
  void show_critical_path(bool shows) { canvas_->scene().show_critical_path(shows); }

 Q_SIGNALS:
  void search_left();
  void list_asked(foreshard::gui::TimelineView::Link of);

 private:
  TimelineCanvas* canvas_;
  FigureStrip* strip_;
};

}  // namespace foreshard::gui

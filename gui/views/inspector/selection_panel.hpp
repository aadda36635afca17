// The inspector of a selected event: its figure with its band, what it is and did, where its cost
// comes from, what stands before and after it, its like in the same step, and its key.
#pragma once

#include <optional>
#include <vector>

#include "gui/models/base/selection.hpp"
#include "gui/views/base/fact_list.hpp"
#include "gui/views/inspector/panel.hpp"
#include "gui/views/inspector/twin_strip.hpp"

namespace foreshard::gui {

class BandBar;
class Paragraph;

struct SelectionContent {
  Headline headline;
  struct Band {
    double value_ns = 0, low_ns = 0, high_ns = 0;
  };
  std::optional<Band> band{};
  std::vector<Fact> facts{};
  QString cost_source{};  // "modelled"
  QString cost_text{};
  std::vector<Fact> links{};  // "waited for reduce_scatter_copy_in"
  std::vector<EventId> link_events{};
  QString twins_title{};
  std::vector<Twin> twins{};
  std::vector<EventId> twin_events{};
  int current_twin = 0;
  QString key{};
};

class SelectionPanel : public Panel {
  Q_OBJECT
 public:
  explicit SelectionPanel(QWidget* parent = nullptr);

  void set_content(SelectionContent content);
  const SelectionContent& content() const { return content_; }
  QString as_text() const;

 Q_SIGNALS:
  void event_followed(foreshard::gui::EventId event);
  void zoom_asked();
  void mark_asked();

 private:
  SelectionContent content_;
  BandBar* band_;
  FactList* facts_;
  Paragraph* cost_;
  FactList* links_;
  TwinStrip* twins_;
  Paragraph* key_;
  Section cost_section_, links_section_, twins_section_, key_section_;
};

}  // namespace foreshard::gui

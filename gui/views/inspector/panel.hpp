// A page of the inspector: a head, sections below it that scroll where they need to, and buttons at
// the bottom.
#pragma once

#include <QWidget>
#include <vector>

#include "gui/views/base/fact_list.hpp"
#include "gui/views/inspector/panel_head.hpp"

class QHBoxLayout;
class QVBoxLayout;

namespace foreshard::gui {

class KeyButton;
class SectionTitle;

class Panel : public QWidget {
  Q_OBJECT
 public:
  explicit Panel(QWidget* parent = nullptr);

  PanelHead& head() const { return *head_; }

 protected:
  void add(QWidget* widget);
  // A section that can be hidden as a whole: its title and what it holds.
  struct Section {
    QWidget* whole;
    SectionTitle* title;
  };
  Section add_section(const QString& title, const QString& note, QWidget* content);
  // A section of rows, which is hidden while there are none.
  static void fill(const Section& section, FactList& list, const std::vector<Fact>& facts);
  KeyButton* add_button(const QString& text, const QString& key = {});

  void paintEvent(QPaintEvent* event) override;

 private:
  PanelHead* head_;
  QVBoxLayout* content_;
  QHBoxLayout* buttons_;
  QWidget* footer_;
};

}  // namespace foreshard::gui

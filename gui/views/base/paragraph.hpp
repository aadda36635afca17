// Words over several lines, beginning in bold where there is a lead: `Bound by compute. All but
// 0.01 ms of communication is hidden.` In a box of its own where it is what a panel has to say.
#pragma once

#include <QLabel>

#include "gui/models/base/colour_role.hpp"

namespace foreshard::gui {

class Paragraph : public QLabel {
  Q_OBJECT
 public:
  enum class Frame : std::uint8_t { none, box };
  explicit Paragraph(Frame frame = Frame::none, Role role = Role::text2, QWidget* parent = nullptr);

  void set_sentence(const QString& lead, const QString& text);

 protected:
  void paintEvent(QPaintEvent* event) override;

 private:
  void follow_theme();

  Frame frame_;
  Role role_;
};

}  // namespace foreshard::gui

// The words on boxes and beside rows.
#pragma once

#include <QString>

#include "gui/models/timeline/row.hpp"

namespace foreshard::gui {

struct BoxText {
  QString full;   // "layers.31 backward", "attention_backward"
  QString brief;  // "31", "RS 31"; shown where the full one does not fit
};

BoxText box_text(const Row& row, std::size_t item);

// "layers.31" of "model.layers.31"; "root" of the root.
QString short_unit(const std::string& unit);

}  // namespace foreshard::gui

// What a view states, in words and numbers, for programs that ask the viewer: `--describe`
// (docs/viewer.md).
#pragma once

#include <QString>
#include <QStringList>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "gui/models/session/document.hpp"

namespace foreshard::gui {

using DescribedFigure = std::variant<std::monostate, std::int64_t, double>;  // nothing: unknown

struct Description {
  std::string question;                                          // as JSON; empty: there is none
  QString headline;                                              // the sentence that the view shows
  std::vector<std::pair<std::string, DescribedFigure>> figures;  // by name with the unit
  QStringList warnings;

  void add(std::string name, DescribedFigure figure) {
    figures.emplace_back(std::move(name), figure);
  }
  // Unknown where it is not above 0.
  void add_positive(std::string name, std::int64_t figure) {
    add(std::move(name), figure > 0 ? DescribedFigure(figure) : DescribedFigure());
  }
  void add_positive(std::string name, double figure) {
    add(std::move(name), figure > 0 ? DescribedFigure(figure) : DescribedFigure());
  }
};

// Of a document, what every view of it states alike: all but the headline. `document` may be null.
Description description_of(const DocumentPtr& document);

// `view` by the name that `--view` takes.
std::string description_json(const std::string& view, const Description& description);

}  // namespace foreshard::gui

// A recording that the tests of the inspector look at: a small one of the repository's own.
#pragma once

#include <QTest>
#include <stdexcept>
#include <string>

#include "gui/models/session/session.hpp"
#include "gui/models/timeline/event_links.hpp"

namespace foreshard::gui {

inline DocumentPtr recording(const char* name = "no_reshard.fst.gz") {
  const auto document =
      open_document(std::string(FORESHARD_SOURCE_DIR) + "/traces/samples/" + name);
  if (!document) throw std::runtime_error(document.error().text());
  return *document;
}

// Lets work beside the window's thread finish; false where it does not within 10 seconds.
template <typename Worker>
bool finishes(const Worker& worker) {
  return QTest::qWaitFor([&] { return !worker.is_busy(); }, 10'000);
}

}  // namespace foreshard::gui

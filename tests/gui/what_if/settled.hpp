// Waiting for the what-if panel, and the small job that its tests predict.
#pragma once

#include <QTest>

#include "gui/models/what_if/what_if.hpp"

namespace foreshard::gui {

// Two ranks of llama-tiny-3m: a prediction takes a few milliseconds.
inline WhatIfSettings tiny_settings() {
  WhatIfSettings settings = default_settings();
  settings.model = *load_llama_config("llama-tiny-3m");
  settings.ranks = 2;
  return settings;
}

inline bool answers(const WhatIf& what_if) {
  return QTest::qWaitFor([&] { return !what_if.is_stale(); }, 30'000);
}

inline bool rests(const WhatIf& what_if) {
  return QTest::qWaitFor([&] { return !what_if.is_busy(); }, 60'000);
}

}  // namespace foreshard::gui

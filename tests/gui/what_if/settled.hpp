// Waiting for the what-if panel, and the small job that its tests predict.
#pragma once

#include <QTest>

#include "gui/models/what_if/what_if.hpp"

namespace foreshard::gui {

// Two ranks of llama-tiny-3m with Foreshard's operators: a prediction takes a few milliseconds.
inline WhatIfSettings tiny_settings() {
  Asked asked;
  asked.model = "llama-tiny-3m";
  asked.operators = OperatorSetName::foreshard;
  asked.ranks = 2;
  asked.machine = "h100-sxm";
  return *settings_of(std::move(asked));
}

inline bool answers(const WhatIf& what_if) {
  return QTest::qWaitFor([&] { return !what_if.is_stale(); }, 30'000);
}

inline bool rests(const WhatIf& what_if) {
  return QTest::qWaitFor([&] { return !what_if.is_busy(); }, 60'000);
}

}  // namespace foreshard::gui

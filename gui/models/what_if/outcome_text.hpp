// The answer in words: whether a plan fits, what is wrong with it, and what its costs rest on.
#pragma once

#include <QString>
#include <QStringList>
#include <string>

#include "gui/models/base/colour_role.hpp"
#include "gui/models/what_if/outcome.hpp"

namespace foreshard::gui {

struct Verdict {
  Role state = Role::ok;  // ok, warn or error
  QString lead;           // "Fits, but only just:"
  QString text;           // "75.87 GiB of 79.19 GiB reserved at the peak."
};

Verdict verdict_of(const Outcome& outcome);
// What the allocation was for that failed: "cross_entropy of root".
QString failing_work(const OomReport& oom);
// "forward of step 1 asks 5.87 GiB for cross_entropy".
QString failure_text(const OomReport& oom);
// "prefetch.forward is 3; ...", as it stands under the control.
QString key_error_text(const Error& error);
// "Costs: modelled from the data sheet of H100 SXM5 80GB, ...", and its state.
Verdict sources_of(const Outcome& outcome);

// What a prediction warns of, as sentences.
QStringList warnings_of(const Outcome& outcome);
// The key of the plan that a warning begins with; empty where it is about no key.
std::string key_of_warning(const QString& warning);

// What is left of the device at the peak; nothing: it has no limit.
std::optional<std::int64_t> spare_bytes(const Outcome& outcome);
bool fits_only_just(const Outcome& outcome);

}  // namespace foreshard::gui

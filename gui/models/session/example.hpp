// The example that a first start shows: a measured run and its prediction from the costs of another
// run. The program carries both as resources (scripts/make_example).
#pragma once

#include <vector>

#include "gui/models/session/document.hpp"

namespace foreshard::gui {

// The measured one first. Reads and analyses, so not on the window's thread. An error where the program
// was built without its resources.
Result<std::vector<DocumentPtr>> example_documents();

}  // namespace foreshard::gui

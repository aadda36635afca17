// Memory that was freed stays with the process for its next requests: a tenth of all after a large
// trace was opened.
#pragma once

namespace foreshard::gui {

// Gives it back to the system; a few milliseconds, so after large work and on its thread.
void return_free_memory();

}  // namespace foreshard::gui

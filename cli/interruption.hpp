// Signals that end a run after the step at hand.
#pragma once

#include <atomic>

namespace foreshard::cli {

// Whether a signal has asked for the end.
const std::atomic<bool>& interruption();

// The signal that has asked first; 0 while none has.
int interrupting_signal();

// While a run lasts, SIGINT and SIGTERM set `interruption`; a second Ctrl-C ends the process.
void catch_signals();

// What follows a run may be ended at once, but not by the SIGTERM with which a launcher repeats what
// has ended it, here or (`was_interrupted`) in another process of the run.
void release_signals(bool was_interrupted);

}  // namespace foreshard::cli

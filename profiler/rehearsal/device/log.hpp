// The log of FORESHARD_REHEARSAL_LOG (interface.h): a line for each call that is counted, for
// whoever wants to see what a script did, in order. Each process writes a file of its own.
//
// A line is NANOSECONDS THREAD KIND DETAILS, the time by CLOCK_REALTIME:
//   LAUNCH stream grid block shared_bytes kernel     PRODUCT stream m n k batch
//   CUDNN stream what                                COLLECTIVE stream kind ranks bytes
//   COPY stream direction bytes                      SET stream bytes
//   WAIT what                                        GRAPH stream
//   MALLOC address bytes                             FREE address bytes
//   MARK text
// A stream is its handle in hexadecimal, as elsewhere in CUDA 0 for the default stream.
#pragma once

#include <string_view>

namespace foreshard::rehearsal {

bool log_is_open();
// In the form of printf, without the end of the line.
[[gnu::format(printf, 1, 2)]] void log_line(const char* format, ...);
void flush_log();

}  // namespace foreshard::rehearsal

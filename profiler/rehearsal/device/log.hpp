// The log (FORESHARD_REHEARSAL_LOG and foreshard_rehearsal_log of interface.h): a line for each call
// that is counted or orders work, in the order of the calls.
//
// A line is NANOSECONDS THREAD CORRELATION OPERATOR KIND DETAILS: the time by CLOCK_REALTIME, what CUPTI's
// record of the call has as its correlation id and as the external id of the operator, 0 without one, and
//   LAUNCH stream grid block shared_bytes kernel     PRODUCT stream m n k batch
//   CUDNN stream what
//   COLLECTIVE stream kind ranks bytes communicator rank peer group: this rank's number in the communicator,
//     and of sends and receives the other one's, -1 of all else, and the number of NCCL's group, 0 for none
//   COPY stream direction bytes                      SET stream bytes
//   RECORD stream event                              AWAIT stream event
//   WAIT stream|event|device handle
//   CAPTURE stream graph, CAPTURED graph: the calls between them go into the graph of that number
//   GRAPH stream graph, where it is launched
//   STREAM stream priority, for each that there is when a log begins, and when one is made
//   MALLOC address bytes                             FREE address bytes
//   MARK text
// Streams and events are their handles, (nil) for the default stream and for none.
#pragma once

#include <cstdint>
#include <string_view>

namespace foreshard::rehearsal {

struct CallId {
  std::uint32_t correlation = 0;
  std::uint64_t external = 0;
};

// In the form of printf, without the end of the line.
[[gnu::format(printf, 2, 3)]] void log_line(CallId call, const char* format, ...);
void flush_log();

}  // namespace foreshard::rehearsal

// What the hooks of a rehearsal left of its last step (profiler/hooks/foreshard_rehearsal/capture.py), read and
// joined: a call of the device's, the operator that made it, and what PyTorch's profile says of both.
#pragma once

#include <array>
#include <cstdint>
#include <istream>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <variant>
#include <vector>

#include "models/base/error.hpp"
#include "traces/snapshot/snapshot.hpp"
#include "traces/trace.hpp"

namespace foreshard::profiler {

// A call that issued work or ordered it, as the device's log has it (device/log.hpp).
struct DeviceCall {
  enum class Kind : std::uint8_t {
    launch,
    product,
    cudnn,
    collective,
    copy,
    set,
    graph,        // a CUDA graph is launched
    record,       // `event` on `stream`
    await,        // `stream` waits for `event`
    wait_event,   // the host waits for `event`,
    wait_stream,  // for all of `stream`,
    wait_device,  // for all streams
  };
  Kind kind = Kind::launch;
  std::int64_t correlation = 0;           // 0: it was not profiled
  std::int64_t external = 0;              // the operator's number, 0: of none
  std::uint64_t stream = 0;               // handle, 0: the default stream
  std::uint64_t event = 0;                // handle
  std::uint64_t communicator = 0;         // handle
  int ranks = 0;                          // of collectives
  int rank = 0, peer = -1;                // in the communicator; the peer's of sends and receives
  int group = 0;                          // NCCL's, of calls that are one kernel; 0: none
  std::uint64_t graph = 0;                // of launches of a CUDA graph: its number
  std::int64_t bytes = 0;                 // of copies, fills and collectives
  std::string what;                       // kernel, collective, direction of a copy
  std::array<std::int64_t, 4> product{};  // m, n, k and how many
};

// A CUDA graph, as it was captured.
struct CapturedGraph {
  std::uint64_t stream = 0;  // handle of the stream that was captured, and others with it
  std::vector<DeviceCall> calls;
  traces::Trace profile;  // of the capture
};

struct DeviceLog {
  std::vector<DeviceCall> calls;                  // in order
  std::map<std::uint64_t, CapturedGraph> graphs;  // by number, without profiles
  std::map<std::uint64_t, int> priorities;        // of streams that were made, by handle
};

// An operator's argument. Elements of a tensor are those of its storage that it reaches.
struct TensorArgument {
  std::uint64_t address = 0;
  std::int64_t elements = 0;
  std::string type;                 // "bfloat16"
  std::vector<std::int64_t> sizes;  // empty: unknown, or of no dimensions

  std::int64_t bytes() const;
};
using Argument =
    std::variant<std::monostate, bool, std::int64_t, TensorArgument, std::vector<TensorArgument>>;

struct CapturedOperator {
  std::string name;
  std::string module;     // path of the module that ran, "": none
  bool is_again = false;  // it is computed again in a backward pass
  std::vector<Argument> arguments;
  bool is_of_model = false;  // itself, where no module of it ran
};

struct CapturedGroup {
  std::string name;
  std::vector<int> ranks;
};

struct CapturedStep {
  traces::Trace profile;
  DeviceLog log;
  std::map<std::uint64_t, CapturedGraph> graphs;  // by number, that were captured before this step
  traces::Snapshot allocations;
  std::unordered_map<std::int64_t, CapturedOperator> operators;        // by external id
  std::map<std::uint64_t, CapturedGroup> groups;                       // by communicator
  std::vector<std::uint64_t> parameters, gradients, optimizer_states;  // addresses
};

// `folder` is the hooks' own. Errors name the file of it that is damaged.
Result<CapturedStep> read_captured_step(const std::string& folder);

// Parts of it. Lines of the log that are of no known kind, or of more bytes or ranks than there can be, are passed over.
DeviceLog parse_device_log(std::istream& text);
// Operators, groups and tensors of `step`.
Result<void> parse_operators(std::string_view json, const std::string& file, CapturedStep& step);

}  // namespace foreshard::profiler

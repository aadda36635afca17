#include "executor/communication/meeting_point.hpp"

#include <charconv>

namespace foreshard::executor {
namespace {

constexpr int kHighestPort = 65535;
constexpr double kLongestTimeout = 1e6, kUsualTimeout = 600;  // seconds

// Jobs on one node must not meet each other: a port from the job's number, above the range from
// which Linux lends ports on request.
constexpr int kFirstSlurmPort = 61440, kSlurmPorts = 4096;

Result<int> read_port(const std::string& text) {
  int port = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), port);
  if (error != std::errc{} || stop != text.data() + text.size() || port < 1 ||
      port > kHighestPort) {
    return fail("environment", "MASTER_PORT",
                "\"" + text + "\" is not a port; expected 1 to 65535");
  }
  return port;
}

Result<Nanoseconds> read_timeout(const Environment& environment) {
  constexpr const char* kVariable = "FORESHARD_RENDEZVOUS_TIMEOUT";
  double seconds = kUsualTimeout;
  if (const auto text = environment(kVariable)) {
    const auto [stop, error] = std::from_chars(text->data(), text->data() + text->size(), seconds);
    if (error != std::errc{} || stop != text->data() + text->size() || !(seconds > 0) ||
        seconds > kLongestTimeout) {
      return fail("environment", kVariable,
                  "\"" + *text + "\" is not a timeout; expected seconds above 0");
    }
  }
  return Nanoseconds(static_cast<std::int64_t>(seconds * 1e9));
}

Result<int> slurm_port(const Environment& environment) {
  const std::string text = environment("SLURM_JOB_ID").value_or("");
  std::uint64_t job = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), job);
  if (error != std::errc{} || stop != text.data() + text.size()) {
    return fail("environment", "MASTER_PORT",
                "is not set, and SLURM_JOB_ID = \"" + text +
                    "\" does not determine one; expected the port where the processes meet");
  }
  return kFirstSlurmPort + static_cast<int>(job % kSlurmPorts);
}

}  // namespace

std::string MeetingPoint::text() const {
  const bool is_ipv6 = host.find(':') != std::string::npos;
  return (is_ipv6 ? "[" + host + "]" : host) + ":" + std::to_string(port);
}

std::string first_of_node_list(const std::string& list) {
  std::string first;
  for (std::size_t i = 0; i < list.size() && list[i] != ','; ++i) {
    if (list[i] != '[') {
      first += list[i];
      continue;
    }
    const std::size_t end = std::min(list.find_first_of(",-]", i), list.size());
    first.append(list, i + 1, end - i - 1);
    i = std::min(list.find(']', i), list.size() - 1);
  }
  return first;
}

Result<MeetingPoint> meeting_point(const LaunchedRank& launched, const Environment& environment) {
  MeetingPoint point;
  const auto timeout = read_timeout(environment);
  if (!timeout) return tl::unexpected(timeout.error());
  point.timeout = *timeout;
  const bool is_slurm = launched.launcher == "srun";
  point.host = environment("MASTER_ADDR").value_or("");
  if (point.host.empty() && is_slurm) {
    point.host = first_of_node_list(environment("SLURM_STEP_NODELIST").value_or(""));
  }
  if (point.host.empty()) {
    return fail("environment", "MASTER_ADDR",
                "is not set; expected the host on which the processes of --comm tcp meet, that of "
                "rank 0 (--comm mpi needs none)");
  }
  const auto port_text = environment("MASTER_PORT");
  if (!port_text && !is_slurm) {
    return fail("environment", "MASTER_PORT",
                "is not set; expected the port on which the processes of --comm tcp meet");
  }
  const auto port = port_text ? read_port(*port_text) : slurm_port(environment);
  if (!port) return tl::unexpected(port.error());
  point.port = *port;
  // torchrun's agent may keep a store of its own on that port; the next one is ours then.
  if (environment("TORCHELASTIC_USE_AGENT_STORE").value_or("") == "True") {
    if (point.port == kHighestPort) {
      return fail("environment", "MASTER_PORT",
                  "65535 is torchrun's own, and there is none after it; expected a lower one");
    }
    ++point.port;
  }
  return point;
}

}  // namespace foreshard::executor

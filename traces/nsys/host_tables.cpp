#include <algorithm>
#include <array>
#include <cctype>
#include <unordered_map>

#include "traces/input/limits.hpp"
#include "traces/meaning/device_calls.hpp"
#include "traces/nsys/tables.hpp"

namespace foreshard::traces::nsys {
namespace {

// "cudaLaunchKernel_v7000" is cudaLaunchKernel of the API as of CUDA 7: programs and Kineto say
// cudaLaunchKernel.
std::string_view without_version(std::string_view name) {
  std::size_t digits = name.size();
  while (digits > 0 && std::isdigit(static_cast<unsigned char>(name[digits - 1]))) --digits;
  const bool is_version =
      name.size() - digits >= 4 && digits >= 2 && name.substr(digits - 2, 2) == "_v";
  return is_version ? name.substr(0, digits - 2) : name;
}

// Calls of the operating system and of MPI that return once somebody else has done something.
constexpr std::string_view kHostWaits[] = {"MPI_Barrier",
                                           "MPI_Probe",
                                           "MPI_Recv",
                                           "MPI_Wait",
                                           "MPI_Waitall",
                                           "MPI_Waitany",
                                           "MPI_Waitsome",
                                           "clock_nanosleep",
                                           "epoll_pwait",
                                           "epoll_wait",
                                           "futex",
                                           "nanosleep",
                                           "poll",
                                           "ppoll",
                                           "pselect",
                                           "pthread_barrier_wait",
                                           "pthread_cond_clockwait",
                                           "pthread_cond_timedwait",
                                           "pthread_cond_wait",
                                           "pthread_join",
                                           "pthread_mutex_lock",
                                           "pthread_rwlock_rdlock",
                                           "pthread_rwlock_wrlock",
                                           "select",
                                           "sem_clockwait",
                                           "sem_timedwait",
                                           "sem_wait",
                                           "sleep",
                                           "usleep",
                                           "wait",
                                           "wait4",
                                           "waitid",
                                           "waitpid"};

// A table of calls made by host threads. `kind_of` maps the name of a call to its kind.
template <typename KindOf>
void read_calls(Import& in, const std::string& table, KindOf&& kind_of) {
  in.read.insert(table);
  std::unordered_map<StringId, std::pair<StringId, EventKind>> known;
  const bool is_global = !in.source.has(table, "globalTid") && in.source.has(table, "globalPid");
  in.source.each(table,
                 {"start", "end", is_global ? "globalPid" : "globalTid", "correlationId", "nameId",
                  "textId", "name", "text", "size"},
                 [&](const Source::Row& row) {
                   if (row.is_null(0) || row.is_null(1)) {
                     return in.builder.drop("records without a start or an end");
                   }
                   Event event;
                   event.start_ns = row.integer(0);
                   event.end_ns = row.integer(1);
                   event.correlation = row.integer(3);
                   for (int column = 4; column < 8 && event.name == 0; ++column) {
                     event.name = in.names.of(row, column);
                   }
                   const auto [found, is_new] = known.try_emplace(event.name);
                   if (is_new) {
                     const std::string name(without_version(in.builder.strings()[event.name]));
                     found->second = {in.builder.strings().intern(name), kind_of(name)};
                   }
                   std::tie(event.name, event.kind) = found->second;
                   event.bytes = std::clamp<std::int64_t>(row.integer(8), 0, kMaxBytes);
                   const std::int64_t global = row.integer(2);
                   in.builder.add({false, row.is_null(2) ? kNoProcess : process_of(global),
                                   thread_of(global), 0, 0},
                                  event);
                 });
}

// ENUM_CUPTI_SYNC_TYPE of the export, in Kineto's words.
constexpr std::array<std::string_view, 5> kSynchronizations{
    "Synchronization", "Event Sync", "Stream Wait Event", "Stream Sync", "Context Sync"};
constexpr std::int64_t kStreamWait = 2, kStreamSync = 3;
constexpr std::int64_t kNoEvent = 0xFFFFFFFF;

// `has_calls`: the call that waited is in the trace and replaces the record of its wait.
void add_synchronization(Import& in, const Source::Row& row, bool has_calls) {
  if (row.is_null(0) || row.is_null(1)) return in.builder.drop("records without a start or an end");
  // Some versions give waits for a stream the number of waits of a stream, which need an event.
  const bool has_event = row.integer(8) != kNoEvent;
  const std::int64_t type =
      row.integer(7) == kStreamWait && !has_event ? kStreamSync : row.integer(7);
  const std::int64_t process = row.is_null(2) ? kNoProcess : process_of(row.integer(2));
  Event event;
  event.start_ns = row.integer(0);
  event.end_ns = row.integer(1);
  event.correlation = row.integer(6);
  event.name =
      in.names.of(kSynchronizations[type > 0 && type < 5 ? static_cast<std::size_t>(type) : 0]);
  if (type == kStreamWait) {
    event.kind = EventKind::wait;
    // deviceId is 0 in this table whatever the device.
    const std::int64_t context = row.integer(4);
    const std::int64_t device = in.builder.device_of(process, context, row.integer(3));
    in.builder.add({true, process, device, context, row.integer(5)}, event);
  } else {
    event.kind = has_calls ? EventKind::range : EventKind::host_wait;
    in.builder.add({false, process, kNone, 0, 0}, event);
  }
}

}  // namespace

void read_host_tables(Import& in) {
  for (const char* table : {"CUPTI_ACTIVITY_KIND_RUNTIME", "CUPTI_ACTIVITY_KIND_DRIVER"}) {
    read_calls(in, table, [](std::string_view call) {
      return is_blocking_call(call) ? EventKind::host_wait : EventKind::runtime;
    });
  }
  const auto of_host = [](std::string_view call) {
    return std::ranges::find(kHostWaits, call) != std::end(kHostWaits) ? EventKind::host_wait
                                                                       : EventKind::host;
  };
  for (const char* table : {"OSRT_API", "CUBLAS_EVENTS", "CUDNN_EVENTS", "MPI_P2P_EVENTS",
                            "MPI_COLLECTIVES_EVENTS", "MPI_START_WAIT_EVENTS", "MPI_OTHER_EVENTS",
                            "UCP_EVENTS", "UCP_SUBMIT_EVENTS", "NCCL_EVENTS"}) {
    read_calls(in, table, of_host);
  }
}

void read_synchronization(Import& in) {
  const std::string table = "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION";
  in.read.insert(table);
  const bool has_calls = in.source.has("CUPTI_ACTIVITY_KIND_RUNTIME");
  const std::vector<std::string> columns{"start",         "end",       "globalPid",
                                         "deviceId",      "contextId", "streamId",
                                         "correlationId", "syncType",  "eventId"};
  in.source.each(table, columns,
                 [&](const Source::Row& row) { add_synchronization(in, row, has_calls); });
}

}  // namespace foreshard::traces::nsys

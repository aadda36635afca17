#include <algorithm>
#include <array>
#include <cctype>
#include <unordered_map>

#include "traces/nsys/tables.hpp"

namespace foreshard::traces::nsys {
namespace {

bool is_one_of(std::string_view name, std::initializer_list<std::string_view> names) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// "cudaLaunchKernel_v7000" is cudaLaunchKernel of the API as of CUDA 7: programs and Kineto say
// cudaLaunchKernel.
std::string_view without_version(std::string_view name) {
  std::size_t digits = name.size();
  while (digits > 0 && std::isdigit(static_cast<unsigned char>(name[digits - 1]))) --digits;
  const bool is_version =
      name.size() - digits >= 4 && digits >= 2 && name.substr(digits - 2, 2) == "_v";
  return is_version ? name.substr(0, digits - 2) : name;
}

// Calls that return once the device is done.
bool waits_for_device(std::string_view call) {
  for (const std::string_view variant : {"_ptsz", "_ptds"}) {
    if (call.ends_with(variant)) call.remove_suffix(variant.size());
  }
  return call.ends_with("Synchronize") ||
         is_one_of(call, {"cudaMemcpy", "cudaMemcpy2D", "cudaMemcpy3D", "cudaMemcpyToSymbol",
                          "cudaMemcpyFromSymbol", "cuMemcpyDtoH_v2", "cuMemcpyHtoD_v2",
                          "cuMemcpyDtoH", "cuMemcpyHtoD"});
}

bool waits_for_others(std::string_view call) {
  return is_one_of(call, {"poll",
                          "ppoll",
                          "select",
                          "pselect",
                          "epoll_wait",
                          "epoll_pwait",
                          "sem_wait",
                          "sem_timedwait",
                          "sem_clockwait",
                          "pthread_cond_wait",
                          "pthread_cond_timedwait",
                          "pthread_cond_clockwait",
                          "pthread_join",
                          "pthread_barrier_wait",
                          "pthread_mutex_lock",
                          "pthread_rwlock_rdlock",
                          "pthread_rwlock_wrlock",
                          "sleep",
                          "usleep",
                          "nanosleep",
                          "clock_nanosleep",
                          "waitpid",
                          "wait",
                          "wait4",
                          "waitid",
                          "futex",
                          "MPI_Wait",
                          "MPI_Waitall",
                          "MPI_Waitany",
                          "MPI_Waitsome",
                          "MPI_Barrier",
                          "MPI_Recv",
                          "MPI_Probe"});
}

// A table of calls made by host threads. `kind_of` says what a call of a name is.
template <typename KindOf>
void read_calls(Import& import, const std::string& table, KindOf&& kind_of) {
  import.read.insert(table);
  std::unordered_map<StringId, std::pair<StringId, EventKind>> known;
  const bool is_global =
      !import.source.has(table, "globalTid") && import.source.has(table, "globalPid");
  import.source.each(
      table,
      {"start", "end", is_global ? "globalPid" : "globalTid", "correlationId", "nameId", "textId",
       "name", "text", "size"},
      [&](const Source::Row& row) {
        if (row.is_null(0) || row.is_null(1)) {
          return import.builder.drop("records without start or end");
}
Event event;
event.start_ns = row.integer(0);
event.end_ns = row.integer(1);
event.correlation = row.integer(3);
for (int column = 4; column < 8 && event.name == 0; ++column) {
  event.name = import.names.of(row, column);
}
const auto [found, is_new] = known.try_emplace(event.name);
if (is_new) {
  const std::string name(without_version(import.builder.strings()[event.name]));
  found->second = {import.builder.strings().intern(name), kind_of(name)};
}
std::tie(event.name, event.kind) = found->second;
event.bytes = std::clamp<std::int64_t>(row.integer(8), 0, std::int64_t{1} << 56);
const std::int64_t global = row.integer(2);
import.builder.add({false, row.is_null(2) ? kNoProcess : process_of(global), thread_of(global), 0,
                    0},
                   event);
}  // namespace
);
}  // namespace foreshard::traces::nsys

// ENUM_CUPTI_SYNC_TYPE of the export, in Kineto's words.
constexpr std::array<std::string_view, 5> kSynchronizations{
    "Synchronization", "Event Sync", "Stream Wait Event", "Stream Sync", "Context Sync"};
constexpr std::int64_t kStreamWait = 2;

}  // namespace

void read_host_tables(Import& import) {
  for (const char* table : {"CUPTI_ACTIVITY_KIND_RUNTIME", "CUPTI_ACTIVITY_KIND_DRIVER"}) {
    read_calls(import, table, [](std::string_view call) {
      return waits_for_device(call) ? EventKind::host_wait : EventKind::runtime;
    });
  }
  const auto of_host = [](std::string_view call) {
    return waits_for_others(call) ? EventKind::host_wait : EventKind::host;
  };
  for (const char* table : {"OSRT_API", "CUBLAS_EVENTS", "CUDNN_EVENTS", "MPI_P2P_EVENTS",
                            "MPI_COLLECTIVES_EVENTS", "MPI_START_WAIT_EVENTS", "MPI_OTHER_EVENTS",
                            "UCP_EVENTS", "UCP_SUBMIT_EVENTS", "NCCL_EVENTS"}) {
    read_calls(import, table, of_host);
  }
}

void read_synchronization(Import& import) {
  const std::string table = "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION";
  import.read.insert(table);
  // The call that waited says all that the record of its wait says, and its thread.
  const bool has_calls = import.source.has("CUPTI_ACTIVITY_KIND_RUNTIME");
  import.source.each(
      table,
      {"start", "end", "globalPid", "deviceId", "contextId", "streamId", "correlationId", "syncType"},
      [&](const Source::Row& row) {
        if (row.is_null(0) || row.is_null(1)) {
          return import.builder.drop("records without start or end");
}
const std::int64_t type = row.integer(7);
const std::int64_t process = row.is_null(2) ? kNoProcess : process_of(row.integer(2));
Event event;
event.start_ns = row.integer(0);
event.end_ns = row.integer(1);
event.correlation = row.integer(6);
event.name =
    import.names.of(kSynchronizations[type > 0 && type < 5 ? static_cast<std::size_t>(type) : 0]);
if (type == kStreamWait) {
  event.kind = EventKind::wait;
  import.builder.add({true, process, row.integer(3), row.integer(4), row.integer(5)}, event);
} else {
  event.kind = has_calls ? EventKind::runtime : EventKind::host_wait;
  import.builder.add({false, process, kNone, 0, 0}, event);
}
});
}

}  // namespace foreshard::traces::nsys

// Writes tables as Nsight Systems exports them, for recordings of our own: its importer then names,
// classifies and joins what is in them, so that there is one place that does.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace foreshard::traces::nsys {

// What a device did, for a process. Times are nanoseconds of one clock for all.
struct ExportedWork {
  std::int64_t start_ns = 0, end_ns = 0;
  std::int64_t device = 0, context = 0, stream = 0;
  std::int64_t correlation = 0;  // with the call that launched it
  std::int64_t bytes = 0;
};

// What a thread did.
struct ExportedCall {
  std::int64_t start_ns = 0, end_ns = 0;
  std::int64_t thread = 0;
  std::int64_t correlation = 0;
  std::string_view name;
};

// Kinds of memory, copies and waits are numbered as CUPTI does: CUpti_ActivityMemoryKind,
// CUpti_ActivityMemcpyKind, CUpti_ActivitySynchronizationType.
class ExportTables {
 public:
  enum class Api { runtime, driver };
  static constexpr std::int64_t kOpen = -1;  // the end of a range that none is known of

  explicit ExportTables(const std::string& path);  // of a new file
  ~ExportTables();
  ExportTables(const ExportTables&) = delete;
  ExportTables& operator=(const ExportTables&) = delete;

  // What follows is of this process, below 2^16. Ranks are in the order of processes, then of devices.
  void begin_process(std::int64_t number);
  void add_kernel(const ExportedWork& work, std::string_view name);
  void add_copy(const ExportedWork& work, int kind, int from_memory, int to_memory);
  void add_fill(const ExportedWork& work, int memory);
  void add_wait(const ExportedWork& wait, int type, std::int64_t event);
  void add_call(const ExportedCall& call, Api api);
  void add_allocation(const ExportedWork& moment, std::int64_t address, int memory, bool is_freed);
  // Of NVTX; the domain may be empty.
  void add_range(const ExportedCall& range, std::string_view domain);
  void add_mark(const ExportedCall& moment, std::string_view domain);

  // The time of day, in nanoseconds since 1970, at the clock's 0; and whose processes they are.
  void describe(std::int64_t utc_of_clock_ns, std::string_view host);
  // Closes the file; false where something could not be written.
  bool close();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace foreshard::traces::nsys

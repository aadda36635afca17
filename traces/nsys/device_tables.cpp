#include <algorithm>
#include <array>
#include <unordered_map>

#include "traces/input/limits.hpp"
#include "traces/meaning/communication.hpp"
#include "traces/nsys/tables.hpp"

namespace foreshard::traces::nsys {
namespace {

// ENUM_CUDA_MEMCPY_OPER and ENUM_CUDA_MEM_KIND of the export, in Kineto's words.
constexpr std::array<std::string_view, 14> kCopies{"Unknown", "HtoD", "DtoH", "HtoA", "AtoH",
                                                   "AtoA",    "AtoD", "DtoA", "DtoD", "HtoH",
                                                   "PtoP",    "HtoD", "DtoH", "DtoD"};
constexpr std::array<std::string_view, 8> kMemories{"Pageable",       "Pinned",  "Device",
                                                    "Array",          "Managed", "Device Static",
                                                    "Managed Static", "Unknown"};
constexpr std::int64_t kPageable = 0, kPinned = 1;
constexpr std::int64_t kBetweenDevices = 10;  // PtoP

template <std::size_t N>
std::string text_of(const std::array<std::string_view, N>& words, std::int64_t number) {
  const bool is_known = number >= 0 && number < static_cast<std::int64_t>(N);
  return std::string(is_known ? words[static_cast<std::size_t>(number)] : "Unknown");
}

// Columns that all tables of device work have, in this order.
const std::vector<std::string> kCommon{"start",     "end",      "globalPid",    "deviceId",
                                       "contextId", "streamId", "correlationId"};
constexpr int kNext = 7;

std::vector<std::string> common_and(std::initializer_list<const char*> more) {
  std::vector<std::string> columns = kCommon;
  columns.insert(columns.end(), more.begin(), more.end());
  return columns;
}

Location location_of(const Source::Row& row) {
  return {true, row.is_null(2) ? kNoProcess : process_of(row.integer(2)), row.integer(3),
          row.integer(4), row.integer(5)};
}

template <typename Fill>
void read(Import& in, const std::string& table, std::initializer_list<const char*> more,
          Fill&& fill) {
  in.read.insert(table);
  in.source.each(table, common_and(more), [&](const Source::Row& row) {
    if (row.is_null(0) || row.is_null(1)) {
      return in.builder.drop("records without a start or an end");
    }
    Event event;
    event.start_ns = row.integer(0);
    event.end_ns = row.integer(1);
    event.kind = EventKind::memory;
    event.correlation = row.integer(6);
    fill(row, event);
    event.bytes = std::clamp<std::int64_t>(event.bytes, 0, kMaxBytes);
    in.builder.add(location_of(row), event);
  });
}

void read_kernels(Import& in, const std::string& table) {
  std::unordered_map<StringId, EventKind> kinds;
  read(in, table, {"demangledName", "shortName", "mangledName", "name"},
       [&](const Source::Row& row, Event& event) {
         for (int column = kNext; column < kNext + 4 && event.name == 0; ++column) {
           event.name = in.names.of(row, column);
         }
         const auto [kind, is_new] = kinds.try_emplace(event.name, EventKind::compute);
         if (is_new && is_communication_kernel(in.builder.strings()[event.name])) {
           kind->second = EventKind::communication;
         }
         event.kind = kind->second;
       });
}

// Graphs that were recorded as one piece of work each, which is the tool's default.
void read_graphs(Import& in) {
  read(in, "CUPTI_ACTIVITY_KIND_GRAPH_TRACE", {"graphId"},
       [&](const Source::Row& row, Event& event) {
         event.kind = EventKind::compute;
         event.name = in.names.of("CUDA graph " + std::to_string(row.integer(kNext)));
       });
}

void read_allocations(Import& in) {
  const std::string table = "CUDA_GPU_MEMORY_USAGE_EVENTS";
  in.read.insert(table);
  in.source.each(
      table,
      {"start", "globalPid", "deviceId", "address", "bytes", "memKind", "memoryOperationType"},
      [&](const Source::Row& row) {
        if (row.is_null(0)) return in.builder.drop("records without a start or an end");
        const std::int64_t kind = row.integer(5, 2);
        MemoryEvent event;
        event.time_ns = row.integer(0);
        event.action =
            row.integer(6) == 0 ? MemoryAction::segment_alloc : MemoryAction::segment_free;
        event.on_host = kind == kPageable || kind == kPinned;
        event.address = row.integer(3);
        event.bytes = std::clamp<std::int64_t>(row.integer(4), 0, kMaxBytes);
        event.requested = event.bytes;
        event.category = in.names.of(text_of(kMemories, kind));
        in.builder.add(row.is_null(1) ? kNoProcess : process_of(row.integer(1)), row.integer(2),
                       event);
      });
}

}  // namespace

void read_device_tables(Import& in) {
  for (const char* table :
       {"CUPTI_ACTIVITY_KIND_KERNEL", "CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL"}) {
    read_kernels(in, table);
  }
  read_graphs(in);
  read(in, "CUPTI_ACTIVITY_KIND_MEMCPY", {"bytes", "copyKind", "srcKind", "dstKind", "name"},
       [&](const Source::Row& row, Event& event) {
         event.bytes = row.integer(kNext);
         const bool is_between = row.integer(kNext + 1) == kBetweenDevices;
         if (is_between) event.kind = EventKind::communication;
         event.name = in.names.of(row, kNext + 4);
         if (event.name != 0) return;
         std::string name = "Memcpy " + text_of(kCopies, row.integer(kNext + 1));
         if (!row.is_null(kNext + 2) && !row.is_null(kNext + 3)) {
           name += " (" + text_of(kMemories, row.integer(kNext + 2)) + " -> " +
                   text_of(kMemories, row.integer(kNext + 3)) + ")";
         }
         event.name = in.names.of(name);
       });
  read(in, "CUPTI_ACTIVITY_KIND_MEMSET", {"bytes", "memKind", "name"},
       [&](const Source::Row& row, Event& event) {
         event.bytes = row.integer(kNext);
         event.name = in.names.of(row, kNext + 2);
         if (event.name != 0) return;
         event.name =
             in.names.of(row.is_null(kNext + 1)
                             ? "Memset"
                             : "Memset (" + text_of(kMemories, row.integer(kNext + 1)) + ")");
       });
  read_allocations(in);
}

}  // namespace foreshard::traces::nsys

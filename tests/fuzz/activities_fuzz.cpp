// Activities of GPUs of any contents and in any order, as CUPTI's records are decoded: a recording
// has an event of the right instruction for each piece of work whose id came, and nothing else; a
// profiled program's trace keeps the laws of traces.
#include <array>
#include <filesystem>
#include <limits>
#include <map>
#include <set>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include <unistd.h>

#include "profiler/injection/activity_tables.hpp"
#include "profiler/record/device_work.hpp"
#include "tests/fuzz/trace_laws.hpp"
#include "traces/fst/fst_file.hpp"
#include "traces/input/limits.hpp"

namespace foreshard::fuzz {
namespace {

using profiler::Activity;
using profiler::ActivityKind;
using profiler::InstructionId;

// What the recording knows of: programs 0 and 1 of ranks 0 and 1, each with so many instructions.
constexpr std::int32_t kRanks = 2, kPrograms = 2, kInstructions = 3;
// Fewer than ids and work are kept for each other.
constexpr std::size_t kMostActivities = 4096;

constexpr std::int64_t kEdges[] = {std::numeric_limits<std::int64_t>::min(),
                                   std::numeric_limits<std::int64_t>::max(),
                                   -1,
                                   0,
                                   traces::kLatestNs,
                                   traces::kLatestNs + 1,
                                   -traces::kLatestNs,
                                   traces::kMaxBytes + 1};
constexpr const char* kNames[] = {nullptr,
                                  "",
                                  "_Z3addPf",
                                  "_Z",
                                  "\xff\xfe",
                                  "ncclDevKernel_AllGather",
                                  "cudaMemPoolTrimTo_v11020",
                                  "cudaStreamSynchronize_v3020"};

std::int64_t number_of(std::uint8_t byte) {
  return byte < std::size(kEdges) ? kEdges[byte] : std::int64_t{byte} * 100;
}

// Eight bytes an activity: numbers are few, so that they meet.
Activity activity_of(std::span<const std::uint8_t, 8> bytes) {
  Activity a;
  a.kind = static_cast<ActivityKind>(bytes[0] % static_cast<int>(ActivityKind::kCount));
  a.correlation = bytes[1] % 16;
  a.start_ns = number_of(bytes[2]);
  a.end_ns = number_of(bytes[3]);
  const InstructionId id{bytes[4] % 4u, bytes[4] / 4 % 4u, bytes[4] / 16, bytes[5] % 5};
  a.id = a.kind == ActivityKind::external_id ? pack(id) : bytes[4];
  if (bytes[5] == 0xFF) a.id = std::numeric_limits<std::uint64_t>::max();
  a.bytes = number_of(bytes[5]);
  a.pool = bytes[4] % 4;
  a.pool_bytes = number_of(bytes[7]);
  a.device = bytes[6] % 4;
  a.stream = bytes[6] / 4 % 4;
  a.context = a.process = a.thread = bytes[6] / 16;
  a.detail = bytes[7];
  a.from_memory = a.to_memory = bytes[7] % 16;
  a.name = kNames[bytes[7] / 8 % std::size(kNames)];
  a.domain = kNames[bytes[7] / 64];
  return a;
}

// As they are handed over, buffer by buffer.
std::vector<std::vector<Activity>> batches_of(std::span<const std::uint8_t> bytes) {
  std::vector<std::vector<Activity>> batches(1);
  for (std::size_t n = 0; bytes.size() >= 9 && n < kMostActivities; ++n, bytes = bytes.subspan(9)) {
    if (bytes[0] % 4 == 0) batches.emplace_back();
    batches.back().push_back(activity_of(bytes.subspan<1, 8>()));
  }
  return batches;
}

// Step, start, end, lane and instruction.
using Found =
    std::multiset<std::tuple<std::int32_t, std::int64_t, std::int64_t, std::int32_t, std::int32_t>>;

std::int32_t lane_of(const InstructionId& id) {
  return static_cast<std::int32_t>(id.rank) * kInstructions + id.instruction;
}

// What has the id of an instruction, at the latest with the batch after it in which one came.
Found expected(const std::vector<std::vector<Activity>>& batches) {
  Found found;
  std::map<std::uint32_t, std::uint64_t> ids;
  std::vector<Activity> work;
  for (const auto& batch : batches) {
    for (const Activity& a : batch) {
      const bool works = a.kind == ActivityKind::kernel || a.kind == ActivityKind::copy ||
                         a.kind == ActivityKind::fill;
      if (a.kind == ActivityKind::external_id) ids[a.correlation] = a.id;
      if (works && a.start_ns > 0 && a.end_ns >= a.start_ns) work.push_back(a);
    }
    std::erase_if(work, [&](const Activity& a) {
      if (!ids.contains(a.correlation)) return false;
      const InstructionId id = profiler::unpack(ids[a.correlation]);
      const bool is_known =
          id.rank < kRanks && id.program < kPrograms && id.instruction < kInstructions;
      if (is_known && a.end_ns <= traces::kLatestNs) {
        found.emplace(static_cast<std::int32_t>(id.step), a.start_ns, a.end_ns, lane_of(id),
                      id.instruction);
      }
      return true;
    });
  }
  return found;
}

void record(const std::vector<std::vector<Activity>>& batches, const std::string& path) {
  auto writer = traces::FstWriter::create(path, {}).value();
  profiler::DeviceWork work;
  for (std::int32_t rank = 0; rank < kRanks; ++rank) {
    profiler::DeviceProgram program;
    for (std::int32_t i = 0; i < kInstructions; ++i) {
      program.lanes.push_back(
          writer.add(traces::Lane{rank, true, writer.strings().intern("stream")}));
      program.attributes.push_back({.kind = traces::EventKind::compute, .instruction = i});
      program.allocates.push_back(i == 0);
    }
    for (std::int32_t n = 0; n < kPrograms; ++n) {
      work.add_program(static_cast<std::uint32_t>(rank), program);
    }
  }
  for (const auto& batch : batches) {
    work.take(batch);
    if (batch.size() % 2 == 1) work.write(writer, 0);
    if (batch.size() % 5 == 1) work.dropped(static_cast<std::int64_t>(batch.size()));
  }
  work.finish();
  work.write(writer, 0);
  require(writer.close(work.written_until()).has_value());
}

void require_recording(const std::vector<std::vector<Activity>>& batches) {
  static const std::string path = (std::filesystem::temp_directory_path() /
                                   ("activities_fuzz." + std::to_string(::getpid()) + ".fst"))
                                      .string();
  record(batches, path);
  const auto trace = traces::read_fst(path);
  std::filesystem::remove(path);
  require(trace.has_value());
  require_trace_laws(*trace);
  Found found;
  for (const traces::Event& e : trace->events) {
    found.emplace(e.step, e.start_ns, e.end_ns, e.lane, e.instruction);
  }
  require(found == expected(batches));
}

void require_profile(const std::vector<std::vector<Activity>>& batches) {
  static const std::string path = (std::filesystem::temp_directory_path() /
                                   ("activities_fuzz." + std::to_string(::getpid()) + ".tables"))
                                      .string();
  std::vector<profiler::RawActivities> processes(2);
  for (std::size_t n = 0; n < batches.size(); ++n) {
    profiler::RawActivities& process = processes[n % 2];
    process.activities.insert(process.activities.end(), batches[n].begin(), batches[n].end());
    if (batches[n].size() % 5 == 1) {
      process.dropped.emplace_back(batches[n][0].start_ns, batches[n].size());
    }
    process.is_complete = batches[n].size() % 2 == 1;
  }
  const auto trace = profiler::trace_of_activities(processes, path);
  require(!std::filesystem::exists(path));
  if (trace) require_trace_laws(*trace);
}

}  // namespace
}  // namespace foreshard::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto batches = foreshard::fuzz::batches_of({data, size});
  foreshard::fuzz::require_recording(batches);
  foreshard::fuzz::require_profile(batches);
  return 0;
}

#include "traces/kineto/collector.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "models/base/utf8.hpp"
#include "traces/input/limits.hpp"
#include "traces/kineto/background_collectives.hpp"
#include "traces/kineto/costs/transfer_keys.hpp"
#include "traces/kineto/json/exact_time.hpp"
#include "traces/meaning/communication.hpp"
#include "traces/meaning/device_calls.hpp"
#include "traces/meaning/launches.hpp"
#include "traces/trace.hpp"

namespace foreshard::traces::kineto {
namespace {

// The categories of Kineto's events, in all versions, and the kinds of events they are.

enum class Category : std::uint8_t {
  host,
  annotation,
  runtime,
  stack,
  overhead,
  kernel,
  copy,
  device_range,
  sync,
  profiler,
  unknown
};

struct CategoryName {
  std::string_view text;
  Category category;
};

// By how often they occur. The capitalised ones are of 2021.
constexpr std::array kCategories{CategoryName{"cpu_op", Category::host},
                                 CategoryName{"kernel", Category::kernel},
                                 CategoryName{"cuda_runtime", Category::runtime},
                                 CategoryName{"python_function", Category::stack},
                                 CategoryName{"user_annotation", Category::annotation},
                                 CategoryName{"gpu_memcpy", Category::copy},
                                 CategoryName{"gpu_memset", Category::copy},
                                 CategoryName{"cuda_driver", Category::runtime},
                                 CategoryName{"cuda_sync", Category::sync},
                                 CategoryName{"cuda_event", Category::device_range},
                                 CategoryName{"gpu_user_annotation", Category::device_range},
                                 CategoryName{"cuda_profiler_range", Category::device_range},
                                 CategoryName{"overhead", Category::overhead},
                                 CategoryName{"Operator", Category::host},
                                 CategoryName{"Kernel", Category::kernel},
                                 CategoryName{"Runtime", Category::runtime},
                                 CategoryName{"Memcpy", Category::copy},
                                 CategoryName{"Memset", Category::copy},
                                 CategoryName{"concurrent_kernel", Category::kernel},
                                 CategoryName{"Trace", Category::profiler}};

Category category_of(std::string_view text) {
  for (const CategoryName& known : kCategories) {
    if (known.text == text) return known.category;
  }
  if (text.ends_with("_runtime") || text.ends_with("_driver")) return Category::runtime;
  return Category::unknown;
}

bool is_on_device(Category category) {
  return category == Category::kernel || category == Category::copy ||
         category == Category::device_range || category == Category::sync;
}

// In 2021 ranges of the script and of PyTorch had the category of operators, whose names have no "#":
// ProfilerStep#3, enumerate(DataLoader)#_Iter.__next__, Optimizer.step#SGD.step.
bool is_name_of_a_range(std::string_view name) {
  return name.find('#') != std::string_view::npos;
}

// `is_communication` answers of a kernel.
template <typename IsCommunication>
EventKind kind_of(Category category, std::string_view name,
                  const IsCommunication& is_communication) {
  switch (category) {
    case Category::host: return is_name_of_a_range(name) ? EventKind::range : EventKind::host;
    case Category::runtime:
      return is_blocking_call(name) ? EventKind::host_wait : EventKind::runtime;
    case Category::stack: return EventKind::stack;
    case Category::kernel:
      if (name.starts_with("Memcpy") || name.starts_with("Memset")) return EventKind::memory;
      return is_communication() ? EventKind::communication : EventKind::compute;
    case Category::copy:
      return is_copy_between_devices(name) ? EventKind::communication : EventKind::memory;
    case Category::sync: return name == "Stream Wait Event" ? EventKind::wait : EventKind::range;
    default: return EventKind::range;
  }
}

constexpr std::size_t kFirstBlock = 2, kLargestBlock = 4096;  // events
constexpr std::int64_t kAbsent = RawEvent::kAbsent;
constexpr const char* kImpossibleTime = "events with an impossible time or duration";
constexpr std::int64_t kMostCollectives = std::int64_t{1} << 48;  // more is damage

// What is earlier, well before the epoch, is damage.
constexpr std::int64_t kEarliest = -1'000'000'000'000'000;

std::int64_t or_zero(std::int64_t value) {
  return value == kAbsent ? 0 : value;
}

}  // namespace

void Collector::drop(std::string_view reason, std::string_view detail) {
  constexpr std::size_t kMaxReasons = 100, kLongestDetail = 60;
  std::string text(reason);
  if (!detail.empty()) text += " " + shortened(detail, kLongestDetail);
  if (out_.dropped.size() >= kMaxReasons && !out_.dropped.contains(text)) text = "other events";
  ++out_.dropped[text];
}

Collector::Entry& Collector::add(std::int32_t lane) {
  const auto index = static_cast<std::size_t>(lane);
  if (index >= blocks_.size()) blocks_.resize(index + 1);
  Blocks& blocks = blocks_[index];
  if (blocks.empty() || blocks.back().size() == blocks.back().capacity()) {
    const std::size_t size = blocks.empty() ? kFirstBlock : 2 * blocks.back().capacity();
    blocks.emplace_back().reserve(std::min(size, kLargestBlock));
  }
  Entry& entry = blocks.back().emplace_back();
  entry.event.lane = lane;
  return entry;
}

StringId Collector::intern(const CostKey& key) {
  return out_.strings.intern(text(key));
}

void Collector::use(const RawEvent& raw) {
  switch (raw.phase.size() == 1 ? raw.phase[0] : '?') {
    case 'X':
    case 'B': return use_slice(raw);
    case 'E': return use_end(raw);
    case 'i':
    case 'I': return use_instant(raw);
    case 'M': return use_metadata(raw);
    case 's':
    case 't':
    case 'f': return use_flow(raw);
    case 'C': return use_counter(raw);
    default: return drop("events of phase", raw.phase);
  }
}

// A whole slice, or the beginning of one. PyTorch writes whole ones; beginnings are of programs that
// have categories of their own.
void Collector::use_slice(const RawEvent& raw) {
  const bool is_beginning = raw.phase == "B";
  Category category = category_of(raw.category);
  if (category == Category::unknown && is_beginning) category = Category::annotation;
  if (category == Category::unknown) return drop("events of category", raw.category);
  if (category == Category::profiler) return drop("profiler spans");
  if (category == Category::stack && !keeps_stacks_)
    return drop("python_function events (--no-stacks)");
  ExactTime start, duration;
  if (!parse_time(raw.timestamp, start)) return drop("events without a timestamp");
  if (!is_beginning && raw.duration.empty()) return drop("events without a duration");
  const bool has_duration = is_beginning || (parse_time(raw.duration, duration) &&
                                             duration.whole >= 0 && duration.whole <= kLatestNs);
  if (!has_duration || start.whole < kEarliest) return drop(kImpossibleTime);
  const bool on_device = is_on_device(category);
  if (on_device && device_ < 0) device_ = device_of(raw);
  const std::int32_t lane =
      on_device ? lanes_.stream(stream_of(raw)) : lanes_.thread(raw.process, raw.thread);
  auto& [event, links] =
      is_beginning ? open_[LaneTable::place(raw.process, raw.thread)].emplace_back() : add(lane);
  event.lane = lane;
  event.start_ns = start.rounded();
  event.end_ns = (start + duration).rounded();
  const StringId name = event.name = out_.strings.intern(raw.name);
  event.kind = kind_of(category, raw.name, [&] { return is_communication(name, raw.name); });
  if (event.kind == EventKind::compute && !raw.collective.empty()) {
    event.kind = EventKind::communication;
  }
  event.correlation = or_zero(raw.correlation);
  // Before 2023 the device's events had their correlation here too.
  links.external_id = raw.external_id == raw.correlation ? 0 : or_zero(raw.external_id);
  if (on_device) {
    describe_device(raw, event);
  } else if (category == Category::host) {
    describe_host(raw, event, links);
  } else if (category == Category::annotation) {
    links.collective_size = collective_size_tag(raw);
  }
}

// Kernels are many and their names few.
bool Collector::is_communication(StringId name, std::string_view text) {
  const auto [found, is_new] = communication_.try_emplace(name, false);
  if (is_new) found->second = is_communication_kernel(text);
  return found->second;
}

void Collector::use_end(const RawEvent& raw) {
  std::vector<Entry>& open = open_[LaneTable::place(raw.process, raw.thread)];
  if (open.empty()) return drop("ends of events without a beginning");
  Entry entry = open.back();
  open.pop_back();
  ExactTime end;
  if (!parse_time(raw.timestamp, end)) return drop("events without a timestamp");
  if (end.rounded() < entry.event.start_ns) return drop(kImpossibleTime);
  entry.event.end_ns = end.rounded();
  add(entry.event.lane) = entry;
}

std::int64_t Collector::device_of(const RawEvent& raw) {
  return raw.device != kAbsent ? raw.device : LaneTable::number(raw.process);
}

LaneTable::Location Collector::stream_of(const RawEvent& raw) {
  constexpr std::int64_t kMaxStreams = std::int64_t{1} << 31;  // more is CUDA's word for all
  const std::int64_t device = device_of(raw);
  std::int64_t stream = raw.stream != kAbsent ? raw.stream : LaneTable::number(raw.thread);
  if (stream < 0 || stream >= kMaxStreams) stream = -1;
  return {device, stream};
}

void Collector::describe_device(const RawEvent& raw, Event& event) {
  if (event.kind == EventKind::memory || is_copy_between_devices(raw.name)) {
    event.bytes = std::max<std::int64_t>(0, or_zero(raw.bytes));
    if (const auto key = copy_key(raw.name, event.bytes)) event.cost_key = intern(*key);
  } else if (event.kind == EventKind::communication && !raw.collective.empty()) {
    describe_collective(raw, event);
  }
}

void Collector::describe_collective(const RawEvent& raw, Event& event) {
  event.bytes = collective_bytes(raw);
  if (const auto key = collective_key(raw)) event.cost_key = intern(*key);
  if (raw.group_name.empty() && raw.group_ranks.empty()) return;
  event.group =
      out_.strings.intern(std::string(raw.group_name) + " " + std::string(raw.group_ranks));
  if (raw.sequence >= 0 && raw.sequence < kMostCollectives) event.sequence = raw.sequence + 1;
}

void Collector::describe_host(const RawEvent& raw, Event& event, EventLinks& links) {
  if (!raw.collective.empty()) {
    describe_collective(raw, event);
  } else if (!raw.input_dims.empty()) {
    const KeyMemo::Known known = keys_.of(event.name, raw);
    event.cost_key = known.key;
    links.cost_key_in_backward = known.in_backward;
    links.collective_size = collective_size_tag(raw);
  }
}

void Collector::use_instant(const RawEvent& raw) {
  const bool is_out_of_memory = raw.name == "[OutOfMemory]";
  if (raw.name.starts_with("Iteration Start") || raw.name == "Record Window End") {
    return drop("profiler markers");
  }
  if (raw.name != "[memory]" && !is_out_of_memory) return drop("instant events named", raw.name);
  ExactTime time;
  if (!parse_time(raw.timestamp, time) || time.whole < kEarliest) {
    return drop("events without a timestamp");
  }
  const auto is_size = [](std::int64_t n) { return n >= -kMaxBytes && n <= kMaxBytes; };
  if ((raw.bytes == kAbsent && !is_out_of_memory) || !is_size(or_zero(raw.bytes))) {
    return drop("[memory] events without a size");
  }
  AllocatorInstant& instant = out_.memory.emplace_back();
  instant.time_ns = time.rounded();
  instant.address = or_zero(raw.address);
  instant.bytes = or_zero(raw.bytes);
  if (is_size(raw.total_allocated)) instant.allocated = raw.total_allocated;
  if (is_size(raw.total_reserved)) instant.reserved = raw.total_reserved;
  instant.lane = lanes_.thread(raw.process, raw.thread);
  instant.on_host = raw.device_type == 0;
  instant.device = static_cast<std::int16_t>(std::clamp<std::int64_t>(raw.device_id, -1, 4096));
  instant.is_out_of_memory = is_out_of_memory;
}

void Collector::use_metadata(const RawEvent& raw) {
  if (raw.name == "thread_name") lanes_.name_thread(raw.process, raw.thread, raw.label);
  if (raw.name == "process_name") lanes_.name_process(raw.process, raw.label);
}

void Collector::use_flow(const RawEvent& raw) {
  using Kind = FlowEnd::Kind;
  const bool is_beginning = raw.phase == "s", is_of_operators = raw.category == "fwdbwd";
  if (!is_of_operators && !raw.category.starts_with("ac2g") && !raw.category.starts_with("async")) {
    return drop("flow events of category", raw.category);
  }
  ExactTime time;
  if (raw.flow == kAbsent || !parse_time(raw.timestamp, time)) return;
  FlowEnd end{raw.flow, time.rounded(), is_beginning ? Kind::launch : Kind::launched};
  if (is_of_operators) end.kind = is_beginning ? Kind::forward : Kind::backward;
  end.place =
      end.kind == Kind::launched ? stream_of(raw) : LaneTable::place(raw.process, raw.thread);
  // Most flows to the device stand behind their event and repeat its correlation.
  const auto lane = static_cast<std::size_t>(lanes_.find(end.is_on_device(), end.place));
  if (!is_of_operators && lane < blocks_.size() && !blocks_[lane].empty()) {
    const Event& last = blocks_[lane].back().back().event;
    const bool repeats = is_beginning ? last.correlation == end.flow : last.correlation != 0;
    if (last.start_ns == end.time_ns && repeats) return;
  }
  out_.flows.push_back(end);
}

void Collector::use_counter(const RawEvent& raw) {
  ExactTime time;
  if (!parse_time(raw.timestamp, time) || time.whole < kEarliest) {
    return drop("events without a timestamp");
  }
  bool has_number = false;
  for (const auto& [series, text] : raw.series) {
    double value = 0;
    const char* end = text.data() + text.size();
    if (std::from_chars(text.data(), end, value).ptr != end || !std::isfinite(value)) continue;
    has_number = true;
    if (!counters_.add(raw.process, raw.flow, raw.name, series, {time.rounded(), value})) {
      return drop("samples of further counters");
    }
  }
  if (!has_number) drop("counters without a number");
}

// Each process numbers its launches by itself: of a number that several use, as in files that were put into one, it
// is unknown which call launched which work.
void Collector::forget_shared_launches() {
  std::map<std::int64_t, std::vector<std::int64_t>> numbers;  // of calls, by process
  for (std::size_t lane = 0; lane < out_.lanes.size(); ++lane) {
    if (out_.lanes[lane].device) continue;
    std::vector<std::int64_t>& its = numbers[lanes_.process(lane)];
    for (std::size_t i = out_.lane_begin[lane]; i < out_.lane_begin[lane + 1]; ++i) {
      const Event& call = out_.events[i];
      if (call.correlation != 0 && can_launch(call)) its.push_back(call.correlation);
    }
  }
  std::erase_if(numbers, [](const auto& process) { return process.second.empty(); });
  if (numbers.size() < 2) return;
  std::unordered_map<std::int64_t, std::int64_t> user;
  std::unordered_set<std::int64_t> shared;
  for (const auto& [process, its] : numbers) {
    for (const std::int64_t number : its) {
      if (user.try_emplace(number, process).first->second != process) shared.insert(number);
    }
  }
  for (std::size_t i = 0; i < out_.events.size() && !shared.empty(); ++i) {
    Event& event = out_.events[i];
    if (!shared.contains(event.correlation)) continue;
    if (is_device_work(event.kind)) drop("launches whose numbers several processes use");
    event.correlation = out_.links[i].external_id = 0;
  }
}

Collected Collector::finish(std::int64_t base_ns) {
  for (const auto& [thread, open] : open_) {
    for (std::size_t i = 0; i < open.size(); ++i) drop("beginnings of events without an end");
  }
  out_.lanes = lanes_.lanes(out_.strings);
  blocks_.resize(lanes_.size());
  std::size_t events = 0;
  out_.lane_begin.push_back(0);
  for (const Blocks& blocks : blocks_) {
    for (const auto& block : blocks) events += block.size();
    out_.lane_begin.push_back(events);
  }
  out_.events.reserve(events);
  out_.links.reserve(events);
  for (Blocks& blocks : blocks_) {
    for (auto& block : blocks) {
      for (Entry& entry : block) {
        entry.event.start_ns += base_ns;
        entry.event.end_ns += base_ns;
        out_.events.push_back(entry.event);
        out_.links.push_back(entry.links);
      }
      block = {};
    }
  }
  blocks_.clear();
  for (AllocatorInstant& instant : out_.memory) instant.time_ns += base_ns;
  out_.counters = counters_.take(out_.strings, base_ns);
  for (FlowEnd& end : out_.flows) {
    end.time_ns += base_ns;
    end.lane = lanes_.find(end.is_on_device(), end.place);
  }
  std::erase_if(out_.flows, [](const FlowEnd& end) { return end.lane == kNone; });
  forget_shared_launches();
  return std::move(out_);
}

}  // namespace foreshard::traces::kineto

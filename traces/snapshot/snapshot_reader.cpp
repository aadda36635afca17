#include <algorithm>
#include <bit>
#include <map>
#include <memory>
#include <optional>
#include <unordered_map>

#include "models/allocator/allocator_settings.hpp"
#include "models/base/host_memory.hpp"
#include "models/base/mapped_file.hpp"
#include "models/base/units.hpp"
#include "traces/input/byte_source.hpp"
#include "traces/input/limits.hpp"
#include "traces/input/sniff_file_type.hpp"
#include "traces/snapshot/pickle/pickle.hpp"
#include "traces/snapshot/recorded_segments.hpp"
#include "traces/snapshot/snapshot.hpp"

namespace foreshard::traces {
namespace {

using Use = SegmentState::Use;
using Action = AllocatorAction;

constexpr std::int32_t kMaxDevices = 1024;
// A pickle can name one event again and again: no more are read than stand in a file of its size.
constexpr std::size_t kEventsOfAnySize = 3'000'000, kLeastBytesOfAnEvent = 32;
constexpr const char* kWhat = "a memory snapshot (pickle)";

std::string no_pickle(std::string_view bytes, const std::string& problem) {
  constexpr std::size_t kIs = 3;
  return "is not a pickle (" + sniff_content(bytes).substr(kIs) + ": " +
         problem.substr(0, problem.find(';')) +
         "); expected a CUDA memory snapshot from torch.cuda.memory._dump_snapshot";
}

class SnapshotReader {
 public:
  SnapshotReader(const Pickle& pickle, std::string_view bytes, const std::string& file)
      : values_(pickle.values),
        damage_(pickle.damage),
        bytes_(bytes),
        file_(file),
        budget_(values_.entry_count()),
        most_events_(std::max(kEventsOfAnySize, bytes.size() / kLeastBytesOfAnEvent)) {}

  Result<Snapshot> run(PickleId root) {
    snapshot_.texts.emplace_back();
    const bool has_segments_only = values_.is(root, PickleType::list);
    const PickleId segments = has_segments_only ? root : values_.find(root, "segments");
    const PickleId traces = values_.find(root, "device_traces");
    if (!values_.is(segments, PickleType::list) && !values_.is(traces, PickleType::list)) {
      if (damage_) return damaged();
      return fail(file_, "",
                  "has neither segments nor device_traces; expected a PyTorch memory snapshot");
    }
    for (const auto& entry : values_.entries(segments)) {
      if (!has_budget()) break;
      read_segment(entry.value);
    }
    for (const auto& entry : values_.entries(traces)) {
      if (!has_budget()) break;
      if (snapshot_.devices.size() == static_cast<std::size_t>(kMaxDevices)) {
        ++snapshot_.dropped["devices beyond the first 1024"];
        continue;
      }
      read_events(entry.value);
    }
    for (const auto& entry : values_.entries(values_.find(root, "external_annotations"))) {
      if (!has_budget()) break;
      read_annotation(entry.value);
    }
    // A list alone may be anything.
    if (damage_ && has_segments_only && snapshot_.segments.empty()) return damaged();
    read_settings(values_.find(root, "allocator_settings"));
    note_damage();
    if (budget_ == 0 && ran_out_) {
      return fail(file_, "",
                  "refers to its records more often than it has records; expected each once");
    }
    if (!snapshot_.events_name_pools && snapshot_.pools.size() > 1) find_pools(snapshot_);
    std::stable_sort(snapshot_.segments.begin(), snapshot_.segments.end(),
                     [](const SnapshotSegment& a, const SnapshotSegment& b) {
                       return std::pair(a.device, a.address) < std::pair(b.device, b.address);
                     });
    return std::move(snapshot_);
  }

 private:
  // Every record costs the file an entry, unless it repeats one again and again.
  bool has_budget() {
    if (budget_ == 0) ran_out_ = true;
    budget_ -= budget_ > 0;
    return !ran_out_;
  }

  std::optional<std::int64_t> integer(PickleId record, std::string_view key) const {
    const PickleId value = values_.find(record, key);
    if (!values_.is(value, PickleType::integer)) return std::nullopt;
    return values_.integer(value);
  }
  std::optional<std::int64_t> amount(PickleId record, std::string_view key) const {
    const auto value = integer(record, key);
    return value && *value >= 0 && *value <= kHighestAddress ? value : std::nullopt;
  }
  std::string_view text(PickleId record, std::string_view key) const {
    const PickleId value = values_.find(record, key);
    return values_.is(value, PickleType::text) ? values_.text(value) : std::string_view();
  }
  bool is_true(PickleId record, std::string_view key) const {
    const PickleId value = values_.find(record, key);
    return values_.is(value, PickleType::boolean) && values_.integer(value) != 0;
  }
  void drop(const char* reason) { ++snapshot_.dropped[reason]; }

  tl::unexpected<Error> damaged() const {
    constexpr char kProtocol = '\x80';  // how pickles of protocol 2 and later begin
    const std::string place = "byte " + std::to_string(damage_->byte);
    if (bytes_.starts_with(kProtocol)) return fail(file_, place, damage_->problem);
    return fail(file_, place, no_pickle(bytes_, damage_->problem));
  }

  void note_damage() {
    if (!damage_) return;
    const std::string& problem = damage_->problem;
    snapshot_.incomplete_reason =
        "byte " + std::to_string(damage_->byte) + ": " + problem.substr(0, problem.find(';'));
    snapshot_.dropped["bytes after the damage"] =
        static_cast<std::int64_t>(bytes_.size() - damage_->byte);
  }

  void read_settings(PickleId settings) {
    AllocatorRules& rules = snapshot_.rules;
    if (settings == PickleValues::kMissing) {
      const auto& segments = snapshot_.segments;
      rules.expandable_segments =
          std::any_of(segments.begin(), segments.end(), [](const auto& s) { return s.expandable; });
      return;
    }
    snapshot_.settings = text(settings, "PYTORCH_CUDA_ALLOC_CONF");
    rules.expandable_segments = is_true(settings, "expandable_segments");
    const auto split = amount(settings, "max_split_size");
    if (split && *split > 0) rules.max_split_size = *split;
    read_share(settings, "garbage_collection_threshold", rules.garbage_collection_threshold);
    // PyTorch has these in the text alone.
    if (const auto said = parse_allocator_settings(snapshot_.settings, {}, "")) {
      rules.memory_fraction = said->memory_fraction;
      rules.max_non_split_rounding = said->max_non_split_rounding;
    }
    read_share(settings, "per_process_memory_fraction", rules.memory_fraction);
    const PickleId table = values_.find(settings, "roundup_power2_divisions");
    AllocatorRules::Divisions divisions{};
    for (std::size_t i = 0; i < divisions.size(); ++i) {
      const auto value = amount(table, std::to_string(std::int64_t{1} << i));
      if (value && (*value == 0 || std::has_single_bit(static_cast<std::uint64_t>(*value)))) {
        divisions[i] = *value;
      }
    }
    rules.round_to_power2_divisions(divisions);
  }

  void read_share(PickleId settings, const char* key, double& share) {
    const PickleId given = values_.find(settings, key);
    if (!values_.is(given, PickleType::real)) return;
    if (values_.real(given) > 0 && values_.real(given) <= 1) share = values_.real(given);
  }

  void read_segment(PickleId record) {
    SnapshotSegment segment;
    const auto device = integer(record, "device").value_or(-1);
    const auto address = amount(record, "address"), bytes = amount(record, "total_size");
    if (!address || !bytes || *bytes == 0 || device < 0 || device >= kMaxDevices) {
      return drop("segments without address, size or device");
    }
    segment.device = static_cast<std::int32_t>(device);
    segment.address = *address;
    segment.bytes = *bytes;
    segment.stream = integer(record, "stream").value_or(0);
    segment.expandable = is_true(record, "is_expandable");
    const std::string_view type = text(record, "segment_type");
    segment.small = type.empty() ? *bytes == AllocatorRules::kSmallSegment : type == "small";
    segment.pool = read_pool(values_.find(record, "segment_pool_id")).value_or(0);
    Address next = segment.address;  // old files leave the address of a block to its neighbours
    for (const auto& entry : values_.entries(values_.find(record, "blocks"))) {
      if (!has_budget()) break;
      const auto size = amount(entry.value, "size");
      const auto use = use_of(text(entry.value, "state"));
      const Address end = segment.address + segment.bytes;
      const Address at = amount(entry.value, "address").value_or(next);
      if (!size || *size == 0 || !use || at < next || at > end || *size > end - at) {
        drop("blocks without size or state, or outside their segment");
        continue;
      }
      SnapshotBlock block{at, *size, amount(entry.value, "requested_size").value_or(*size), *use,
                          -1};
      block.stack = read_stack(values_.find(entry.value, "frames"));
      // Until PyTorch 2.0 a block listed who had used it, the last one first.
      for (const auto& past : values_.entries(values_.find(entry.value, "history"))) {
        if (block.use == Use::free || !has_budget()) break;
        block.stack = read_stack(values_.find(past.value, "frames"));
        block.requested = amount(past.value, "real_size").value_or(block.requested);
        break;
      }
      next = at + *size;
      segment.blocks.push_back(block);
    }
    snapshot_.segments.push_back(std::move(segment));
  }

  static std::optional<Use> use_of(std::string_view state) {
    if (state == "inactive") return Use::free;
    if (state == "active_allocated") return Use::allocated;
    if (state == "active_pending_free" || state == "active_awaiting_free") {
      return Use::awaiting_free;
    }
    return std::nullopt;
  }

  // Of a tuple, or a list, of two numbers; nothing of anything else.
  std::optional<PoolIndex> read_pool(PickleId pair) {
    PoolId id;
    std::int64_t* parts[] = {&id.graph_id, &id.mempool_id};
    std::size_t n = 0;
    for (const auto& entry : values_.entries(pair)) {
      if (n == 2 || !values_.is(entry.value, PickleType::integer)) return std::nullopt;
      *parts[n++] = std::max<std::int64_t>(values_.integer(entry.value), 0);
    }
    if (n != 2) return std::nullopt;
    const auto [known, is_new] = pools_.try_emplace(id, snapshot_.pools.size());
    if (is_new) snapshot_.pools.push_back(id);
    return static_cast<PoolIndex>(known->second);
  }

  void read_events(PickleId list) {
    auto& events = snapshot_.devices.emplace_back();
    for (const auto& entry : values_.entries(list)) {
      if (!has_budget()) break;
      if (++events_ > most_events_) {
        drop("repeated events");
        continue;
      }
      const std::string_view word = text(entry.value, "action");
      const auto known = allocator_action(word);
      if (!known || is_external_event(*known)) {
        if (word != "snapshot") drop("events of an unknown action");
        continue;
      }
      SnapshotEvent event;
      event.action = *known;
      const bool is_oom = event.action == Action::oom;
      const auto bytes = amount(entry.value, "size");
      const auto address = amount(entry.value, "addr");
      if (!bytes || (!address && !is_oom)) {
        drop("events without address or size");
        continue;
      }
      event.bytes = *bytes;
      event.address = is_oom ? 0 : *address;
      event.device_free = is_oom ? amount(entry.value, "device_free").value_or(-1) : -1;
      event.stream = integer(entry.value, "stream").value_or(0);
      // Without times the order stands for them.
      const auto time = amount(entry.value, "time_us");
      event.time_us = time ? *time : events.empty() ? 0 : events.back().time_us;
      event.stack = read_stack(values_.find(entry.value, "frames"));
      const auto pool = read_pool(values_.find(entry.value, "pool_id"));
      event.pool = pool.value_or(0);
      snapshot_.events_name_pools |= pool.has_value();
      events.push_back(event);
    }
  }

  void read_annotation(PickleId record) {
    SnapshotAnnotation annotation;
    const std::string_view stage = text(record, "stage"), name = text(record, "name");
    const auto device = integer(record, "device");
    const auto time = amount(record, "time_us");
    if ((stage != "START" && stage != "END") || name.empty() || !time) {
      return drop("annotations without stage, name or time");
    }
    annotation.name = share(values_.find(record, "name"));
    annotation.is_end = stage == "END";
    annotation.time_us = *time;
    annotation.device =
        static_cast<std::int32_t>(std::clamp<std::int64_t>(device.value_or(0), 0, kMaxDevices - 1));
    snapshot_.annotations.push_back(annotation);
  }

  // Events of one place in the program share their stack, and stacks their frames.
  StackId read_stack(PickleId list) {
    if (values_.entries(list).empty()) return -1;
    const auto known = stacks_.find(list);
    if (known != stacks_.end()) return known->second;
    std::vector<std::int32_t> stack;
    for (const auto& entry : values_.entries(list)) {
      if (!has_budget()) break;
      stack.push_back(read_frame(entry.value));
    }
    snapshot_.stacks.push_back(std::move(stack));
    return stacks_[list] = static_cast<StackId>(snapshot_.stacks.size() - 1);
  }

  std::int32_t read_frame(PickleId record) {
    const auto known = frames_.find(record);
    if (known != frames_.end()) return known->second;
    snapshot_.frames.push_back({share(values_.find(record, "name")),
                                share(values_.find(record, "filename")),
                                integer(record, "line").value_or(0)});
    return frames_[record] = static_cast<std::int32_t>(snapshot_.frames.size() - 1);
  }

  // Equal text has one number.
  TextId share(PickleId text) {
    if (!values_.is(text, PickleType::text)) return 0;
    const auto [at, is_new] = texts_.try_emplace(text, 0);
    if (!is_new) return at->second;
    const auto next = static_cast<TextId>(snapshot_.texts.size());
    at->second = texts_by_content_.try_emplace(values_.text(text), next).first->second;
    if (at->second == next) snapshot_.texts.emplace_back(values_.text(text));
    return at->second;
  }

  const PickleValues& values_;
  const std::optional<PickleDamage>& damage_;
  std::string_view bytes_;
  const std::string& file_;
  std::size_t budget_;
  std::size_t most_events_;
  bool ran_out_ = false;
  std::size_t events_ = 0;
  Snapshot snapshot_;
  std::map<PoolId, std::size_t> pools_ = {{PoolId{}, 0}};
  std::unordered_map<PickleId, TextId> texts_;
  std::unordered_map<std::string_view, TextId> texts_by_content_;
  std::unordered_map<PickleId, StackId> stacks_;
  std::unordered_map<PickleId, std::int32_t> frames_;
};

// Before the kernel ends the process for it: values, events and the trace take some four times the
// bytes of the pickle.
Result<void> check_memory(std::size_t bytes, const std::string& path) {
  constexpr std::int64_t kFold = 4;
  const auto needed = kFold * static_cast<std::int64_t>(bytes);
  const auto available = available_memory();
  if (!available || needed <= *available) return {};
  const auto mebibytes = [](std::int64_t n) { return std::to_string(n / kMiB.count) + " MiB"; };
  return fail(path, "",
              "is a snapshot of " + mebibytes(static_cast<std::int64_t>(bytes)) +
                  ", which takes some " + mebibytes(needed) + " of memory where " +
                  mebibytes(*available) + " are available; expected a machine with more");
}

}  // namespace

Result<Snapshot> parse_snapshot(std::string_view bytes, const std::string& file,
                                const ImportOptions& options) {
  const auto pickle = read_pickle(bytes, file, [&](std::size_t byte) {
    if (options.on_progress) {
      options.on_progress(static_cast<std::int64_t>(byte), std::ssize(bytes));
    }
    return !options.stop.stop_requested();
  });
  if (options.stop.stop_requested()) return reading_stopped(file);
  if (!pickle) return fail(file, pickle.error().field, no_pickle(bytes, pickle.error().message));
  return SnapshotReader(*pickle, bytes, file).run(pickle->root);
}

Result<Snapshot> read_snapshot(const std::string& path, const ImportOptions& options) {
  const auto source =
      open_bytes(path, kWhat, [&](std::size_t) { return !options.stop.stop_requested(); });
  if (!source) return tl::unexpected(source.error());
  const auto mapped = MappedFile::open(path, kWhat);
  if (mapped) {
    const std::string_view bytes(reinterpret_cast<const char*>(mapped->bytes().data()),
                                 mapped->bytes().size());
    if (!bytes.starts_with("\x1f\x8b")) {
      if (auto ok = check_memory(bytes.size(), path); !ok) return tl::unexpected(ok.error());
      return parse_snapshot(bytes, path, options);
    }
  }
  constexpr std::size_t kPart = std::size_t{1} << 20;
  std::string bytes;
  for (std::size_t size = 0, read = kPart; read == kPart; bytes.resize(size += read)) {
    bytes.resize(size + kPart);
    read = (*source)->read(bytes.data() + size, kPart);
    if (auto ok = check_memory(size + read, path); !ok) return tl::unexpected(ok.error());
  }
  // What a damaged gzip file held before the damage is a pickle cut short.
  return parse_snapshot(bytes, path, options);
}

}  // namespace foreshard::traces

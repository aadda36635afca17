#include "traces/export/chrome_import.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <limits>
#include <optional>
#include <system_error>

#include "traces/export/chrome_export.hpp"
#include "traces/export/chrome_values.hpp"
#include "traces/input/line_reader.hpp"

namespace foreshard::traces {
namespace chrome {
namespace {

constexpr const char* kWhat = "JSON written by foreshard export --perfetto";
constexpr std::string_view kOpening = "{\"foreshard\":{\"format\":";
static_assert(LineReader::kPadding >= simdjson::SIMDJSON_PADDING);

class Reader {
 public:
  Reader(ByteSource& in, const std::string& path) : path_(path), lines_(in) {}

  Result<Trace> read() {
    std::string_view line;
    if (!lines_.next(line) || !line.starts_with(kOpening)) {
      return fail(path_, "", std::string("was not written by foreshard export; expected ") + kWhat);
    }
    if (auto read = header(line); !read) return tl::unexpected(read.error());
    while (lines_.next(line)) this->line(line);
    if (damaged_ > 0) trace_.dropped["unreadable lines (damaged file)"] += damaged_;
    if (section_ != Section::end) trace_.dropped["end of the file (truncated)"] += 1;
    if (damaged_ > 0 || section_ != Section::end) {
      trace_.complete = false;
      trace_.complete_until_ns = 0;
    }
    sort(trace_);
    return std::move(trace_);
  }

 private:
  enum class Section { none, lanes, steps, counters, strings, memory, events, end };

  Result<void> header(std::string_view line) {
    try {
      while (line.ends_with('\r')) line.remove_suffix(1);
      if (!line.ends_with("]},")) throw Impossible();
      std::string whole(line.substr(0, line.size() - 1));
      whole += "}";  // the end of the file's object
      const simdjson::padded_string padded(whole);
      json::document document = checked(parser_.iterate(padded));
      json::object header = checked(document["foreshard"].get_object());
      for (auto each : header) {
        json::field field = checked(each);
        header_field(field);
      }
    } catch (const Impossible&) {
      return fail(path_, "foreshard", std::string("is damaged; expected ") + kWhat);
    }
    if (format_ == kChromeFormatVersion) return {};
    return fail(path_, "foreshard.format",
                "is " + std::to_string(format_) + "; expected " +
                    std::to_string(kChromeFormatVersion) +
                    ", the version that this foreshard reads");
  }

  void header_field(json::field& field) {
    const std::string key(checked(field.unescaped_key()));
    json::value value = field.value();
    if (key == "format") {
      format_ = integer(value);
    } else if (key == "complete") {
      trace_.complete = checked(value.get_bool());
    } else if (key == "complete_until_ns") {
      trace_.complete_until_ns = time(integer(value));
    } else if (key == "dropped_ranges" || key == "losses") {  // the latter before 0.1
      json::array ranges = checked(value.get_array());
      for (auto each : ranges) {
        Values values(checked(each.get_array()));
        dropped_range(values);
      }
    } else if (key == "metadata" || key == "dropped") {
      json::array pairs = checked(value.get_array());
      for (auto each : pairs) {
        Values pair(checked(each.get_array()));
        const std::string name = text(pair.next());
        if (key == "metadata") {
          trace_.metadata[name] = text(pair.next());
        } else {
          trace_.dropped[name] = integer_in<std::int64_t>(pair.next(), 0, kMaxBytes);
        }
      }
    }
  }

  void line(std::string_view line) {
    while (!line.empty() && (line.back() == '\r' || line.back() == ' ')) line.remove_suffix(1);
    if (line.empty()) return;
    if (line.back() == '[') {
      for (const auto& [key, section] : kSections) {
        if (line.find(key) != std::string_view::npos) section_ = section;
      }
      return;
    }
    if (line == "]}") return void(section_ = Section::end);
    if (line == "],") return void(section_ = Section::none);
    if (line.back() == ',') line.remove_suffix(1);
    try {
      element(line);
    } catch (const Impossible&) {
      ++damaged_;
    }
  }

  // One element, in the buffer of the lines, behind which there is room enough for simdjson.
  void element(std::string_view line) {
    json::document document = checked(
        parser_.iterate(line.data(), line.size(), line.size() + simdjson::SIMDJSON_PADDING));
    if (section_ == Section::strings) {
      json::value value;
      if (line.front() == '"') {
        strings_.push_back(trace_.strings.intern(checked(document.get_string())));
      } else {
        if (document.get_value().get(value) != simdjson::SUCCESS) throw Impossible();
        strings_.push_back(trace_.strings.intern(text(value)));
      }
      return;
    }
    if (section_ == Section::events) return event(checked(document.get_object()));
    Values values(checked(document.get_array()));
    switch (section_) {
      case Section::lanes: return lane(values);
      case Section::steps: return step(values);
      case Section::memory: return memory(values);
      case Section::counters: return counter(values);
      default: throw Impossible();
    }
  }

  void lane(Values& values) {
    Lane lane;
    lane.rank = rank(values.next());
    lane.device = integer(values.next()) != 0;
    lane.name = trace_.strings.intern(text(values.next()));
    trace_.lanes.push_back(lane);
  }

  void step(Values& values) {
    Step step;
    step.rank = rank(values.next());
    step.step = step_number(values.next());
    step.start_ns = time(integer(values.next()));
    step.end_ns = time(integer(values.next()));
    step.loss = real(values.next());
    step.gradient_norm = real(values.next());
    if (values.has_next()) step.label = trace_.strings.intern(text(values.next()));
    if (step.end_ns < step.start_ns) throw Impossible();
    trace_.steps.push_back(step);
  }

  void dropped_range(Values& values) {
    DroppedRange range;
    range.rank = integer_in<std::int32_t>(values.next(), kNone, kMaxRanks - 1);
    range.of_memory = integer(values.next()) != 0;
    range.start_ns = time(integer(values.next()));
    range.end_ns = time(integer(values.next()));
    range.records = integer_in<std::int64_t>(values.next(), 1, kMaxBytes);
    if (range.end_ns < range.start_ns) throw Impossible();
    trace_.dropped_ranges.push_back(range);
  }

  void memory(Values& values) {
    MemoryEvent m;
    m.time_ns = time(integer(values.next()));
    m.rank = rank(values.next());
    m.action = named<MemoryAction>(values.next());
    m.on_host = integer(values.next()) != 0;
    m.step = step_number(values.next());
    m.address = integer(values.next());
    m.bytes = integer_in<std::int64_t>(values.next(), 0, kMaxBytes);
    m.requested = integer_in<std::int64_t>(values.next(), -kMaxBytes, kMaxBytes);
    m.lane = integer_in<std::int32_t>(values.next(), kNone, last_lane());
    m.category = string(values.next());
    m.owner = string(values.next());
    m.phase = string(values.next());
    m.instruction = integer_of<std::int32_t>(values.next());
    m.stack = string(values.next());
    trace_.memory.push_back(m);
  }

  void counter(Values& values) {
    Counter& counter = trace_.counters.emplace_back();
    counter.rank = rank(values.next());
    counter.name = trace_.strings.intern(text(values.next()));
    counter.unit = trace_.strings.intern(text(values.next()));
  }

  void event(json::object object) {
    Event e;
    e.lane = kNone - 1;
    std::string_view phase = "X";
    std::int64_t duration = 0;
    CounterSample sample;
    std::optional<std::size_t> counter;
    for (auto each : object) {
      json::field field = checked(each);
      const std::string_view key = checked(field.unescaped_key());
      json::value value = field.value();
      if (key == "ph") {
        phase = checked(value.get_string());
      } else if (phase != "X" && phase != "C") {
        return;  // names and arrows follow from the rest
      } else if (key == "tid") {
        e.lane = integer_in<std::int32_t>(value, 0, std::numeric_limits<std::int32_t>::max()) - 1;
      } else if (key == "ts") {
        e.start_ns = time(nanoseconds(value));
      } else if (key == "dur") {
        duration = time(nanoseconds(value));
      } else if (key == "cat") {
        e.kind = named<EventKind>(value);
      } else if (key == "name") {
        e.name = trace_.strings.intern(checked(value.get_string()));
      } else if (key == "args") {
        json::object args = checked(value.get_object());
        for (auto each_arg : args) {
          json::field arg = checked(each_arg);
          if (phase == "X") {
            argument(arg, e);
          } else {
            sample.value = checked(arg.value().get_double());
          }
        }
      } else if (key == "counter") {
        counter = integer_in<std::size_t>(value, 0,
                                          static_cast<std::int64_t>(trace_.counters.size()) - 1);
      }
    }
    if (phase == "C") {  // those of memory follow from its events
      sample.time_ns = e.start_ns;
      if (counter) trace_.counters[*counter].samples.push_back(sample);
      return;
    }
    e.end_ns = time(e.start_ns + duration);
    if (e.lane < 0 || e.lane > last_lane() || duration < 0) throw Impossible();
    trace_.events.push_back(e);
  }

  void argument(json::field& field, Event& e) {
    const std::string key(checked(field.unescaped_key()));
    json::value value = field.value();
    for (const auto& [name, id] : kTexts) {
      if (key == name) return void(e.*id = trace_.strings.intern(text(value)));
    }
    if (key == "step") e.step = step_number(value);
    if (key == "micro_step") e.micro_step = integer_of<std::int16_t>(value);
    if (key == "lane") e.lane = integer_of<std::int32_t>(value);
    if (key == "instruction") e.instruction = integer_of<std::int32_t>(value);
    if (key == "bytes") e.bytes = integer_in<std::int64_t>(value, -kMaxBytes, kMaxBytes);
    if (key == "cost_source") e.cost_source = named<CostSource>(value);
    if (key == "sequence") e.sequence = std::max<std::int64_t>(integer(value), 0);
    if (key == "cost_error") e.cost_error = cost_error(value);
    if (key == "correlation") e.correlation = integer(value);
    if (key == "cpu_ns") e.cpu_ns = time(integer(value));
  }

  std::int32_t rank(json::value value) { return integer_in<std::int32_t>(value, 0, kMaxRanks - 1); }
  std::int32_t step_number(json::value value) {
    return integer_in<std::int32_t>(value, 0, std::numeric_limits<std::int32_t>::max());
  }
  static float cost_error(json::value value) {
    const double error = checked(value.get_double());
    if (!(error >= 0 && error <= kMaxCostError)) throw Impossible();
    return static_cast<float>(error);
  }
  std::int32_t last_lane() const { return static_cast<std::int32_t>(trace_.lanes.size()) - 1; }
  StringId string(json::value value) {
    return strings_[integer_in<std::size_t>(value, 0,
                                            static_cast<std::int64_t>(strings_.size()) - 1)];
  }

  static constexpr std::array<std::pair<std::string_view, Section>, 6> kSections{
      {{"\"foreshardLanes\":[", Section::lanes},
       {"\"foreshardSteps\":[", Section::steps},
       {"\"foreshardCounters\":[", Section::counters},
       {"\"foreshardStrings\":[", Section::strings},
       {"\"foreshardMemory\":[", Section::memory},
       {"\"traceEvents\":[", Section::events}}};
  static constexpr std::array<std::pair<std::string_view, StringId Event::*>, 6> kTexts{
      {{"name", &Event::name},
       {"phase", &Event::phase},
       {"unit", &Event::unit},
       {"stable_key", &Event::stable_key},
       {"cost_key", &Event::cost_key},
       {"process_group", &Event::group}}};

  const std::string& path_;
  LineReader lines_;
  json::parser parser_;
  Trace trace_;
  std::vector<StringId> strings_;
  Section section_ = Section::none;
  std::int64_t format_ = 0;
  std::int64_t damaged_ = 0;
};

}  // namespace
}  // namespace chrome

bool is_foreshard_export(const std::string& path) {
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(path, ignored)) return false;
  const auto bytes = first_bytes(path, chrome::kOpening.size(), chrome::kWhat);
  return bytes && *bytes == chrome::kOpening;
}

Result<Trace> read_chrome(const std::string& path, const ImportOptions& options) {
  std::error_code error;
  const auto size = std::filesystem::file_size(path, error);
  const std::int64_t total = error ? 0 : static_cast<std::int64_t>(size);
  const auto on_read = [&, done = std::int64_t{0}](std::size_t read) mutable {
    done += static_cast<std::int64_t>(read);
    if (options.on_progress) options.on_progress(done, total);
    return !options.stop.stop_requested();
  };
  const auto bytes = open_bytes(path, chrome::kWhat, on_read);
  if (!bytes) return tl::unexpected(bytes.error());
  auto trace = read_chrome(**bytes, path);
  if (options.stop.stop_requested()) return reading_stopped(path);
  return trace;
}

Result<Trace> read_chrome(ByteSource& in, const std::string& name) {
  return chrome::Reader(in, name).read();
}

}  // namespace foreshard::traces

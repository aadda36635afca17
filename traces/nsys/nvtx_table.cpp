#include <unordered_map>

#include "traces/nsys/tables.hpp"

namespace foreshard::traces::nsys {
namespace {

// ENUM_NSYS_EVENT_TYPE of the export. The second of each pair is of ranges read from a text file.
constexpr std::int64_t kCategory = 33, kMark = 34, kThreadName = 39, kPushPop = 59, kStartEnd = 60,
                       kTextCategory = 64, kTextMark = 65, kTextPushPop = 70, kTextStartEnd = 71,
                       kTextThread = 72, kTextProcess = 73, kTextFile = 74, kDomain = 75,
                       kDomainEnd = 76, kCudaDevice = 97, kCudaContext = 98, kCudaStream = 99;

constexpr std::size_t kLongestDomain = 200;

bool is_range(std::int64_t type) {
  return type == kPushPop || type == kStartEnd || type == kTextPushPop || type == kTextStartEnd;
}

bool is_description(std::int64_t type) {
  return type == kCategory || type == kTextCategory || type == kTextThread ||
         type == kTextProcess || type == kTextFile || type == kDomainEnd || type == kCudaDevice ||
         type == kCudaContext || type == kCudaStream;
}

// Ranges as they were read: the name of a domain may stand behind its ranges.
struct Range {
  Location location;
  Event event;
  std::int64_t domain = 0;
  bool is_open = false;
};

class Reader {
 public:
  explicit Reader(Import& in) : in_(in) {}

  void read() {
    in_.read.insert("NVTX_EVENTS");
    in_.source.each(
        "NVTX_EVENTS",
        {"start", "end", "eventType", "text", "textId", "globalTid", "domainId", "name"},
        [&](const Source::Row& row) { this->row(row); });
    for (Range& range : ranges_) {
      range.event.name = full_name(range);
      if (range.is_open) {
        in_.builder.add_open(range.location, range.event);
      } else {
        in_.builder.add(range.location, range.event);
      }
    }
  }

 private:
  void row(const Source::Row& row) {
    std::string_view text;
    for (const int column : {3, 4, 7}) {
      if (text.empty()) text = in_.names.text(row, column);
    }
    const std::string_view plain = operator_name(text);
    const StringId name = in_.names.of(plain);
    const std::int64_t global = row.integer(5), domain = row.integer(6);
    const std::int64_t process = row.is_null(5) ? kNoProcess : process_of(global);
    const std::int64_t fallback = row.is_null(1) ? kMark : kPushPop;
    const std::int64_t type = row.integer(2, fallback);
    if (type == kDomain) {
      domains_[process][domain] = name;
    } else if (type == kThreadName) {
      in_.builder.name_thread(process, thread_of(global), name);
    } else if (is_range(type) || type == kMark || type == kTextMark) {
      if (row.is_null(0)) return in_.builder.drop("records without a start or an end");
      Range range{{false, process, thread_of(global), 0, 0}, {}, domain, false};
      range.event.kind = plain == text ? EventKind::range : EventKind::host;
      range.event.name = name;
      range.event.start_ns = row.integer(0);
      range.event.end_ns = is_range(type) ? row.integer(1, range.event.start_ns) : row.integer(0);
      range.is_open = is_range(type) && row.is_null(1);
      ranges_.push_back(range);
    } else if (!is_description(type)) {
      in_.builder.drop("NVTX events of unknown types");
    }
  }

  StringId full_name(const Range& range) {
    const auto domains = domains_.find(range.location.process);
    if (range.domain == 0 || domains == domains_.end()) return range.event.name;
    const auto domain = domains->second.find(range.domain);
    if (domain == domains->second.end()) return range.event.name;
    const Strings& strings = in_.builder.strings();
    return in_.names.of(strings[domain->second].substr(0, kLongestDomain) + ":" +
                        strings[range.event.name]);
  }

  Import& in_;
  std::vector<Range> ranges_;
  std::unordered_map<std::int64_t, std::unordered_map<std::int64_t, StringId>> domains_;
};

}  // namespace

std::string_view operator_name(std::string_view name) {
  for (const std::string_view addition : {", seq = ", ", op_id = ", ", sizes = "}) {
    if (const auto at = name.find(addition); at != std::string_view::npos && at > 0) {
      name = name.substr(0, at);
    }
  }
  return name;
}

void read_nvtx(Import& in) {
  Reader(in).read();
}

}  // namespace foreshard::traces::nsys

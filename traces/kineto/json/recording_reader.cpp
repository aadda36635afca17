#include "traces/kineto/json/recording_reader.hpp"

#include <algorithm>
#include <cstring>

#include "traces/input/sniff_file_type.hpp"
#include "traces/kineto/json/json_text.hpp"

namespace foreshard::traces::kineto {
namespace {

constexpr std::size_t kWindow = std::size_t{1} << 20;
constexpr std::size_t kLongestValue = std::size_t{8} << 20;
constexpr std::size_t kFirstRoom = std::size_t{1} << 16;

// Damage makes the reader look far ahead for an end that is not there. Its patience is a multiple of
// what it has read; without any left it looks to the next event only, and at most this far.
constexpr std::int64_t kPatience = std::int64_t{64} << 20;
constexpr std::int64_t kPatiencePerByte = 8;
constexpr std::size_t kShortLook = 4096;

constexpr const char* kExpected =
    "; expected a PyTorch profiler recording: JSON with traceEvents, plain or gzip";

}  // namespace

RecordingReader::RecordingReader(ByteSource& bytes, EventParser::Use use_event,
                                 UseMetadata use_metadata)
    : bytes_(bytes),
      use_event_(std::move(use_event)),
      use_metadata_(std::move(use_metadata)),
      patience_(kPatience) {}

std::string_view RecordingReader::window() const {
  return {buffer_.data() + begin_, end_ - begin_};
}

// More bytes behind those in the window: up to a window's size, or twice what is there.
bool RecordingReader::refill() {
  if (is_at_end_) return false;
  const std::size_t kept = end_ - begin_;
  const std::size_t room =
      buffer_.empty() ? kFirstRoom : std::max(kWindow, std::min(2 * kept, kLongestValue));
  std::vector<char> larger;
  if (buffer_.size() < room + kPadding + 2) {
    larger.resize(room + kPadding + 2);
    if (kept > 0) std::memcpy(larger.data() + 1, buffer_.data() + begin_, kept);
    buffer_.swap(larger);
  } else if (kept > 0) {
    std::memmove(buffer_.data() + 1, buffer_.data() + begin_, kept);
  }
  careful_until_ -= std::min(careful_until_, begin_ - 1);
  begin_ = 1;
  end_ = 1 + kept;
  if (kept >= room) return false;
  const std::size_t size = bytes_.read(buffer_.data() + end_, room - kept);
  is_at_end_ = size < room - kept;
  end_ += size;
  patience_ += kPatiencePerByte * static_cast<std::int64_t>(size);
  return size > 0;
}

bool RecordingReader::skip_separators() {
  do {
    while (begin_ < end_ && (buffer_[begin_] == ',' || skip_space(window(), 0) > 0)) {
      begin_ += std::max<std::size_t>(1, skip_space(window(), 0));
    }
  } while (begin_ == end_ && refill());
  return begin_ < end_;
}

// The end of the value at begin_, for which the window grows; kNotThere where it is cut or damaged.
std::size_t RecordingReader::whole_value_end() {
  for (;;) {
    const std::size_t limit =
        patience_ > 0 ? kLongestValue
                      : std::min(next_event(window().substr(0, kShortLook), 1), kShortLook);
    const std::size_t end = value_end(window(), 0, limit);
    if (end != kNotThere) return end;
    patience_ -= static_cast<std::int64_t>(std::min(limit, end_ - begin_));
    if (end_ - begin_ >= limit || !refill()) return kNotThere;
  }
}

void RecordingReader::use(const RawEvent& event) {
  ++(event.is_event ? events_ : other_objects_);
  if (event.is_event) use_event_(event);
}

// --- the whole file -------------------------------------------------------------------------------

Result<void> RecordingReader::read(const std::string& file) {
  refill();
  if (window().starts_with("\xef\xbb\xbf")) begin_ += 3;
  const std::size_t first = skip_space(window(), 0);
  const std::string what = sniff_content(window());
  const bool is_json =
      first < window().size() && (window()[first] == '{' || window()[first] == '[');
  if (!is_json) {
    const std::string incomplete_reason = bytes_.incomplete_reason();
    return fail(file, "", (incomplete_reason.empty() ? what : incomplete_reason) + kExpected);
  }
  begin_ += first + 1;
  if (buffer_[begin_ - 1] == '[') {
    has_events_ = true;
    if (skip_separators() && buffer_[begin_] != '{' && buffer_[begin_] != ']') {
      return fail(file, "", what + ", but not a list of events" + kExpected);
    }
    read_events();
  } else if (auto read = read_object(file); !read) {
    return read;
  }
  if (events_ == 0 && other_objects_ > 0) {
    return fail(file, "", std::string("is JSON without events") + kExpected);
  }
  return {};
}

Result<void> RecordingReader::read_object(const std::string& file) {
  while (skip_separators() && buffer_[begin_] != '}') {
    const std::size_t key_end = buffer_[begin_] == '"' ? whole_value_end() : kNotThere;
    const std::size_t colon = key_end == kNotThere ? kNotThere : skip_space(window(), key_end);
    bool is_sound = colon != kNotThere && colon < window().size() && window()[colon] == ':';
    if (is_sound) {
      const std::string key(window().substr(1, key_end - 2));
      begin_ += colon + 1;
      if (!skip_separators()) break;
      if (key == "traceEvents" && buffer_[begin_] == '[') {
        ++begin_;
        has_events_ = true;
        is_closed_ = false;
        read_events();
        continue;
      }
      const std::size_t end = whole_value_end();
      is_sound = end != kNotThere;
      if (is_sound) {
        use_metadata_(key, window().substr(0, end));
        begin_ += end;
      }
    }
    if (is_sound) continue;
    if (is_at_end_ && has_events_) break;
    ++damaged_;
    if (has_events_ || !find_events()) break;
    read_events();
  }
  is_closed_ = begin_ < end_ && buffer_[begin_] == '}';
  if (!has_events_) {
    const std::string incomplete_reason = bytes_.incomplete_reason();
    const char* what =
        is_closed_ ? "is JSON without traceEvents" : "is truncated before traceEvents";
    return fail(file, "", (incomplete_reason.empty() ? what : incomplete_reason) + kExpected);
  }
  return {};
}

// Past damage among what stands before the events.
bool RecordingReader::find_events() {
  constexpr std::string_view kKey = "\"traceEvents\"";
  do {
    const std::size_t key = window().find(kKey);
    if (key != kNotThere) {
      begin_ += key + kKey.size();
      const auto is_between = [this] {
        return begin_ < end_ && (buffer_[begin_] == ':' || skip_space(window(), 0) > 0);
      };
      do {
        while (is_between()) ++begin_;
      } while (begin_ == end_ && refill());
      has_events_ = begin_ < end_ && buffer_[begin_] == '[';
      if (has_events_) ++begin_;
      return has_events_;
    }
    begin_ = std::max(begin_, end_ - std::min(end_, kKey.size()));
  } while (refill());
  return false;
}

// --- events ---------------------------------------------------------------------------------------

void RecordingReader::read_events() {
  while (skip_separators()) {
    if (buffer_[begin_] == ']') {
      ++begin_;
      is_closed_ = true;
      return;
    }
    if (end_ - begin_ < kWindow / 2) refill();
    if (buffer_[begin_] != '{') {
      resynchronise(kNotThere);
    } else if (begin_ < careful_until_) {
      read_one();
    } else {
      read_run();
    }
  }
}

// All events in the window but for the last, as one array.
void RecordingReader::read_run() {
  const std::string_view run = window().substr(0, kWindow);
  const std::size_t cut = last_boundary(run);
  if (cut == kNotThere) {
    careful_until_ = begin_ + run.size();
    return read_one();
  }
  char& before = buffer_[begin_ - 1];
  char& behind = buffer_[begin_ + cut];
  const char kept[] = {before, behind};
  before = '[';
  behind = ']';
  const auto progress =
      parser_.parse_array({&before, cut + 2}, [this](const RawEvent& e) { use(e); });
  before = kept[0];
  behind = kept[1];
  const std::size_t run_end = begin_ + cut;
  if (progress.last > 0) begin_ += progress.last - 1;
  if (progress.is_used) {
    const std::size_t end = value_end(window(), 0);
    begin_ += end == kNotThere ? 1 : end;
  }
  careful_until_ = run_end;
}

void RecordingReader::read_one() {
  const std::size_t end = whole_value_end();
  if (end == kNotThere) {
    const bool is_cut = is_at_end_ && next_event(window(), 1) == kNotThere;
    if (is_cut) {
      begin_ = end_;
    } else {
      resynchronise(kNotThere);
    }
    return;
  }
  if (parser_.parse_object(window().substr(0, end), [this](const RawEvent& e) { use(e); })) {
    begin_ += end;
    return;
  }
  patience_ -= static_cast<std::int64_t>(end);
  // Without a quote or a bracket of its own, an event seems to hold those behind it.
  const std::size_t inner = next_event(window().substr(0, end), 1);
  const std::size_t next = skip_space(window(), end);
  const bool is_followed =
      next < window().size() && (window()[next] == ',' || window()[next] == ']');
  resynchronise(inner != kNotThere ? inner : is_followed ? end : kNotThere);
}

// To the next event, or to where the damaged one plausibly ends.
void RecordingReader::resynchronise(std::size_t plausible) {
  ++damaged_;
  if (plausible != kNotThere) {
    begin_ += plausible;
    return;
  }
  constexpr std::size_t kLongestOpening = 256;  // of an event, that may be cut by the window's end
  ++begin_;
  for (;;) {
    const std::size_t next = next_event(window(), 0);
    if (next != kNotThere) {
      begin_ += next;
      return;
    }
    begin_ = std::max(begin_, end_ - std::min(end_, kLongestOpening));
    if (!refill()) break;
  }
  begin_ = end_;
}

std::string RecordingReader::incomplete_reason() const {
  if (const std::string incomplete_reason = bytes_.incomplete_reason(); !incomplete_reason.empty())
    return incomplete_reason;
  if (damaged_ > 0) return "damaged";
  return is_closed_ ? "" : "truncated";
}

}  // namespace foreshard::traces::kineto

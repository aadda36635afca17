// Reads a recording as a stream: a JSON object with `traceEvents` somewhere in it, or a bare array of
// events. Never more than a window of it is in memory. What is damaged is skipped up to the next
// event and counted; a recording that breaks off ends with its last whole event.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "models/base/error.hpp"
#include "traces/input/byte_source.hpp"
#include "traces/kineto/json/event_parser.hpp"

namespace foreshard::traces::kineto {

class RecordingReader {
 public:
  // Beside `traceEvents`: a key with its value as JSON.
  using UseMetadata = std::function<void(std::string_view key, std::string_view value)>;

  RecordingReader(ByteSource& bytes, EventParser::Use use_event, UseMetadata use_metadata);

  // `file` is what errors name.
  Result<void> read(const std::string& file);

  std::int64_t damaged() const { return damaged_; }  // stretches that had to be skipped
  std::int64_t mended() const { return parser_.mended(); }
  std::int64_t events() const { return events_; }
  std::int64_t other_objects() const { return other_objects_; }  // in the place of events
  // What went wrong first, empty where nothing did.
  std::string incomplete_reason() const;

 private:
  std::string_view window() const;
  bool refill();
  bool skip_separators();  // false at the end of the bytes
  std::size_t whole_value_end();

  Result<void> read_object(const std::string& file);
  bool find_events();
  void read_events();
  void read_run();
  void read_one();
  void resynchronise(std::size_t plausible);
  void use(const RawEvent& event);

  ByteSource& bytes_;
  EventParser::Use use_event_;
  UseMetadata use_metadata_;
  EventParser parser_;
  std::vector<char> buffer_;
  std::size_t begin_ = 1, end_ = 1;  // what is in the window; there is room for a bracket before it
  std::size_t careful_until_ = 0;    // events before this place are read one by one
  bool is_at_end_ = false;           // of the bytes
  bool has_events_ = false;          // `traceEvents` was there
  bool is_closed_ = false;
  std::int64_t damaged_ = 0, events_ = 0, other_objects_ = 0;
  std::int64_t patience_;  // bytes that may still be searched in vain
};

}  // namespace foreshard::traces::kineto

// The threads and streams of one recording, found by process and thread, or by device and stream.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "traces/trace.hpp"

namespace foreshard::traces::kineto {

class LaneTable {
 public:
  using Location =
      std::pair<std::int64_t, std::int64_t>;  // process and thread, or device and stream

  // `process` and `thread` as they stand in the file: numbers, or words such as "stream 7".
  std::int32_t thread(std::string_view process, std::string_view thread);
  std::int32_t stream(const Location& location);
  // kNone where nothing has been of that place.
  std::int32_t find(bool is_device, const Location& location) const;

  // The number at a word's end; words without one have numbers of their own.
  static std::int64_t number(std::string_view word);
  static Location place(std::string_view process, std::string_view thread) {
    return {number(process), number(thread)};
  }

  void name_process(std::string_view process, std::string_view name);
  void name_thread(std::string_view process, std::string_view thread, std::string_view name);

  std::size_t size() const { return keys_.size(); }
  // Of a thread's lane.
  std::int64_t process(std::size_t lane) const { return keys_[lane].location.first; }
  std::vector<Lane> lanes(Strings& strings) const;

 private:
  struct LaneKey {
    bool is_device;
    Location location;
    auto operator<=>(const LaneKey&) const = default;
  };
  std::int32_t add(const LaneKey& key);

  std::map<LaneKey, std::int32_t> index_;
  std::vector<LaneKey> keys_;
  std::map<std::int64_t, std::string> process_names_;
  std::map<Location, std::string> thread_names_;
  // The last ones asked for: most events follow one of their own lane.
  std::string last_process_, last_thread_;
  std::int32_t last_host_lane_ = kNone, last_stream_lane_ = kNone;
  Location last_stream_{};
};

}  // namespace foreshard::traces::kineto

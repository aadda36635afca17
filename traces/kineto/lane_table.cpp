#include "traces/kineto/lane_table.hpp"

#include <charconv>
#include <functional>
#include <set>

namespace foreshard::traces::kineto {
namespace {

// A recording of thousands of threads is damaged; further names are of no use.
constexpr std::size_t kMaxNames = 100'000;

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

}  // namespace

std::int64_t LaneTable::number(std::string_view word) {
  std::size_t first = word.size();
  while (first > 0 && word[first - 1] >= '0' && word[first - 1] <= '9') --first;
  if (first == 1 && word[0] == '-') first = 0;
  std::int64_t value = 0;
  const char* end = word.data() + word.size();
  if (std::from_chars(word.data() + first, end, value).ec == std::errc()) return value;
  constexpr std::size_t kPositive = ~std::size_t{0} >> 1;
  return -2 - static_cast<std::int64_t>(std::hash<std::string_view>()(word) & (kPositive >> 1));
}

std::int32_t LaneTable::add(const LaneKey& key) {
  const auto [found, is_new] = index_.try_emplace(key, static_cast<std::int32_t>(keys_.size()));
  if (is_new) keys_.push_back(key);
  return found->second;
}

std::int32_t LaneTable::thread(std::string_view process, std::string_view thread) {
  if (last_host_lane_ == kNone || process != last_process_ || thread != last_thread_) {
    last_host_lane_ = add({false, place(process, thread)});
    last_process_ = process;
    last_thread_ = thread;
  }
  return last_host_lane_;
}

std::int32_t LaneTable::find(bool is_device, const Location& location) const {
  const auto found = index_.find({is_device, location});
  return found == index_.end() ? kNone : found->second;
}

std::int32_t LaneTable::stream(const Location& location) {
  if (last_stream_lane_ == kNone || location != last_stream_) {
    last_stream_lane_ = add({true, location});
    last_stream_ = location;
  }
  return last_stream_lane_;
}

void LaneTable::name_process(std::string_view process, std::string_view name) {
  if (process_names_.size() < kMaxNames) process_names_[number(process)] = trimmed(name);
}

// A thread may be named twice, once by the process' name only.
void LaneTable::name_thread(std::string_view process, std::string_view thread,
                            std::string_view name) {
  if (thread_names_.size() >= kMaxNames) return;
  const std::int64_t id = number(process);
  std::string& known = thread_names_[{id, number(thread)}];
  const auto of_process = process_names_.find(id);
  const bool says_little =
      of_process != process_names_.end() && name.find(of_process->second) != std::string_view::npos;
  if (known.empty() || !says_little) known = trimmed(name);
}

std::vector<Lane> LaneTable::lanes(Strings& strings) const {
  std::set<std::int64_t> devices;
  for (const LaneKey& key : keys_) {
    if (key.is_device) devices.insert(key.location.first);
  }
  std::vector<Lane> out;
  for (const LaneKey& key : keys_) {
    const auto& [process, thread] = key.location;
    std::string name;
    if (key.is_device) {
      if (devices.size() > 1) name = "device " + std::to_string(process) + " ";
      name += thread < 0 ? "all streams" : "stream " + std::to_string(thread);
    } else if (const auto named = thread_names_.find(key.location); named != thread_names_.end()) {
      name = named->second;
    } else {
      name = process == -1 ? "profiler" : "thread " + std::to_string(thread);
    }
    out.push_back({0, key.is_device, strings.intern(name)});
  }
  return out;
}

}  // namespace foreshard::traces::kineto

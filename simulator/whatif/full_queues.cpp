#include "simulator/whatif/full_queues.hpp"

#include <algorithm>
#include <unordered_map>

namespace foreshard::simulator {
namespace {

constexpr std::int64_t kShallowest = 128;   // launches; no driver takes fewer
constexpr double kFull = 0.98;              // of the deepest that a queue gets
constexpr int kFewest = 3;                  // held calls that show a queue to be full
constexpr std::int64_t kHeldNs = 10'000;    // longer than usual, at least
constexpr std::int64_t kReturnNs = 30'000;  // after work has begun, at most
constexpr std::size_t kUsual = 10;          // the decile of calls of a name that none holds back

class QueueReader {
 public:
  explicit QueueReader(const RecordedRun& run)
      : run_(run), place_(run.works.size()), streams_(run.lane_ranks.size()) {
    for (std::uint32_t w = 0; w < run.works.size(); ++w) {
      const RecordedWork& work = run.works[w];
      std::vector<std::uint32_t>& stream = streams_[work.stream];
      const bool is_of_last = !stream.empty() && work.call != kNotRecorded &&
                              run.works[stream.back()].call == work.call;
      if (!is_of_last) stream.push_back(w);
      place_[w] = static_cast<std::int64_t>(stream.size()) - 1;
    }
    std::unordered_map<traces::StringId, std::vector<std::int64_t>> times;
    for (const HostCall& call : run.calls) {
      if (is_launch(call)) times[call.name].push_back(call.end_ns - call.start_ns);
    }
    for (auto& [name, its] : times) {
      const auto low = its.begin() + static_cast<std::ptrdiff_t>(its.size() / kUsual);
      std::nth_element(its.begin(), low, its.end());
      usual_[name] = *low;
    }
  }

  std::vector<QueuedLaunch> read() const {
    std::int64_t deepest = 0;
    for (const HostCall& call : run_.calls) {
      if (is_launch(call)) deepest = std::max(deepest, ahead_of(call));
    }
    std::vector<QueuedLaunch> launches;
    if (deepest < kShallowest) return launches;
    const auto full = static_cast<std::int64_t>(kFull * static_cast<double>(deepest));
    int held = 0;
    launches.resize(run_.calls.size());
    for (std::size_t c = 0; c < run_.calls.size(); ++c) {
      const HostCall& call = run_.calls[c];
      if (!is_launch(call)) continue;
      const std::int64_t ahead = ahead_of(call), place = place_of(call);
      if (ahead >= full && was_held(call, place - ahead)) {
        launches[c] = {work_at(call, place - ahead), usual_.at(call.name)};
        ++held;
      } else if (place >= deepest) {
        launches[c].room = work_at(call, place - deepest);
      }
    }
    if (held < kFewest) launches.clear();
    return launches;
  }

 private:
  static bool is_launch(const HostCall& call) {
    return call.kind == HostCall::Kind::launch && call.work != kNotRecorded;
  }
  std::int64_t place_of(const HostCall& call) const {
    return place_[static_cast<std::size_t>(call.work)];
  }
  const std::vector<std::uint32_t>& stream_of(const HostCall& call) const {
    return streams_[run_.works[static_cast<std::size_t>(call.work)].stream];
  }

  std::int32_t work_at(const HostCall& call, std::int64_t place) const {
    return static_cast<std::int32_t>(stream_of(call)[static_cast<std::size_t>(place)]);
  }

  // Until the work at that place of its stream had begun.
  bool was_held(const HostCall& call, std::int64_t begun) const {
    if (begun < 0 || call.end_ns - call.start_ns <= usual_.at(call.name) + kHeldNs) return false;
    const std::int64_t start = run_.works[static_cast<std::size_t>(work_at(call, begun))].start_ns;
    return start > call.start_ns && call.end_ns - start <= kReturnNs;
  }

  // How many launches it lies behind the last of its stream that had begun when the call returned.
  std::int64_t ahead_of(const HostCall& call) const {
    const std::vector<std::uint32_t>& stream = stream_of(call);
    const auto later = std::upper_bound(
        stream.begin(), stream.end(), call.end_ns,
        [&](std::int64_t ns, std::uint32_t work) { return ns < run_.works[work].start_ns; });
    return std::max<std::int64_t>(0, place_of(call) - (later - stream.begin()) + 1);
  }

  const RecordedRun& run_;
  std::vector<std::int64_t> place_;                  // of each work's launch, in its stream
  std::vector<std::vector<std::uint32_t>> streams_;  // their launches' first works, by start
  std::unordered_map<traces::StringId, std::int64_t> usual_;
};

}  // namespace

std::vector<QueuedLaunch> full_queues(const RecordedRun& run) {
  return QueueReader(run).read();
}

}  // namespace foreshard::simulator

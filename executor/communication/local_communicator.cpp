#include "executor/communication/local_communicator.hpp"

#include <cstring>
#include <stdexcept>

#include "executor/communication/host_communicator.hpp"
#include "executor/communication/reduction.hpp"

namespace foreshard::executor {
namespace {

// What a member brings to a collective.
struct Contribution {
  const char* operation = "";
  std::byte* buffer = nullptr;
  std::int64_t size = 0;  // bytes or elements
  DType type = DType::fp32;
  Reduction reduction = Reduction::sum;

  bool matches(const Contribution& other) const {
    return std::strcmp(operation, other.operation) == 0 && size == other.size &&
           type == other.type && reduction == other.reduction;
  }
};

// Where the members meet. A collective is a row of meetings; everybody leaves one when all have come.
struct Meeting {
  struct alignas(64) Member {
    int rank = 0;
    std::atomic<std::uint32_t> met{0};  // meetings come to
    std::atomic<const char*> waits_in{nullptr};
    Contribution contributions[2];  // of even and odd collectives: one may be looked at late
  };
  explicit Meeting(std::size_t size) : members(size) {}

  std::vector<Member> members;
  alignas(64) std::atomic<std::uint32_t> arrivals{0};  // of all members in all meetings
};

class LocalCommunicator final : public HostCommunicator {
 public:
  LocalCommunicator(RunControl& run, Device& device, std::shared_ptr<Meeting> meeting, int index)
      : HostCommunicator(run, device, static_cast<int>(meeting->members.size()), index),
        meeting_(std::move(meeting)) {}

  void add_waits(std::vector<Wait>& waits) const override {
    const auto& me = member(index());
    const char* operation = me.waits_in.load(std::memory_order_acquire);
    if (operation == nullptr) return;
    const std::uint32_t met = me.met.load(std::memory_order_acquire);
    for (const auto& other : meeting_->members) {
      const std::uint32_t behind = met - other.met.load(std::memory_order_acquire);
      if (static_cast<std::int32_t>(behind) > 0) waits.push_back({me.rank, other.rank, operation});
    }
  }

 protected:
  void run_all_gather(std::byte* buffer, std::int64_t bytes) override {
    begin({"all_gather", buffer, bytes, DType::fp32, Reduction::sum});
    gather(buffer, [bytes](int owner) { return ByteRange{bytes * owner, bytes}; });
    meet();
  }

  void run_reduce_scatter(DType type, Reduction reduction, const std::byte* input,
                          std::byte* output, std::int64_t count) override {
    begin({"reduce_scatter", const_cast<std::byte*>(input), count, type, reduction});
    reduce({count * index(), count}, type, reduction, output);
    meet();
  }

  void run_all_reduce(DType type, Reduction reduction, std::byte* buffer,
                      std::int64_t count) override {
    begin({"all_reduce", buffer, count, type, reduction});
    const std::int64_t item = item_size(type);
    const Slice mine = reduced_slice(count, size(), index());
    reduce(mine, type, reduction, buffer + mine.begin * item);
    meet();
    gather(buffer, [&](int owner) { return bytes_of(reduced_slice(count, size(), owner), item); });
    meet();
  }

  void run_barrier() override { begin({"barrier", nullptr, 0, DType::fp32, Reduction::sum}); }

 private:
  const Meeting::Member& member(int i) const {
    return meeting_->members[static_cast<std::size_t>(i)];
  }
  const Contribution& contribution(int i) const { return member(i).contributions[parity_]; }

  // Waits until every member has come as often as this one.
  void meet() {
    auto& me = meeting_->members[static_cast<std::size_t>(index())];
    auto& arrivals = meeting_->arrivals;
    const std::uint32_t needed = needed_ += static_cast<std::uint32_t>(size());
    me.met.fetch_add(1, std::memory_order_release);
    std::uint32_t come = arrivals.fetch_add(1, std::memory_order_acq_rel) + 1;
    if (come == needed) return RunControl::wake(arrivals);
    me.waits_in.store(contribution(index()).operation, std::memory_order_release);
    while (static_cast<std::int32_t>(come - needed) < 0) {
      run_.wait(arrivals, come);
      come = arrivals.load(std::memory_order_acquire);
    }
    me.waits_in.store(nullptr, std::memory_order_release);
  }

  void begin(const Contribution& mine) {
    parity_ ^= 1U;
    meeting_->members[static_cast<std::size_t>(index())].contributions[parity_] = mine;
    meet();
    mark_ready();
    for (int i = 0; i < size(); ++i) {
      if (contribution(i).matches(mine)) continue;
      throw std::logic_error("ranks do not agree on a collective: " + text(mine) + " here, " +
                             text(contribution(i)) + " on rank " + std::to_string(member(i).rank));
    }
  }

  static std::string text(const Contribution& c) {
    return std::string(c.operation) + " of " + std::to_string(c.size);
  }

  void reduce(Slice slice, DType type, Reduction reduction, std::byte* output) const {
    std::vector<const std::byte*> inputs;
    inputs.reserve(meeting_->members.size());
    for (int i = 0; i < size(); ++i) {
      inputs.push_back(contribution(summand(index(), i, size())).buffer +
                       slice.begin * item_size(type));
    }
    reduce_in_order(type, reduction, inputs, output, slice.count);
  }

  // Copies what the others have, each member beginning with its neighbour's.
  template <typename RangeOf>
  void gather(std::byte* buffer, RangeOf range_of) const {
    for (int i = 1; i < size(); ++i) {
      const int owner = (index() + i) % size();
      const ByteRange range = range_of(owner);
      if (range.bytes == 0) continue;
      std::memcpy(buffer + range.begin, contribution(owner).buffer + range.begin,
                  static_cast<std::size_t>(range.bytes));
    }
  }

  std::shared_ptr<Meeting> meeting_;
  std::uint32_t needed_ = 0;  // arrivals that complete the current meeting
  unsigned parity_ = 0;
};

}  // namespace

std::vector<std::unique_ptr<Communicator>> make_local_communicators(
    RunControl& run, std::span<Device* const> devices) {
  const auto meeting = std::make_shared<Meeting>(devices.size());
  std::vector<std::unique_ptr<Communicator>> communicators;
  for (std::size_t i = 0; i < devices.size(); ++i) {
    meeting->members[i].rank = devices[i]->rank();
    communicators.push_back(
        std::make_unique<LocalCommunicator>(run, *devices[i], meeting, static_cast<int>(i)));
  }
  return communicators;
}

}  // namespace foreshard::executor

#include "executor/communication/local_communicator.hpp"

#include <cstring>

#include "executor/communication/host_communicator.hpp"
#include "executor/communication/meeting.hpp"
#include "executor/communication/reduction.hpp"

namespace foreshard::executor {
namespace {

class LocalCommunicator final : public HostCommunicator {
 public:
  LocalCommunicator(RunControl& run, Device& device, std::shared_ptr<Meeting> meeting, int index)
      : HostCommunicator(run, device, static_cast<int>(meeting->members.size()), index),
        attendance_(run, std::move(meeting), index) {}

  void add_waits(std::vector<Wait>& waits) const override { attendance_.add_waits(waits); }

 protected:
  void run_all_gather(std::byte* buffer, std::int64_t bytes) override {
    begin({"all_gather", buffer, bytes, DType::fp32, Reduction::sum});
    gather(buffer, [bytes](int owner) { return ByteRange{bytes * owner, bytes}; });
    attendance_.meet();
  }

  void run_reduce_scatter(DType type, Reduction reduction, const std::byte* input,
                          std::byte* output, std::int64_t count) override {
    begin({"reduce_scatter", const_cast<std::byte*>(input), count, type, reduction});
    reduce({count * index(), count}, type, reduction, output);
    attendance_.meet();
  }

  void run_all_reduce(DType type, Reduction reduction, std::byte* buffer,
                      std::int64_t count) override {
    begin({"all_reduce", buffer, count, type, reduction});
    const std::int64_t item = item_size(type);
    const Slice mine = reduced_slice(count, size(), index());
    reduce(mine, type, reduction, buffer + mine.begin * item);
    attendance_.meet();
    gather(buffer, [&](int owner) { return bytes_of(reduced_slice(count, size(), owner), item); });
    attendance_.meet();
  }

  void run_barrier() override { begin({"barrier", nullptr, 0, DType::fp32, Reduction::sum}); }

 private:
  void begin(const Contribution& mine) {
    attendance_.begin(mine);
    mark_ready();
  }

  void reduce(Slice slice, DType type, Reduction reduction, std::byte* output) const {
    std::vector<const std::byte*> inputs;
    inputs.reserve(static_cast<std::size_t>(size()));
    for (int i = 0; i < size(); ++i) {
      inputs.push_back(attendance_.contribution(summand(index(), i, size())).buffer +
                       slice.begin * item_size(type));
    }
    reduce_in_order(type, inputs, output, slice.count, divisor_of(reduction, size()));
  }

  // Copies what the others have, each member beginning with its neighbour's.
  template <typename RangeOf>
  void gather(std::byte* buffer, RangeOf range_of) const {
    for (int i = 1; i < size(); ++i) {
      const int owner = (index() + i) % size();
      const ByteRange range = range_of(owner);
      if (range.bytes == 0) continue;
      std::memcpy(buffer + range.begin, attendance_.contribution(owner).buffer + range.begin,
                  static_cast<std::size_t>(range.bytes));
    }
  }

  Attendance attendance_;
};

}  // namespace

std::vector<std::unique_ptr<Communicator>> make_local_communicators(
    RunControl& run, std::span<Device* const> devices) {
  const auto meeting = std::make_shared<Meeting>(devices);
  std::vector<std::unique_ptr<Communicator>> communicators;
  for (std::size_t i = 0; i < devices.size(); ++i) {
    communicators.push_back(
        std::make_unique<LocalCommunicator>(run, *devices[i], meeting, static_cast<int>(i)));
  }
  return communicators;
}

}  // namespace foreshard::executor

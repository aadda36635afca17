#include "executor/communication/message_communicator.hpp"

#include <algorithm>
#include <atomic>

#include "executor/communication/host_communicator.hpp"
#include "executor/communication/reduction.hpp"
#include "executor/device/progress.hpp"

namespace foreshard::executor {
namespace {

using Ticket = Transport::Ticket;

// Bytes of the buffer into which the others' slices are received, in two halves: one fills while the
// other is summed. With more than 512 members a page for each.
constexpr std::int64_t kScratch = 4 << 20;
constexpr std::int64_t kPage = 4096;

class MessageCommunicator final : public HostCommunicator {
 public:
  MessageCommunicator(RunControl& run, Device& device, Transport& transport, std::vector<int> ranks,
                      int channel)
      : HostCommunicator(run, device, static_cast<int>(ranks.size()),
                         index_of(ranks, transport.rank())),
        transport_(transport),
        ranks_(std::move(ranks)),
        channel_(channel) {}

  void add_waits(std::vector<Wait>& waits) const override {
    const char* operation = waits_in_.load(std::memory_order_acquire);
    const int awaited = awaited_.load(std::memory_order_acquire);
    if (operation != nullptr && awaited != kNoRank) {
      waits.push_back({transport_.rank(), awaited, operation});
    }
  }

 protected:
  void run_all_gather(std::byte* buffer, std::int64_t bytes) override {
    const InOperation in(*this, "all_gather");
    arrive();
    gather(buffer, [bytes](int owner) { return ByteRange{bytes * owner, bytes}; });
  }

  void run_reduce_scatter(DType type, Reduction reduction, const std::byte* input,
                          std::byte* output, std::int64_t count) override {
    const InOperation in(*this, "reduce_scatter");
    arrive();
    reduce(type, reduction, input, output, [count](int owner) {
      return Slice{count * owner, count};
    });
  }

  void run_all_reduce(DType type, Reduction reduction, std::byte* buffer,
                      std::int64_t count) override {
    const InOperation in(*this, "all_reduce");
    arrive();
    const std::int64_t item = item_size(type);
    const auto slice_of = [&](int owner) { return reduced_slice(count, size(), owner); };
    reduce(type, reduction, buffer, buffer + slice_of(index()).begin * item, slice_of);
    gather(buffer, [&](int owner) { return bytes_of(slice_of(owner), item); });
  }

  void run_barrier() override {
    const InOperation in(*this, "barrier");
    arrive();
  }

 private:
  // Says what this rank is doing, for as long as it lives.
  struct InOperation {
    InOperation(MessageCommunicator& communicator, const char* name) : self(communicator) {
      self.waits_in_.store(name, std::memory_order_release);
    }
    ~InOperation() { self.waits_in_.store(nullptr, std::memory_order_release); }
    InOperation(const InOperation&) = delete;
    InOperation& operator=(const InOperation&) = delete;
    MessageCommunicator& self;
  };

  // Messages started together. Where they are given up (the run was aborted), what can be taken back
  // is: their buffers are about to go.
  struct Batch {
    explicit Batch(Transport& over) : transport(over) {}
    ~Batch() {
      for (Ticket& ticket : tickets) transport.cancel(ticket);
    }
    Batch(const Batch&) = delete;
    Batch& operator=(const Batch&) = delete;

    void add(Ticket ticket, int peer) {
      tickets.push_back(ticket);
      peers.push_back(peer);
    }
    void clear() {
      tickets.clear();
      peers.clear();
    }

    Transport& transport;
    std::vector<Ticket> tickets;
    std::vector<int> peers;  // global rank of each
  };

  static int index_of(const std::vector<int>& ranks, int rank) {
    return static_cast<int>(std::find(ranks.begin(), ranks.end(), rank) - ranks.begin());
  }
  int rank_of(int member) const { return ranks_[static_cast<std::size_t>(member)]; }

  void send(Batch& batch, const std::byte* data, std::int64_t bytes, int member) {
    const int to = rank_of(member);
    for_each_message(static_cast<std::size_t>(bytes), [&](std::size_t begin, std::size_t n) {
      batch.add(transport_.send({data + begin, n}, to, channel_), to);
    });
  }
  void receive(Batch& batch, std::byte* data, std::int64_t bytes, int member) {
    const int from = rank_of(member);
    for_each_message(static_cast<std::size_t>(bytes), [&](std::size_t begin, std::size_t n) {
      batch.add(transport_.receive({data + begin, n}, from, channel_), from);
    });
  }

  void complete(Batch& batch, Nanoseconds longest_pause) {
    Poller poller(run_, transport_, channel_, longest_pause);
    std::size_t left = transport_.test(batch.tickets);
    while (left != 0) {
      for (std::size_t i = 0; i < batch.tickets.size(); ++i) {
        if (batch.tickets[i].is_done) continue;
        awaited_.store(batch.peers[i], std::memory_order_release);
        break;
      }
      poller.pause();
      const std::size_t now = transport_.test(batch.tickets);
      if (now != left) {
        poller.reset();
        note_progress();
      }
      left = now;
    }
    awaited_.store(kNoRank, std::memory_order_release);
    batch.clear();
  }

  // Waits until every member has come: empty messages, which overtake nothing and cost little.
  void arrive() {
    Batch batch(transport_);
    for (int i = 1; i < size(); ++i) {
      const int from = rank_of((index() - i + size()) % size());
      const int to = rank_of((index() + i) % size());
      batch.add(transport_.receive({}, from, channel_), from);
      batch.add(transport_.send({}, to, channel_), to);
    }
    complete(batch, Poller::kWhileAbsent);
    mark_ready();
  }

  template <typename RangeOf>
  void gather(std::byte* buffer, RangeOf range_of) {
    Batch batch(transport_);
    const ByteRange mine = range_of(index());
    for (int i = 1; i < size(); ++i) {
      const int from = (index() - i + size()) % size();
      const ByteRange range = range_of(from);
      receive(batch, buffer + range.begin, range.bytes, from);
      send(batch, buffer + mine.begin, mine.bytes, (index() + i) % size());
    }
    complete(batch, Poller::kWhileMoving);
  }

  // The output may be this rank's slice of the input: its pieces are written
  // after they have been read, and nobody else needs them.
  template <typename SliceOf>
  void reduce(DType type, Reduction reduction, const std::byte* input, std::byte* output,
              SliceOf slice_of) {
    const std::int64_t item = item_size(type);
    const Slice mine = slice_of(index());
    if (size() == 1) {
      const std::byte* only[] = {input};
      return reduce_in_order(type, reduction, only, output, mine.count);
    }
    const std::int64_t others = size() - 1;
    const std::int64_t piece_bytes = std::max(kPage, kScratch / 2 / others / kPage * kPage);
    const std::int64_t piece = piece_bytes / item;
    if (scratch_.empty()) scratch_.resize(static_cast<std::size_t>(2 * others * piece_bytes));
    std::int64_t longest = 0;
    for (int i = 0; i < size(); ++i) longest = std::max(longest, slice_of(i).count);
    const std::int64_t pieces = ceil_divide(longest, piece);
    const auto part = [piece](Slice slice, std::int64_t number) {
      const std::int64_t begin = std::min(slice.count, number * piece);
      return Slice{slice.begin + begin, std::min(piece, slice.count - begin)};
    };
    const auto landing = [&](std::int64_t number, int i) {
      return scratch_.data() + (number % 2 * others + i) * piece_bytes;
    };
    Batch batches[] = {Batch(transport_), Batch(transport_)};
    const auto start = [&](std::int64_t number) {
      Batch& batch = batches[number % 2];
      for (int i = 0; i + 1 < size(); ++i) {
        receive(batch, landing(number, i), part(mine, number).count * item,
                summand(index(), i, size()));
        const int owner = (index() + 1 + i) % size();
        const Slice sent = part(slice_of(owner), number);
        send(batch, input + sent.begin * item, sent.count * item, owner);
      }
    };
    if (pieces > 0) start(0);
    for (std::int64_t number = 0; number < pieces; ++number) {
      if (number + 1 < pieces) start(number + 1);
      complete(batches[number % 2], Poller::kWhileMoving);
      const Slice done = part(mine, number);
      std::vector<const std::byte*> inputs;
      for (int i = 0; i + 1 < size(); ++i) inputs.push_back(landing(number, i));
      inputs.push_back(input + done.begin * item);
      reduce_in_order(type, reduction, inputs, output + (done.begin - mine.begin) * item,
                      done.count);
    }
  }

  Transport& transport_;
  const std::vector<int> ranks_;
  const int channel_;
  std::vector<std::byte> scratch_;
  std::atomic<const char*> waits_in_{nullptr};
  std::atomic<int> awaited_{kNoRank};
};

}  // namespace

std::unique_ptr<Communicator> make_message_communicator(RunControl& run, Device& device,
                                                        Transport& transport,
                                                        std::vector<int> ranks, int channel) {
  return std::make_unique<MessageCommunicator>(run, device, transport, std::move(ranks), channel);
}

}  // namespace foreshard::executor

#include "executor/communication/message_communicator.hpp"

#include <algorithm>
#include <atomic>
#include <deque>
#include <map>

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

// A slice goes around a ring in blocks of pieces: a piece is sent on a block after it has come, so
// that others are on their way while it is summed. The scratch buffer has places for two blocks.
constexpr std::int64_t kBlock = 4, kPlaces = 2 * kBlock;
constexpr std::int64_t kAhead = 2;  // pieces started before they are awaited; below kBlock

// How many slices fewer the busiest node sends where members pass them on, each to the one before it,
// than where each sends its own to all others.
std::int64_t slices_saved_by_ring(const std::vector<int>& nodes) {
  struct Node {
    std::int64_t members = 0, exits = 0;
  };
  std::map<int, Node> by_number;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    Node& node = by_number[nodes[i]];
    ++node.members;
    if (nodes[(i + nodes.size() - 1) % nodes.size()] != nodes[i]) ++node.exits;
  }
  const std::int64_t size = std::ssize(nodes);
  std::int64_t directly = 0, by_ring = 0;
  for (const auto& [number, node] : by_number) {
    directly = std::max(directly, node.members * (size - node.members));
    by_ring = std::max(by_ring, node.exits * (size - 1));
  }
  return directly - by_ring;
}

// The pieces of which a slice consists, each as long as the first but for the last ones.
struct Cut {
  std::int64_t pieces = 0;
  std::int64_t length = 0;  // of the first one, in elements

  Slice operator()(Slice slice, std::int64_t number) const {
    const std::int64_t begin = std::min(slice.count, number * length);
    return {slice.begin + begin, std::min(length, slice.count - begin)};
  }
};

class MessageCommunicator final : public HostCommunicator {
 public:
  MessageCommunicator(RunControl& run, Device& device, Transport& transport, std::vector<int> ranks,
                      int channel, const GroupNodes& nodes)
      : HostCommunicator(run, device, static_cast<int>(ranks.size()),
                         index_of(ranks, transport.rank())),
        transport_(transport),
        ranks_(std::move(ranks)),
        channel_(channel),
        saved_by_ring_(slices_saved_by_ring(nodes.of_members)),
        bytes_of_hop_(nodes.bytes_of_hop) {}

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
    gather(buffer, 1, [bytes](int owner) { return Slice{bytes * owner, bytes}; });
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
    gather(buffer, item, slice_of);
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
  int after(int places) const { return (index() + places) % size(); }  // a member
  int before() const { return after(size() - 1); }

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

  template <typename SliceOf>
  std::int64_t longest_of(SliceOf slice_of) const {
    std::int64_t longest = 0;
    for (int i = 0; i < size(); ++i) longest = std::max(longest, slice_of(i).count);
    return longest;
  }

  // The last of a ring's messages comes some hops later, one for each other member but the last.
  bool goes_around(std::int64_t bytes_of_slice) const {
    return bytes_of_slice > 0 && saved_by_ring_ > 0 &&
           saved_by_ring_ * bytes_of_slice >= (size() - 2) * bytes_of_hop_;
  }
  static Cut cut_for_ring(std::int64_t longest, std::int64_t item) {
    const std::int64_t pieces = ceil_divide(longest, kScratch / kPlaces / item * kBlock) * kBlock;
    return {pieces, ceil_divide(longest, pieces)};
  }

  // In each step a member sends a piece of a slice to the member before it and receives one of the
  // next slice from the member after it, which it sends in the next step.
  struct Hop {
    int step = 0;
    std::int64_t piece = 0, place = 0;
    std::int64_t place_before() const { return (place + kBlock) % kPlaces; }  // in the last step
  };

  // The members cannot wait for each other in a circle: the earliest message that somebody lacks can
  // be sent, as what it holds came a block earlier, and received, as what was in its place was sent a
  // block earlier.
  template <typename Outgoing, typename Incoming, typename Take>
  void pass_around(std::int64_t pieces, Outgoing outgoing, Incoming incoming, Take take) {
    const int steps = size() - 1;
    const auto hop = [steps](std::int64_t number) {
      const std::int64_t row = number / kBlock;
      return Hop{static_cast<int>(row % steps), row / steps * kBlock + number % kBlock,
                 number % kPlaces};
    };
    std::deque<Batch> receives, sends;
    for (int i = 0; i < kBlock; ++i) {
      receives.emplace_back(transport_);
      sends.emplace_back(transport_);
    }
    const auto of = [](std::deque<Batch>& batches, std::int64_t number) -> Batch& {
      return batches[static_cast<std::size_t>(number % kBlock)];
    };
    const std::int64_t hops = pieces * steps;
    for (std::int64_t number = 0, started = 0; number < hops; ++number) {
      for (; started < std::min(hops, number + 1 + kAhead); ++started) {
        complete(of(sends, started), Poller::kWhileMoving);
        const auto [to, room] = incoming(hop(started));
        receive(of(receives, started), to, room, after(1));
        const auto [from, bytes] = outgoing(hop(started));
        send(of(sends, started), from, bytes, before());
      }
      complete(of(receives, number), Poller::kWhileMoving);
      take(hop(number));
    }
    for (Batch& batch : sends) complete(batch, Poller::kWhileMoving);
  }

  template <typename SliceOf>
  void gather(std::byte* buffer, std::int64_t item, SliceOf slice_of) {
    const std::int64_t longest = longest_of(slice_of);
    if (goes_around(longest * item)) {
      const Cut part = cut_for_ring(longest, item);
      const auto bytes_of_owner = [&](int owner, std::int64_t piece) {
        const Slice slice = part(slice_of(owner), piece);
        return std::pair(buffer + slice.begin * item, slice.count * item);
      };
      return pass_around(
          part.pieces, [&](const Hop& hop) { return bytes_of_owner(after(hop.step), hop.piece); },
          [&](const Hop& hop) { return bytes_of_owner(after(hop.step + 1), hop.piece); },
          [](const Hop&) {});
    }
    Batch batch(transport_);
    const ByteRange mine = bytes_of(slice_of(index()), item);
    for (int i = 1; i < size(); ++i) {
      const int from = (index() - i + size()) % size();
      const ByteRange range = bytes_of(slice_of(from), item);
      receive(batch, buffer + range.begin, range.bytes, from);
      send(batch, buffer + mine.begin, mine.bytes, after(i));
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
    const int divisor = divisor_of(reduction, size());
    if (size() == 1) {
      const std::byte* only[] = {input};
      return reduce_in_order(type, only, output, mine.count, divisor);
    }
    const std::int64_t longest = longest_of(slice_of);
    if (goes_around(longest * item)) {
      return reduce_around(type, divisor, input, output, slice_of, cut_for_ring(longest, item));
    }
    const std::int64_t others = size() - 1;
    const std::int64_t piece_bytes = std::max(kPage, kScratch / 2 / others / kPage * kPage);
    const Cut part{ceil_divide(longest, piece_bytes / item), piece_bytes / item};
    std::byte* const scratch = take_scratch(2 * others * piece_bytes);
    const auto landing = [&](std::int64_t number, int i) {
      return scratch + (number % 2 * others + i) * piece_bytes;
    };
    Batch batches[] = {Batch(transport_), Batch(transport_)};
    const auto start = [&](std::int64_t number) {
      Batch& batch = batches[number % 2];
      for (int i = 0; i + 1 < size(); ++i) {
        receive(batch, landing(number, i), part(mine, number).count * item,
                summand(index(), i, size()));
        const int owner = after(1 + i);
        const Slice sent = part(slice_of(owner), number);
        send(batch, input + sent.begin * item, sent.count * item, owner);
      }
    };
    if (part.pieces > 0) start(0);
    for (std::int64_t number = 0; number < part.pieces; ++number) {
      if (number + 1 < part.pieces) start(number + 1);
      complete(batches[number % 2], Poller::kWhileMoving);
      const Slice done = part(mine, number);
      std::vector<const std::byte*> inputs;
      for (int i = 0; i + 1 < size(); ++i) inputs.push_back(landing(number, i));
      inputs.push_back(input + done.begin * item);
      reduce_in_order(type, inputs, output + (done.begin - mine.begin) * item, done.count, divisor);
    }
  }

  // Each member adds its own to the sum that comes, which began with the member before the slice's
  // owner and ends with the owner.
  template <typename SliceOf>
  void reduce_around(DType type, int divisor, const std::byte* input, std::byte* output,
                     SliceOf slice_of, const Cut& part) {
    const std::int64_t item = item_size(type);
    std::byte* const scratch = take_scratch(kScratch);
    const auto at = [scratch](std::int64_t place) {
      return scratch + place * (kScratch / kPlaces);
    };
    const auto slice_at = [&](const Hop& hop, int places) {
      return part(slice_of(after(places + hop.step)), hop.piece);
    };
    pass_around(
        part.pieces,
        [&](const Hop& hop) {
          const Slice sent = slice_at(hop, 1);
          return std::pair(hop.step == 0 ? input + sent.begin * item : at(hop.place_before()),
                           sent.count * item);
        },
        [&](const Hop& hop) { return std::pair(at(hop.place), slice_at(hop, 2).count * item); },
        [&](const Hop& hop) {
          const Slice slice = slice_at(hop, 2);
          const std::byte* both[] = {at(hop.place), input + slice.begin * item};
          const bool is_whole = hop.step == size() - 2;
          const std::int64_t begin = slice.begin - slice_of(index()).begin;
          reduce_in_order(type, both, is_whole ? output + begin * item : at(hop.place), slice.count,
                          is_whole ? divisor : 1);
        });
  }

  std::byte* take_scratch(std::int64_t bytes) {
    if (std::ssize(scratch_) < bytes) scratch_.resize(static_cast<std::size_t>(bytes));
    return scratch_.data();
  }

  Transport& transport_;
  const std::vector<int> ranks_;
  const int channel_;
  const std::int64_t saved_by_ring_, bytes_of_hop_;
  std::vector<std::byte> scratch_;
  std::atomic<const char*> waits_in_{nullptr};
  std::atomic<int> awaited_{kNoRank};
};

}  // namespace

std::unique_ptr<Communicator> make_message_communicator(RunControl& run, Device& device,
                                                        Transport& transport,
                                                        std::vector<int> ranks, int channel,
                                                        const GroupNodes& nodes) {
  return std::make_unique<MessageCommunicator>(run, device, transport, std::move(ranks), channel,
                                               nodes);
}

}  // namespace foreshard::executor

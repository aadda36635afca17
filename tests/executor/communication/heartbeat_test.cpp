// A heartbeat that receives what no process of this program sends.
#include <array>
#include <cstring>

#include <gtest/gtest.h>

#include "executor/communication/message_communicator.hpp"
#include "tests/executor/communication/thread_transport.hpp"

namespace foreshard::executor {
namespace {

// What a heartbeat sends, by its layout: 40 bytes of progress and agreements, whom the rank waits
// for, and in what.
std::array<std::byte, 64> pulse(std::int32_t awaited) {
  std::array<std::byte, 64> bytes{};
  std::memcpy(&bytes[40], &awaited, sizeof awaited);
  std::memset(&bytes[44], 'x', 20);  // no end
  return bytes;
}

// Rank 0 of two; the other sends `text` of its process, and then what it likes.
class HeartbeatOfTwo : public testing::Test {
 protected:
  std::unique_ptr<Heartbeat> heartbeat_of_rank_0(const std::string& text) {
    const std::uint64_t length = text.size();
    other_.send(std::as_bytes(std::span(&length, 1)), 0, kExchangeChannel);
    other_.send(std::as_bytes(std::span(text)), 0, kExchangeChannel);
    return make_heartbeat(run_, agreements_, transport_);
  }

  PostOffice office_;
  RunControl run_{2};
  Agreements agreements_{OutOfMemoryAgreement(2), LastStepAgreement(0, 2)};
  ThreadTransport transport_{office_, 0, 2}, other_{office_, 1, 2};
  std::vector<RankStatus> ranks_{2};
  std::vector<Wait> waits_;
};

TEST_F(HeartbeatOfTwo, NamesOnlyRanksThatThereAre) {
  for (const int awaited : {-2, 2, 1 << 30}) {
    const auto heartbeat = heartbeat_of_rank_0("elsewhere");
    waits_.clear();
    other_.send(pulse(awaited), 0, kHeartbeatChannel);
    heartbeat->update(ranks_, waits_, Nanoseconds{1}, true);
    EXPECT_TRUE(waits_.empty());
    const auto failure = heartbeat->check_peers();
    ASSERT_TRUE(failure) << awaited;
    EXPECT_EQ(failure->text(), "rank 1: it sent something that is not a heartbeat");
  }
}

TEST_F(HeartbeatOfTwo, OperationsEndSomewhere) {
  const auto heartbeat = heartbeat_of_rank_0("elsewhere");
  other_.send(pulse(0), 0, kHeartbeatChannel);
  heartbeat->update(ranks_, waits_, Nanoseconds{1}, true);
  ASSERT_EQ(waits_.size(), 1U);
  EXPECT_EQ(waits_[0].waiter, 1);
  EXPECT_EQ(waits_[0].awaited, 0);
  EXPECT_EQ(waits_[0].operation, std::string(19, 'x'));
  EXPECT_FALSE(heartbeat->check_peers());
}

// Where its process is on this machine, but sends no number.
TEST_F(HeartbeatOfTwo, WhoSaysNoProcessIsNotWatched) {
  std::thread same([this] {
    std::uint64_t length = 0;
    const auto hear = [this](std::span<std::byte> into) {
      Transport::Ticket ticket = other_.receive(into, 0, kExchangeChannel);
      while (other_.test({&ticket, 1}) != 0) std::this_thread::yield();
    };
    hear(std::as_writable_bytes(std::span(&length, 1)));
    std::string theirs(length, ' ');
    const std::uint64_t mine = length;
    other_.send(std::as_bytes(std::span(&mine, 1)), 0, kExchangeChannel);
    hear(std::as_writable_bytes(std::span(theirs)));
    for (std::size_t i = theirs.find(' ') + 1; i < theirs.size(); ++i) theirs[i] = 'x';
    other_.send(std::as_bytes(std::span(theirs)), 0, kExchangeChannel);
  });
  EXPECT_FALSE(make_heartbeat(run_, agreements_, transport_)->check_peers());
  same.join();
}

}  // namespace
}  // namespace foreshard::executor

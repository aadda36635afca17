// Frames between two processes, without sockets: what one side would write is handed to the other in
// pieces of any size.
#include <deque>
#include <numeric>
#include <random>

#include <gtest/gtest.h>

#include "executor/communication/tcp_incoming.hpp"
#include "executor/communication/tcp_outgoing.hpp"
#include "tests/draws.hpp"

namespace foreshard::executor {
namespace {

using Bytes = std::vector<std::byte>;

Bytes bytes_of(std::size_t size, std::uint32_t salt) {
  Bytes out(size);
  for (std::size_t i = 0; i < size; ++i) {
    out[i] = static_cast<std::byte>((i * 2654435761U + salt * 40503U) >> 7);
  }
  return out;
}

TcpMessage message(Bytes& bytes) {
  return {bytes.data(), bytes.size(), 0};
}

// One direction of a connection, with the credits of the other.
struct Wire {
  TcpOutgoing out;
  TcpIncoming in;
  std::vector<TcpFrame> controls;
  std::vector<TcpMessage*> received, sent;

  void await(int channel, TcpMessage& to) {
    if (in.await(channel, to)) {
      received.push_back(&to);
    } else if (to.size > kTcpEager) {
      out.add_credit(channel);
    }
  }

  // Moves at most so many bytes; returns how many it were.
  std::size_t move(std::size_t most) {
    for (const auto piece : out.next()) {
      const auto space = in.space();
      const std::size_t n = std::min({piece.size(), space.size(), most});
      if (n == 0) continue;
      std::copy_n(piece.begin(), n, space.begin());
      const auto arrival = in.arrived(n);
      if (arrival.completed != nullptr) received.push_back(arrival.completed);
      if (arrival.control) controls.push_back(*arrival.control);
      if (TcpMessage* done = out.sent(n)) sent.push_back(done);
      return n;
    }
    // A header alone may be the whole of a message.
    return 0;
  }
  void move_all() {
    while (move(~std::size_t{0}) != 0) {
    }
  }
};

TEST(TcpFrames, HeadersComeBack) {
  for (const TcpFrame& frame :
       {TcpFrame{TcpFrame::Kind::data, 3, 17, 17}, TcpFrame{TcpFrame::Kind::data, 0, 0, 0},
        TcpFrame{TcpFrame::Kind::data, 63, kTcpLongestFrame, kTcpLongestMessage},
        TcpFrame{TcpFrame::Kind::credit, 5, 0, std::uint64_t{5} << 32},
        TcpFrame{TcpFrame::Kind::withdrawn, 1}, TcpFrame{TcpFrame::Kind::goodbye},
        TcpFrame{TcpFrame::Kind::abort},
        TcpFrame{TcpFrame::Kind::lent, 1, 0, 1 << 20, {~std::uint64_t{0}, 2, 3}}}) {
    EXPECT_EQ(decode(encode(frame)), frame);
  }
}

TEST(TcpFrames, WhatCannotBeIsNoFrame) {
  for (const TcpFrame& frame :
       {TcpFrame{TcpFrame::Kind::data, kTcpChannels, 1, 1}, TcpFrame{TcpFrame::Kind::data, 0, 2, 1},
        TcpFrame{TcpFrame::Kind::data, 0, 0, 1},
        TcpFrame{TcpFrame::Kind::data, 0, kTcpLongestFrame + 1, 1 << 30},
        TcpFrame{TcpFrame::Kind::data, 0, 1, kTcpLongestMessage + 1},
        TcpFrame{TcpFrame::Kind::credit, 0, 1, 1}, TcpFrame{static_cast<TcpFrame::Kind>(9)}}) {
    EXPECT_FALSE(decode(encode(frame)));
  }
  EXPECT_FALSE(decode(TcpHeader{}));
}

// Any messages on any channels, awaited before or after they come, in pieces of any size: each
// arrives whole and in the order of its channel.
TEST(TcpFrames, MessagesArriveWholeAndInOrder) {
  constexpr std::size_t kLongest = 6 * kTcpEager;
  const auto seeds = static_cast<std::uint32_t>(tests::draws(40));
  for (std::uint32_t seed = 0; seed < seeds; ++seed) {
    std::mt19937 random(seed);
    const auto below = [&](std::size_t n) { return static_cast<std::size_t>(random()) % n; };
    Wire wire;
    std::deque<Bytes> data, landed;
    std::deque<TcpMessage> out, in;
    std::array<std::deque<std::size_t>, 3> to_send, to_await;  // numbers of messages, by channel
    for (std::size_t i = 0; i < 40; ++i) {
      const std::size_t size = below(3) == 0   ? below(kLongest)
                               : below(2) == 0 ? below(200)
                                               : kTcpEager + below(3) - 1;
      data.push_back(bytes_of(size, seed * 64 + static_cast<std::uint32_t>(i)));
      landed.emplace_back(size);
      out.push_back(message(data.back()));
      in.push_back(message(landed.back()));
      const std::size_t channel = below(3);
      to_send[channel].push_back(i);
      to_await[channel].push_back(i);
    }
    for (std::size_t calm = 0; wire.received.size() < 40;) {
      ASSERT_LT(calm, 1000u) << "nothing moves any more, seed " << seed;
      const std::size_t channel = below(3);
      auto& queue = below(2) == 0 ? to_send[channel] : to_await[channel];
      const bool sends = &queue == &to_send[channel];
      ++calm;
      if (!queue.empty()) {
        if (sends) wire.out.add(static_cast<int>(channel), out[queue.front()]);
        if (!sends) wire.await(static_cast<int>(channel), in[queue.front()]);
        queue.pop_front();
        calm = 0;
      }
      for (std::size_t turns = below(4); turns > 0; --turns) {
        if (wire.move(below(4) == 0 ? 1 + below(9) : 1 + below(kLongest)) > 0) calm = 0;
      }
    }
    EXPECT_EQ(wire.sent.size(), 40u);
    for (std::size_t i = 0; i < 40; ++i) ASSERT_EQ(data[i], landed[i]) << i << ", seed " << seed;
    EXPECT_FALSE(wire.in.awaits_anything_but(kTcpChannels));
  }
}

TEST(TcpFrames, LongMessagesWaitUntilTheyAreAwaited) {
  Wire wire;
  Bytes data = bytes_of(kTcpEager + 1, 1), small = bytes_of(3, 2), landed(data.size()),
        short_landed(3);
  TcpMessage out = message(data), other = message(small);
  wire.out.add(1, out);
  wire.out.add(2, other);
  TcpMessage in = message(landed), short_in = message(short_landed);
  wire.move_all();
  EXPECT_TRUE(wire.received.empty());
  EXPECT_EQ(wire.sent, std::vector{&other});  // the other channel is not held up
  wire.await(1, in);
  wire.await(2, short_in);
  wire.move_all();
  EXPECT_EQ(landed, data);
  EXPECT_EQ(short_landed, small);
}

TEST(TcpFrames, ChannelsTakeTurns) {
  Wire wire;
  Bytes longer = bytes_of(5 << 20, 1), brief = bytes_of(9, 2), longer_in(5 << 20), brief_in(9);
  TcpMessage out = message(longer), other = message(brief);
  TcpMessage in = message(longer_in), other_in = message(brief_in);
  wire.await(0, in);
  wire.await(1, other_in);
  wire.out.add(0, out);
  wire.out.add(1, other);
  wire.move_all();
  EXPECT_EQ(wire.received, (std::vector{&other_in, &in}));
}

TEST(TcpFrames, WhatIsWithdrawnByTheSenderIsDropped) {
  Wire wire;
  Bytes data = bytes_of(3 << 20, 1), next = bytes_of(70, 2), landed(data.size()), next_in(70);
  TcpMessage in = message(landed), after_in = message(next_in), after = message(next);
  wire.await(0, in);
  {
    Bytes gone = data;
    TcpMessage out = message(gone);
    wire.out.add(0, out);
    while (out.moved < kTcpLongestFrame) wire.move(4096);
    wire.move(500);  // in the middle of a frame
    wire.out.withdraw(0, out);
    std::fill(gone.begin(), gone.end(), std::byte{0xee});
  }
  wire.out.add(0, after);
  wire.move_all();
  EXPECT_TRUE(wire.received.empty());
  EXPECT_TRUE(std::equal(landed.begin(), landed.begin() + (2 << 20), data.begin()));
  wire.await(0, after_in);
  EXPECT_EQ(next_in, next);
}

TEST(TcpFrames, WhatIsWithdrawnByTheReceiverIsNotWrittenTo) {
  Wire wire;
  Bytes data = bytes_of(3 << 20, 1), landed(data.size()), next = bytes_of(70, 2), next_in(70);
  TcpMessage out = message(data), in = message(landed), after = message(next),
             after_in = message(next_in);
  wire.await(0, in);
  wire.out.add(0, out);
  wire.move(4096);
  wire.move(4096);
  wire.in.withdraw(0, in);
  const Bytes before = landed;
  wire.out.add(0, after);
  wire.move_all();
  EXPECT_EQ(landed, before);
  wire.await(0, after_in);
  EXPECT_EQ(next_in, next);

  // Not begun: a short one leaves no trace, a long one is thrown away when it comes.
  Bytes unused(70);
  TcpMessage unwanted = message(unused), wanted = message(unused);
  wire.await(3, unwanted);
  wire.in.withdraw(3, unwanted);
  wire.out.add(3, after);
  wire.await(3, wanted);
  wire.move_all();
  EXPECT_EQ(unused, next);
  wire.await(4, in);
  wire.in.withdraw(4, in);
  wire.out.add(4, out);
  wire.move_all();
  EXPECT_EQ(landed, before);
  EXPECT_FALSE(wire.in.awaits_anything_but(kTcpChannels));
}

TEST(TcpFrames, AnEndForgetsEverythingElse) {
  Wire wire;
  Bytes data = bytes_of(2 << 20, 1), landed(data.size());
  TcpMessage out = message(data), in = message(landed);
  wire.await(0, in);
  wire.out.add(0, out);
  wire.move(100);
  wire.move(100);
  wire.out.end_with({TcpFrame::Kind::abort});
  wire.move_all();
  EXPECT_EQ(wire.controls, std::vector{TcpFrame{TcpFrame::Kind::abort}});
}

TEST(TcpFrames, LongMessagesAreLentOnceTheyAreAwaited) {
  Wire wire;
  Bytes data = bytes_of(1 << 20, 1), small = bytes_of(9, 2), landed(data.size()), small_in(9);
  TcpMessage out = message(data), in = message(landed), after = message(small),
             after_in = message(small_in);
  wire.out.lend();
  wire.out.add(1, out);
  wire.out.add(1, after);
  wire.move_all();
  EXPECT_TRUE(wire.controls.empty());
  wire.await(1, in);
  wire.await(1, after_in);
  wire.move_all();
  EXPECT_EQ(wire.received, std::vector{&after_in});
  ASSERT_EQ(wire.controls.size(), 1u);
  const auto [address, place, number] = wire.controls[0].words;
  EXPECT_EQ(address, reinterpret_cast<std::uint64_t>(data.data()));
  EXPECT_EQ(place, reinterpret_cast<std::uint64_t>(&out.loan));
  EXPECT_EQ(out.loan, number);
  EXPECT_TRUE(wire.out.has_anything_but(2));
  EXPECT_EQ(wire.out.taken(number + 1), nullptr);
  EXPECT_EQ(wire.out.taken(number), &out);
  EXPECT_EQ(out.loan, 0u);
  EXPECT_FALSE(wire.out.has_anything_but(2));
  EXPECT_EQ(wire.out.taken(number), nullptr);
}

// What `headers` say, one after another, with zeros as data.
std::string complaint(const std::vector<TcpFrame>& frames, std::size_t awaited = 0) {
  TcpIncoming in;
  Bytes landed(awaited);
  TcpMessage to = message(landed);
  if (awaited > 0) in.await(0, to);
  try {
    for (const TcpFrame& frame : frames) {
      const TcpHeader header = encode(frame);
      std::copy(header.begin(), header.end(), in.space().begin());
      in.arrived(header.size());
      for (std::size_t left = frame.bytes; left > 0;) {
        const auto space = in.space();
        const std::size_t n = std::min(space.size(), left);
        std::fill_n(space.begin(), n, std::byte{0});
        in.arrived(n);
        left -= n;
      }
    }
  } catch (const TcpProtocolError& error) {
    return error.what();
  }
  return "";
}

TEST(TcpFrames, WhatNobodyWouldSendIsRefused) {
  const auto data = [](std::uint32_t bytes, std::uint64_t whole) {
    return TcpFrame{TcpFrame::Kind::data, 0, bytes, whole};
  };
  EXPECT_EQ(complaint({data(9, 9)}, 9), "");
  EXPECT_EQ(complaint({data(8, 8)}, 9), "a message of 8 bytes arrived where 9 were expected");
  EXPECT_EQ(complaint({data(1 << 20, 1 << 20)}), "an unexpected long message arrived");
  EXPECT_EQ(complaint({data(4, 9), data(4, 8)}, 9),
            "a message of 8 bytes arrived where 9 were expected");
  EXPECT_EQ(complaint({data(4, 9), data(6, 9)}, 9), "a message is too long");
  EXPECT_EQ(complaint({{TcpFrame::Kind::withdrawn, 0}}, 9),
            "it cancelled a message that it had not started");
  const TcpFrame lent{TcpFrame::Kind::lent, 0, 0, 1 << 20, {1, 2, 3}};
  EXPECT_EQ(complaint({lent}), "an unexpected long message arrived");
  EXPECT_EQ(complaint({lent}, (1 << 20) + 1),
            "a message of 1048576 bytes arrived where 1048577 were expected");
  EXPECT_EQ(complaint(std::vector(1000, data(1 << 16, 1 << 16))),
            "too many unexpected messages arrived");
  TcpOutgoing out;
  EXPECT_THROW(for (int i = 0; i < 1 << 21; ++i) out.add_credit(0), TcpProtocolError);
}

}  // namespace
}  // namespace foreshard::executor

// What is to be written to the connection with one process: the messages of all channels, cut into
// frames, the channels taking turns. It writes nothing itself: it chooses which bytes come next.
#pragma once

#include <array>
#include <deque>
#include <span>
#include <vector>

#include "executor/communication/tcp_frames.hpp"

namespace foreshard::executor {

class TcpOutgoing {
 public:
  using Piece = std::span<const std::byte>;

  // The message must stay until `sent` has returned it or it is withdrawn.
  void add(int channel, TcpMessage& message);
  // Its memory is not looked at any more; what has not been begun is not sent.
  void withdraw(int channel, TcpMessage& message);
  void add_credit(int channel);   // the other process awaits one more long message
  void lend() { lends_ = true; }  // it can read long messages where they lie
  // It needs a loan no more. Returns the message that is complete now; none where it was withdrawn.
  TcpMessage* taken(std::uint64_t loan);
  // A frame without data, before anything else that has not been begun.
  void add(const TcpFrame& frame) { controls_.push_back(frame); }
  // Forgets everything but the frame being sent, and ends with this one.
  void end_with(const TcpFrame& frame);

  // Whether a message of another channel than this one has not been sent whole.
  bool has_anything_but(int channel) const;

  // The bytes to write next, a header's and its data's; both empty when there is nothing to do now.
  std::array<Piece, 2> next();
  // So many of them have been written. Returns the message that was completed by it, if any.
  TcpMessage* sent(std::size_t bytes);

 private:
  struct Channel {
    std::deque<TcpMessage*> messages;
    std::uint64_t credits = 0;
  };
  // The frame that is being written.
  struct Current {
    TcpFrame frame;
    TcpHeader header{};
    std::size_t written = 0;  // of header and data together
    bool is_there = false;
    TcpMessage* message = nullptr;  // nullptr: there is no data, or it lies in rest_
    std::size_t size() const { return kTcpHeader + frame.bytes; }
  };
  struct Loan {
    int channel = 0;
    TcpMessage* message = nullptr;
  };
  Channel& channel(int number) { return channels_[static_cast<std::size_t>(number)]; }
  bool may_go_on(const Channel& channel) const;
  void begin_frame();
  void begin_loan(int channel, TcpMessage& message);
  Piece data_left() const;
  void keep_rest();

  std::array<Channel, kTcpChannels> channels_;
  std::deque<TcpFrame> controls_;
  bool lends_ = false;
  std::vector<Loan> loans_;
  std::uint64_t last_loan_ = 0;
  Current current_;
  std::vector<std::byte> rest_;  // of the current frame, whose message has been withdrawn
  int turn_ = 0;                 // the channel that is asked first
};

}  // namespace foreshard::executor

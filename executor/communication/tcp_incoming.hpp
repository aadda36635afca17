// What arrives over the connection with one process: frames become messages, which go straight into
// the buffers that await them. Short messages that nobody awaits yet are kept, up to a limit; long
// ones do not come unasked. It reads nothing itself: it decides where the next bytes belong.
#pragma once

#include <array>
#include <deque>
#include <optional>
#include <span>
#include <vector>

#include "executor/communication/tcp_frames.hpp"

namespace foreshard::executor {

class TcpIncoming {
 public:
  // Awaits a message of exactly message.size bytes. It must stay until it is complete or withdrawn.
  // Returns whether it is complete at once, because it came earlier.
  bool await(int channel, TcpMessage& message);
  // Its memory is not written to any more; should its message still come, it is thrown away.
  void withdraw(int channel, TcpMessage& message);
  // Whether somebody awaits a message of another channel than this one.
  bool awaits_anything_but(int channel) const;

  // Where the next bytes belong; never empty.
  std::span<std::byte> space();
  // So many of them have arrived.
  struct Arrival {
    TcpMessage* completed = nullptr;
    std::optional<TcpFrame> control;  // a frame without data, for the owner to act on
    TcpMessage* borrower = nullptr;   // that awaited what is lent; none: it has been withdrawn
  };
  Arrival arrived(std::size_t bytes);  // throws TcpProtocolError

 private:
  // A buffer that awaits a message; message == nullptr: it has been withdrawn, but may still come.
  struct Awaited {
    TcpMessage* message = nullptr;
    std::size_t size = 0;
  };
  struct Channel {
    std::deque<Awaited> awaited;
    std::deque<std::vector<std::byte>> early;  // whole messages
    // The message under way:
    bool is_under_way = false, is_early = false;
    Awaited target;                   // unless it is early,
    std::vector<std::byte> arriving;  // where it is
    std::size_t size = 0, moved = 0;
  };
  Channel& channel(int number) { return channels_[static_cast<std::size_t>(number)]; }
  void begin(Channel& channel, std::uint64_t size);
  static Awaited next_awaited(Channel& channel, std::uint64_t size);
  Arrival take_header();
  TcpMessage* finish_message(Channel& channel);
  TcpMessage* deliver(const std::vector<std::byte>& early, TcpMessage& message);

  std::array<Channel, kTcpChannels> channels_;
  TcpHeader header_{};
  std::size_t in_header_ = 0;
  TcpFrame frame_;
  std::size_t left_ = 0;  // bytes of the frame's data that have not arrived
  std::size_t early_bytes_ = 0;
  std::vector<std::byte> thrown_away_;  // room for what nobody receives
};

}  // namespace foreshard::executor

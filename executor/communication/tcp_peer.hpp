// The connection with one other process of a run: moves bytes between its socket and the messages
// under way, as far as that goes without waiting.
#pragma once

#include <array>
#include <atomic>
#include <mutex>
#include <optional>
#include <string>

#include "executor/communication/socket.hpp"
#include "executor/communication/tcp_incoming.hpp"
#include "executor/communication/tcp_outgoing.hpp"

namespace foreshard::executor {

// A message that somebody has a ticket for.
struct TcpRequest : TcpMessage {
  int peer = 0;
  int channel = 0;
  bool is_receive = false;
  std::atomic<bool> is_done{false};
  std::array<std::uint64_t, 3> lent{};  // to a receive, see TcpFrame
  std::atomic<bool> is_lent{false};     // it is to be taken
};

// The channels on which something was completed, or is there to be taken.
class TcpChannels {
 public:
  void add(int channel) { set_ |= std::uint64_t{1} << channel; }
  bool contains(int channel) const { return (set_ >> channel & 1) != 0; }
  bool is_empty() const { return set_ == 0; }

 private:
  static_assert(kTcpChannels <= 64);
  std::uint64_t set_ = 0;
};

// All calls may come from any thread.
class TcpPeer {
 public:
  explicit TcpPeer(Socket socket) : socket_(std::move(socket)) {}

  // Offers this process' memory to be read, if it can be.
  TcpChannels offer_memory();

  // Each returns the channels on which something was completed; what could not be written at once is
  // left to `write`, when the socket has room again.
  TcpChannels send(TcpRequest& request);
  TcpChannels receive(TcpRequest& request);
  void cancel(TcpRequest& request);
  // Copies what is lent to a receive, on the thread that awaits it. Returns whether all of it has
  // come; if not, the sender has gone or has withdrawn it, and it never will.
  bool take(TcpRequest& request, TcpChannels& completed);
  TcpChannels say(const TcpFrame& frame, bool is_last = false);
  struct Read {
    TcpChannels completed;
    bool has_more = false;  // others should have their turn now
  };
  Read read();
  TcpChannels write();

  int descriptor() const { return socket_.descriptor(); }
  bool wants_to_write() const { return wants_to_write_; }
  // It needs nothing more and sends nothing more.
  bool has_left() const { return has_left_; }
  bool has_closed() const { return has_closed_; }
  bool is_lost() const { return is_lost_; }
  // It left, ended the run or closed the connection although this process still needed it; the first
  // reason stays.
  struct Loss {
    std::string why;
    std::optional<std::uint64_t> blamed;  // the rank that it reports to have lost itself
  };
  std::optional<Loss> loss() const;

 private:
  void flush(TcpChannels& completed);
  void complete(TcpMessage& message, TcpChannels& completed);
  void note_arrival(std::size_t bytes, TcpChannels& completed);
  void act_on(const TcpFrame& control, TcpMessage* borrower, TcpChannels& completed);
  void borrow(const TcpFrame& lent, TcpMessage* borrower, TcpChannels& completed);
  bool can_read(const TcpFrame& readable);
  void distrust(const TcpProtocolError& error);
  void close(int error);
  void lose(std::string why, std::optional<std::uint64_t> blamed = std::nullopt);
  void read_some(Read& read);

  const Socket socket_;
  std::mutex in_mutex_;  // taken before out_mutex_
  TcpIncoming in_;
  std::mutex out_mutex_;
  TcpOutgoing out_;
  mutable std::mutex loss_mutex_;  // taken last
  std::optional<Loss> loss_;
  std::atomic<bool> wants_to_write_{false}, has_left_{false}, has_closed_{false}, is_lost_{false};
  std::atomic<int> write_error_{0};
  std::atomic<pid_t> readable_{0};  // the other process, where its memory can be read
  std::atomic<int> borrowed_{0};    // messages that it has lent, and that have not been taken
  // What it finds here where it can read this process' memory.
  const std::uint64_t word_ = reinterpret_cast<std::uint64_t>(this) ^ 0x9e3779b97f4a7c15;
};

}  // namespace foreshard::executor

#include "executor/communication/tcp_peer.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include <sys/uio.h>

#include "executor/communication/transport.hpp"

namespace foreshard::executor {
namespace {

constexpr std::size_t kStaged = 1 << 14;   // room for headers and short messages, read at once
constexpr std::size_t kOneTurn = 4 << 20;  // bytes read before other connections have their turn
// The error where more than a heartbeat is awaited of, or to be told to, a process that has left.
constexpr const char* kStillNeeded = "has left the run, but others still need it";

}  // namespace

std::optional<TcpPeer::Loss> TcpPeer::loss() const {
  const std::lock_guard lock(loss_mutex_);
  return loss_;
}

void TcpPeer::lose(std::string why, std::optional<std::uint64_t> blamed) {
  const std::lock_guard lock(loss_mutex_);
  if (!loss_) loss_ = Loss{std::move(why), blamed};
  is_lost_ = true;
}

void TcpPeer::complete(TcpMessage& message, TcpChannels& completed) {
  auto& request = static_cast<TcpRequest&>(message);
  completed.add(request.channel);
  request.is_done.store(true, std::memory_order_release);  // from here on it may be gone
}

TcpChannels TcpPeer::send(TcpRequest& request) {
  TcpChannels completed;
  const std::lock_guard lock(out_mutex_);
  const int channel = request.channel;
  out_.add(channel, request);
  // After it has been added: a goodbye that comes meanwhile finds it.
  if (has_left_ && channel != kHeartbeatChannel) lose(kStillNeeded);
  flush(completed);
  return completed;
}

TcpChannels TcpPeer::receive(TcpRequest& request) {
  TcpChannels completed;
  const std::lock_guard lock(in_mutex_);
  const std::size_t size = request.size;
  const int channel = request.channel;
  bool is_here = false;
  try {
    is_here = in_.await(channel, request);
  } catch (const TcpProtocolError& error) {
    distrust(error);
    return completed;
  }
  if (is_here) {
    complete(request, completed);
  } else if ((has_left_ || has_closed_) && channel != kHeartbeatChannel) {
    lose(kStillNeeded);
  } else if (size > kTcpEager) {
    const std::lock_guard out_lock(out_mutex_);
    out_.add({TcpFrame::Kind::credit, channel, 0, size});
    flush(completed);
  }
  return completed;
}

void TcpPeer::cancel(TcpRequest& request) {
  if (request.is_receive) {
    const std::lock_guard lock(in_mutex_);
    if (!request.is_done) in_.withdraw(request.channel, request);
  } else {
    const std::lock_guard lock(out_mutex_);
    if (!request.is_done) out_.withdraw(request.channel, request);
  }
}

TcpChannels TcpPeer::say(const TcpFrame& frame, bool is_last) {
  TcpChannels completed;
  const std::lock_guard lock(out_mutex_);
  if (is_last) {
    out_.end_with(frame);
  } else {
    out_.add(frame);
  }
  flush(completed);
  return completed;
}

TcpChannels TcpPeer::write() {
  TcpChannels completed;
  const std::lock_guard lock(out_mutex_);
  flush(completed);
  return completed;
}

// With out_mutex_ held.
void TcpPeer::flush(TcpChannels& completed) {
  for (;;) {
    const auto pieces = out_.next();
    std::size_t count = 0;
    std::array<iovec, 2> parts{};
    for (const auto& piece : pieces) {
      if (piece.empty()) continue;
      parts[count++] = {const_cast<std::byte*>(piece.data()), piece.size()};
    }
    wants_to_write_ = count > 0 && !has_closed_;
    if (!wants_to_write_) return;
    msghdr message{};
    message.msg_iov = parts.data();
    message.msg_iovlen = count;
    const ssize_t sent = sendmsg(socket_.descriptor(), &message, MSG_NOSIGNAL);
    if (sent < 0) {
      if (errno == EINTR) continue;
      if (would_block(errno)) return;
      // What it sent before it went can still be read, and `read` finds the end of it.
      write_error_ = errno;
      wants_to_write_ = false;
      return;
    }
    if (TcpMessage* done = out_.sent(static_cast<std::size_t>(sent))) complete(*done, completed);
  }
}

TcpPeer::Read TcpPeer::read() {
  Read read;
  const std::lock_guard lock(in_mutex_);
  try {
    read_some(read);
  } catch (const TcpProtocolError& error) {
    distrust(error);
  }
  return read;
}

void TcpPeer::read_some(Read& read) {
  std::array<std::byte, kStaged> staged;
  for (std::size_t all = 0; !has_closed_;) {
    if (all >= kOneTurn) {
      read.has_more = true;
      return;
    }
    const auto space = in_.space();
    const bool goes_straight = space.size() >= kStaged;
    const auto into = goes_straight ? space : std::span<std::byte>(staged);
    const ssize_t came = recv(socket_.descriptor(), into.data(), into.size(), 0);
    if (came <= 0) {
      if (came < 0 && errno == EINTR) continue;
      if (came == 0 || !would_block(errno)) close(came == 0 ? write_error_.load() : errno);
      return;
    }
    const auto bytes = static_cast<std::size_t>(came);
    all += bytes;
    if (goes_straight) {
      take(bytes, read.completed);
      continue;
    }
    for (std::size_t at = 0; at < bytes;) {
      const auto to = in_.space();
      const std::size_t n = std::min(to.size(), bytes - at);
      std::memcpy(to.data(), &staged[at], n);
      take(n, read.completed);
      at += n;
    }
  }
}

void TcpPeer::take(std::size_t bytes, TcpChannels& completed) {
  const auto arrival = in_.arrived(bytes);
  if (arrival.completed != nullptr) complete(*arrival.completed, completed);
  if (arrival.control) act_on(*arrival.control, completed);
}

void TcpPeer::act_on(const TcpFrame& control, TcpChannels& completed) {
  if (control.kind == TcpFrame::Kind::credit) {
    const std::lock_guard lock(out_mutex_);
    out_.add_credit(control.channel);
    flush(completed);
  } else if (control.kind == TcpFrame::Kind::goodbye) {
    has_left_ = true;
    const std::lock_guard lock(out_mutex_);
    if (in_.awaits_anything_but(kHeartbeatChannel) || out_.has_anything_but(kHeartbeatChannel)) {
      lose(kStillNeeded);
    }
  } else {
    lose("has ended the run; see its own error message", control.message);
  }
}

// With in_mutex_ held. Nothing more is read from it.
void TcpPeer::distrust(const TcpProtocolError& error) {
  lose(error.what());
  has_closed_ = true;
}

// With in_mutex_ held.
void TcpPeer::close(int error) {
  has_closed_ = true;
  wants_to_write_ = false;
  if (has_left_) return;
  const bool is_cut_off = error != 0 && error != ECONNRESET && error != EPIPE;
  lose(is_cut_off ? std::string("the connection to it is lost (") + std::strerror(error) + ")"
                  : "its process has ended unexpectedly");
}

}  // namespace foreshard::executor

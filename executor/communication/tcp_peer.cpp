#include "executor/communication/tcp_peer.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include <sys/uio.h>
#include <unistd.h>

#include "executor/communication/process_memory.hpp"
#include "executor/communication/transport.hpp"
#include "models/base/fnv_hash.hpp"

namespace foreshard::executor {
namespace {

constexpr std::size_t kStaged = 1 << 14;   // room for headers and short messages, read at once
constexpr std::size_t kOneTurn = 4 << 20;  // bytes read before other connections have their turn
// The error where more than a heartbeat is awaited of, or to be told to, a process that has left.
constexpr const char* kStillNeeded = "has left the run, but others still need it";

std::uint64_t hash_of_space() {
  static const std::uint64_t hash = [] {
    FnvHash space;
    space.add(process_space());
    return space.value();
  }();
  return hash;
}

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
    if (request.is_done) return;
    if (request.lent[2] != 0) {
      --borrowed_;
      const std::lock_guard out_lock(out_mutex_);
      out_.add({TcpFrame::Kind::taken, request.channel, 0, request.lent[2]});
    } else {
      in_.withdraw(request.channel, request);
    }
  } else {
    const std::lock_guard lock(out_mutex_);
    if (!request.is_done) out_.withdraw(request.channel, request);
  }
}

TcpChannels TcpPeer::offer_memory() {
  return say({TcpFrame::Kind::readable,
              0,
              0,
              static_cast<std::uint64_t>(getpid()),
              {hash_of_space(), reinterpret_cast<std::uint64_t>(&word_), word_}});
}

bool TcpPeer::can_read(const TcpFrame& readable) {
  const auto [space, place, word] = readable.words;
  std::uint64_t seen = 0;
  const auto process = static_cast<pid_t>(readable.message);
  if (space != hash_of_space() ||
      read_memory(process, place, std::as_writable_bytes(std::span(&seen, 1))) != 0 ||
      seen != word) {
    return false;
  }
  readable_ = process;
  return true;
}

// The sender lends it as long as the number is there, so what was copied before it is seen is right.
bool TcpPeer::take(TcpRequest& request, TcpChannels& completed) {
  const auto [address, place, number] = request.lent;
  const int failed = read_memory(readable_, address, {request.data, request.size});
  std::uint64_t seen = 0;
  if (read_memory(readable_, place, std::as_writable_bytes(std::span(&seen, 1))) == 0 &&
      seen == number) {
    if (failed == 0) {
      --borrowed_;
      completed = say({TcpFrame::Kind::taken, request.channel, 0, number});
      return true;
    }
    lose(std::string("its memory cannot be read (") + std::strerror(failed) + ")");
  }
  request.is_lent = false;
  return false;
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
      note_arrival(bytes, read.completed);
      continue;
    }
    for (std::size_t at = 0; at < bytes;) {
      const auto to = in_.space();
      const std::size_t n = std::min(to.size(), bytes - at);
      std::memcpy(to.data(), &staged[at], n);
      note_arrival(n, read.completed);
      at += n;
    }
  }
}

void TcpPeer::note_arrival(std::size_t bytes, TcpChannels& completed) {
  const auto arrival = in_.arrived(bytes);
  if (arrival.completed != nullptr) complete(*arrival.completed, completed);
  if (arrival.control) act_on(*arrival.control, arrival.borrower, completed);
}

// With in_mutex_ held.
void TcpPeer::act_on(const TcpFrame& control, TcpMessage* borrower, TcpChannels& completed) {
  const std::lock_guard lock(out_mutex_);
  switch (control.kind) {
    case TcpFrame::Kind::credit: out_.add_credit(control.channel); break;
    case TcpFrame::Kind::goodbye:
      has_left_ = true;
      if (in_.awaits_anything_but(kHeartbeatChannel) || borrowed_ > 0 ||
          out_.has_anything_but(kHeartbeatChannel)) {
        lose(kStillNeeded);
      }
      return;
    case TcpFrame::Kind::readable:
      if (can_read(control)) out_.add({TcpFrame::Kind::reads});
      break;
    case TcpFrame::Kind::reads: out_.lend(); break;
    case TcpFrame::Kind::lent: return borrow(control, borrower, completed);
    case TcpFrame::Kind::taken:
      if (TcpMessage* done = out_.taken(control.message)) complete(*done, completed);
      return;
    default: lose("has ended the run; see its own error message", control.message); return;
  }
  flush(completed);
}

// With both mutexes held.
void TcpPeer::borrow(const TcpFrame& lent, TcpMessage* borrower, TcpChannels& completed) {
  if (readable_ == 0) throw TcpProtocolError("it lends memory that cannot be read");
  if (borrower == nullptr) {
    out_.add({TcpFrame::Kind::taken, lent.channel, 0, lent.words[2]});
    return flush(completed);
  }
  auto& request = static_cast<TcpRequest&>(*borrower);
  request.lent = lent.words;
  ++borrowed_;
  request.is_lent.store(true, std::memory_order_release);
  completed.add(request.channel);  // wakes who will take it
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

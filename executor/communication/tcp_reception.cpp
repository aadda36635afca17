#include "executor/communication/tcp_reception.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <stdexcept>

#include <poll.h>
#include <sys/resource.h>

namespace foreshard::executor {
namespace {

constexpr Nanoseconds kPatience{10'000'000'000};
constexpr std::size_t kMaxStrangers = 64;
constexpr int kLongestWaitMs = 1000;
constexpr std::size_t kMaxNames = 10;

// Whether the socket is ready before the deadline.
bool wait_for(const Socket& socket, short events, const Deadline& deadline) {
  pollfd polled{socket.descriptor(), events, 0};
  while (!deadline.has_passed()) {
    if (poll(&polled, 1, deadline.left_ms()) > 0) return true;
  }
  return false;
}

[[noreturn]] void throw_not_accepted(int error) {
  std::string why = std::strerror(error);
  rlimit limit{};
  if (error == EMFILE && getrlimit(RLIMIT_NOFILE, &limit) == 0) {
    why += ": this process can open " + std::to_string(limit.rlim_cur) +
           " files (ulimit -n) and needs one for each rank";
  }
  throw std::runtime_error("cannot accept the other ranks: " + why);
}

}  // namespace

bool send_all(const Socket& socket, std::span<const std::byte> bytes, const Deadline& deadline) {
  while (!bytes.empty()) {
    const ssize_t sent = send(socket.descriptor(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent >= 0) {
      bytes = bytes.subspan(static_cast<std::size_t>(sent));
    } else if (!would_block(errno) || !wait_for(socket, POLLOUT, deadline)) {
      return false;
    }
  }
  return true;
}

Received receive_all(const Socket& socket, std::span<std::byte> bytes, const Deadline& deadline) {
  while (!bytes.empty()) {
    const ssize_t came = recv(socket.descriptor(), bytes.data(), bytes.size(), 0);
    if (came > 0) {
      bytes = bytes.subspan(static_cast<std::size_t>(came));
    } else if (came == 0 || !would_block(errno)) {
      return Received::closed;
    } else if (!wait_for(socket, POLLIN, deadline)) {
      return Received::late;
    }
  }
  return Received::all;
}

TcpReception::TcpReception(Rules rules, std::vector<Socket> listening, std::vector<Socket>& members)
    : rules_(rules), listening_(std::move(listening)), members_(members), ports_(members.size()) {}

bool TcpReception::is_complete() const {
  const auto expected = std::span(members_).subspan(static_cast<std::size_t>(rules_.rank) + 1);
  return std::ranges::all_of(expected, [](const Socket& socket) { return bool{socket}; });
}

std::string TcpReception::missing() const {
  std::vector<std::string> names;
  for (std::size_t r = static_cast<std::size_t>(rules_.rank) + 1; r < members_.size(); ++r) {
    if (!members_[r]) names.push_back(std::to_string(r));
  }
  if (names.size() == 1) return "rank " + names[0] + " has";
  if (names.size() > kMaxNames) {
    const std::size_t more = names.size() - kMaxNames + 1;
    names.resize(kMaxNames - 1);
    names.push_back(std::to_string(more) + " more");
  }
  std::string text = "ranks ";
  for (std::size_t i = 0; i < names.size(); ++i) {
    text += (i == 0 ? "" : i + 1 == names.size() ? " and " : ", ") + names[i];
  }
  return text + " have";
}

void TcpReception::wait(const Deadline& deadline) {
  std::vector<pollfd> polled;
  for (const Socket& socket : listening_) polled.push_back({socket.descriptor(), POLLIN, 0});
  for (const Guest& guest : guests_) polled.push_back({guest.socket.descriptor(), POLLIN, 0});
  const std::size_t first_member = polled.size();
  std::vector<std::size_t> ranks;
  for (std::size_t rank = 0; rank < members_.size(); ++rank) {
    if (!members_[rank]) continue;
    polled.push_back({members_[rank].descriptor(), POLLRDHUP, 0});
    ranks.push_back(rank);
  }
  if (poll(polled.data(), polled.size(), std::min(kLongestWaitMs, deadline.left_ms())) < 0) return;
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    if (polled[first_member + i].revents == 0) continue;
    throw std::runtime_error("rank " + std::to_string(ranks[i]) +
                             " disconnected before all ranks had connected");
  }
  std::erase_if(guests_, [this](Guest& guest) { return !listen_to(guest); });
  for (const Socket& socket : listening_) take_in_guests(socket);
}

void TcpReception::take_in_guests(const Socket& listening) {
  for (;;) {
    auto socket = accept_at(listening);
    if (!socket) {
      const int error = socket.error();
      if (error == EINTR || error == ECONNABORTED) continue;
      if (would_block(error)) return;
      throw_not_accepted(error);
    }
    if (guests_.size() >= members_.size() + kMaxStrangers) guests_.erase(guests_.begin());
    guests_.push_back({std::move(*socket), {}, 0, Deadline(kPatience)});
  }
}

bool TcpReception::listen_to(Guest& guest) {
  const auto room = std::span(guest.received).subspan(guest.bytes);
  const ssize_t came = recv(guest.socket.descriptor(), room.data(), room.size(), 0);
  if (came < 0) return would_block(errno) && !guest.patience.has_passed();
  guest.bytes += static_cast<std::size_t>(came);
  if (came == 0) return false;
  if (guest.bytes < guest.received.size()) return true;
  judge(guest);
  return false;
}

void TcpReception::judge(Guest& guest) {
  const auto hello = decode_hello(guest.received);
  if (!hello) {
    last_refusal_ = "the connection from " + Endpoint::of_peer(guest.socket).text() +
                    " is not from a foreshard process";
    return;
  }
  std::string refusal = why_refused(*hello, rules_.run);
  const auto rank = static_cast<std::size_t>(hello->rank);
  if (refusal.empty()) {
    if (hello->purpose != rules_.purpose || hello->token != rules_.token ||
        hello->rank <= rules_.rank) {
      refusal = "rank " + std::to_string(rank) + " of another run connected";
    } else if (members_[rank]) {
      refusal = "rank " + std::to_string(rank) + " connected twice";
    }
  }
  if (refusal.empty()) {
    ports_[rank] = hello->port;
    members_[rank] = std::move(guest.socket);
    return;
  }
  last_refusal_ = refusal;
  send_all(guest.socket, encode(TcpAnswer{refusal, 0, {}}), Deadline(Nanoseconds{0}));
}

}  // namespace foreshard::executor

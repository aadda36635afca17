#include "executor/communication/tcp_rendezvous.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <stdexcept>

#include <poll.h>
#include <sys/random.h>
#include <sys/resource.h>

#include "executor/communication/tcp_reception.hpp"
#include "executor/device/clock.hpp"

namespace foreshard::executor {
namespace {

constexpr Nanoseconds kOneAttempt{5'000'000'000};
constexpr int kShortestPauseMs = 20, kLongestPauseMs = 500;

[[noreturn]] void throw_late(const std::string& who, const Rendezvous& r, const std::string& more) {
  throw std::runtime_error(who + " connected to " + r.point.text() + " within " +
                           seconds_text(r.point.timeout) + (more.empty() ? "" : " (" + more + ")") +
                           "; expected all processes of the run within "
                           "FORESHARD_RENDEZVOUS_TIMEOUT seconds");
}

// A host name may stand for a loopback address on its own node (as in Debian's /etc/hosts) and for
// another one elsewhere; where there may be other nodes, all interfaces are needed then.
bool needs_all_interfaces(const Rendezvous& r, const Endpoint& endpoint) {
  const std::string& host = r.point.host;
  const bool is_here_only = host == "localhost" || host == "::1" || host.starts_with("127.") ||
                            r.ranks_here == r.run.ranks;
  return endpoint.is_loopback() && !is_here_only;
}

tl::unexpected<Error> wrong_host(const Rendezvous& r, const std::string& what) {
  return fail("environment", "MASTER_ADDR", "\"" + r.point.host + "\" " + what);
}

// At every address of the meeting point, all of which are this machine's.
Result<std::vector<Socket>> listen_at_meeting_point(const Rendezvous& r) {
  const auto endpoints = resolve(r.point.host, r.point.port);
  if (!endpoints) return wrong_host(r, "cannot be resolved (" + endpoints.error() + ")");
  std::vector<Socket> listening;
  int reason = 0;
  for (const Endpoint& endpoint : *endpoints) {
    const bool everywhere = needs_all_interfaces(r, endpoint);
    auto made =
        listen_at(everywhere ? Endpoint::any(endpoint.family()).with_port(r.point.port) : endpoint,
                  r.run.ranks);
    if (made) {
      listening.push_back(std::move(*made));
      continue;
    }
    reason = made.error();
    if (reason == EADDRINUSE && listening.empty()) {
      return fail("environment", "MASTER_PORT",
                  std::to_string(r.point.port) + " is in use on " + endpoint.text() +
                      "; expected a port that no other run or program has");
    }
  }
  if (!listening.empty()) return listening;
  return wrong_host(r, std::string("is where rank 0 runs, but cannot be listened at here (") +
                           std::strerror(reason) + "); expected an address of this machine");
}

std::uint64_t random_token() {
  std::uint64_t token = 0;
  while (getrandom(&token, sizeof token, 0) != sizeof token) {
  }
  return token;
}

Result<std::vector<Socket>> meet_as_host(const Rendezvous& r, const Deadline& deadline) {
  auto listening = listen_at_meeting_point(r);
  if (!listening) return tl::unexpected(listening.error());
  std::vector<Socket> sockets(static_cast<std::size_t>(r.run.ranks));
  TcpReception reception({r.run, TcpHello::Purpose::meet, 0, 0}, std::move(*listening), sockets);
  while (!reception.is_complete() && !deadline.has_passed()) reception.wait(deadline);
  if (!reception.is_complete()) {
    throw_late(reception.missing() + " not", r, reception.last_refusal());
  }
  TcpAnswer answer;
  answer.token = random_token();
  for (std::size_t rank = 0; rank < sockets.size(); ++rank) {
    TcpAddress address;
    const Endpoint peer = rank == 0 ? Endpoint() : Endpoint::of_peer(sockets[rank]);
    if (rank > 0 && !peer.is_loopback()) {
      address.family =
          peer.family() == AF_INET6 ? TcpAddress::Family::ipv6 : TcpAddress::Family::ipv4;
      address.bytes = peer.bytes();
    }
    address.port = reception.port_of(rank);
    answer.ranks.push_back(address);
  }
  const auto bytes = encode(answer);
  for (std::size_t rank = 1; rank < sockets.size(); ++rank) {
    if (!send_all(sockets[rank], bytes, Deadline(kOneAttempt))) {
      throw std::runtime_error("rank " + std::to_string(rank) +
                               " disconnected before the run began");
    }
  }
  return sockets;
}

// Rank 0 may come later than this process, and its name may be known later still.
Socket connect_to_rank_0(const Rendezvous& r, const Deadline& deadline) {
  std::string reason;
  for (int pause = kShortestPauseMs; !deadline.has_passed();
       pause = std::min(2 * pause, kLongestPauseMs)) {
    const auto endpoints = resolve(r.point.host, r.point.port);
    if (!endpoints) reason = endpoints.error();
    for (std::size_t i = 0; endpoints && i < endpoints->size(); ++i) {
      const Deadline attempt(std::min(deadline.left(), kOneAttempt));
      auto made = connect_to((*endpoints)[i], attempt);
      if (made) return std::move(*made);
      reason = std::strerror(made.error());
    }
    poll(nullptr, 0, std::min(pause, deadline.left_ms()));
  }
  throw_late("rank 0 has not", r, reason);
}

Result<TcpAnswer> ask_rank_0(const Rendezvous& r, const Socket& host, std::uint16_t port,
                             const Deadline& deadline) {
  const auto not_understood = [&](const Error& error) {
    return fail("environment", "MASTER_PORT", r.point.text() + ": " + error.message);
  };
  const auto fill = [&](std::span<std::byte> bytes) {
    switch (receive_all(host, bytes, deadline)) {
      case Received::all: return;
      case Received::closed:
        throw std::runtime_error("rank 0 disconnected before all ranks had connected to " +
                                 r.point.text());
      case Received::late: throw_late("not all ranks have", r, "");
    }
  };
  const auto hello = encode(TcpHello{kTcpVersion, TcpHello::Purpose::meet, r.rank, r.run, 0, port});
  if (!send_all(host, hello, deadline)) {
    throw std::runtime_error("rank 0 disconnected before all ranks had connected to " +
                             r.point.text());
  }
  std::vector<std::byte> bytes(kTcpAnswerHeader);
  fill(bytes);
  const auto size = answer_size(std::span(bytes).first<kTcpAnswerHeader>(), r.run.ranks);
  if (!size) return not_understood(size.error());
  bytes.resize(kTcpAnswerHeader + *size);
  fill(std::span(bytes).subspan(kTcpAnswerHeader));
  auto answer = decode_answer(bytes, r.run.ranks);
  if (!answer) return not_understood(answer.error());
  if (!answer->refusal.empty()) {
    return fail("--comm", "tcp", r.point.text() + " refused this process: " + answer->refusal);
  }
  return answer;
}

Result<std::vector<Socket>> meet_as_guest(const Rendezvous& r, const Deadline& deadline) {
  std::vector<Socket> sockets(static_cast<std::size_t>(r.run.ranks));
  sockets[0] = connect_to_rank_0(r, deadline);
  const Endpoint host = Endpoint::of_peer(sockets[0]);
  // Where it is the same machine, its address is as good as ours, and known to the others.
  const Endpoint own = host.is_loopback() ? host : Endpoint::of_ourselves(sockets[0]);
  auto listening = listen_at(
      needs_all_interfaces(r, own) ? Endpoint::any(own.family()) : own.with_port(0), r.run.ranks);
  if (!listening) {
    throw std::runtime_error("cannot listen at " + own.text() + ": " +
                             std::strerror(listening.error()));
  }
  const auto port = static_cast<std::uint16_t>(Endpoint::of_ourselves(*listening).port());
  const auto answer = ask_rank_0(r, sockets[0], port, deadline);
  if (!answer) return tl::unexpected(answer.error());
  const auto hello =
      encode(TcpHello{kTcpVersion, TcpHello::Purpose::join, r.rank, r.run, answer->token, port});
  for (int rank = 1; rank < r.rank; ++rank) {
    const TcpAddress& at = answer->ranks[static_cast<std::size_t>(rank)];
    const Endpoint endpoint =
        at.family == TcpAddress::Family::as_rank_0
            ? host.with_port(at.port)
            : Endpoint::from_bytes(at.family == TcpAddress::Family::ipv6 ? AF_INET6 : AF_INET,
                                   at.bytes, at.port, host);
    auto made = connect_to(endpoint, deadline);
    if (!made || !send_all(*made, hello, deadline)) {
      throw std::runtime_error("rank " + std::to_string(rank) + " cannot be reached at " +
                               endpoint.text() +
                               (made ? "" : std::string(": ") + std::strerror(made.error())));
    }
    sockets[static_cast<std::size_t>(rank)] = std::move(*made);
  }
  std::vector<Socket> doors;
  doors.push_back(std::move(*listening));
  TcpReception reception({r.run, TcpHello::Purpose::join, r.rank, answer->token}, std::move(doors),
                         sockets);
  while (!reception.is_complete() && !deadline.has_passed()) reception.wait(deadline);
  if (!reception.is_complete()) {
    throw std::runtime_error(reception.missing() + " not connected to rank " +
                             std::to_string(r.rank) + " in time");
  }
  return sockets;
}

// Every rank takes a descriptor, and what a process may have by default is meant for programs that
// cannot use many.
void allow_many_files() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == limit.rlim_max) return;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
}

}  // namespace

Result<std::vector<Socket>> meet(const Rendezvous& rendezvous) {
  if (rendezvous.run.ranks == 1) return std::vector<Socket>(1);
  allow_many_files();
  const Deadline deadline(rendezvous.point.timeout);
  return rendezvous.rank == 0 ? meet_as_host(rendezvous, deadline)
                              : meet_as_guest(rendezvous, deadline);
}

}  // namespace foreshard::executor

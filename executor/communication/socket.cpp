#include "executor/communication/socket.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <unistd.h>

#include "executor/device/clock.hpp"

namespace foreshard::executor {
namespace {

// A machine that answers nothing for that long is gone: 3 + 5 x 1 s while nothing is sent, 8 s
// while something is.
constexpr int kIdleSeconds = 3, kProbeSeconds = 1, kProbes = 5, kUnansweredMs = 8000;

void set(const Socket& socket, int level, int option, int value) {
  setsockopt(socket.descriptor(), level, option, &value, sizeof value);
}

void tune(const Socket& socket) {
  set(socket, IPPROTO_TCP, TCP_NODELAY, 1);
  set(socket, SOL_SOCKET, SO_KEEPALIVE, 1);
  set(socket, IPPROTO_TCP, TCP_KEEPIDLE, kIdleSeconds);
  set(socket, IPPROTO_TCP, TCP_KEEPINTVL, kProbeSeconds);
  set(socket, IPPROTO_TCP, TCP_KEEPCNT, kProbes);
  set(socket, IPPROTO_TCP, TCP_USER_TIMEOUT, kUnansweredMs);
}

template <typename Name>  // getpeername or getsockname
Endpoint endpoint_of(const Socket& socket, Name name) {
  sockaddr_storage storage{};
  socklen_t length = sizeof storage;
  if (name(socket.descriptor(), reinterpret_cast<sockaddr*>(&storage), &length) != 0) return {};
  return {reinterpret_cast<const sockaddr*>(&storage), length};
}

template <typename Family>
Family as(const sockaddr* address) {
  Family out{};
  std::memcpy(&out, address, sizeof out);
  return out;
}

}  // namespace

bool would_block(int error) {
  return error == EAGAIN || error == EWOULDBLOCK || error == EINTR;
}

Socket::~Socket() {
  if (descriptor_ >= 0) close(descriptor_);
}

Endpoint::Endpoint(const sockaddr* address, socklen_t length) : length_(length) {
  std::memcpy(&storage_, address, std::min<std::size_t>(length, sizeof storage_));
}

Endpoint Endpoint::of_peer(const Socket& socket) {
  return endpoint_of(socket, getpeername);
}

Endpoint Endpoint::of_ourselves(const Socket& socket) {
  return endpoint_of(socket, getsockname);
}

Endpoint Endpoint::any(int family) {
  return from_bytes(family, {}, 0, {});
}

int Endpoint::port() const {
  return ntohs(family() == AF_INET6 ? as<sockaddr_in6>(address()).sin6_port
                                    : as<sockaddr_in>(address()).sin_port);
}

Endpoint Endpoint::with_port(int port) const {
  return from_bytes(family(), bytes(), port, *this);
}

bool Endpoint::is_loopback() const {
  const auto raw = bytes();
  if (family() == AF_INET) return raw[0] == 127;
  in6_addr address6{};
  std::memcpy(&address6, raw.data(), sizeof address6);
  return family() == AF_INET6 &&
         (IN6_IS_ADDR_LOOPBACK(&address6) || (IN6_IS_ADDR_V4MAPPED(&address6) && raw[12] == 127));
}

std::array<std::uint8_t, 16> Endpoint::bytes() const {
  std::array<std::uint8_t, 16> out{};
  if (family() == AF_INET6) {
    const auto in6 = as<sockaddr_in6>(address());
    std::memcpy(out.data(), &in6.sin6_addr, 16);
  } else {
    const auto in = as<sockaddr_in>(address());
    std::memcpy(out.data(), &in.sin_addr, 4);
  }
  return out;
}

Endpoint Endpoint::from_bytes(int family, const std::array<std::uint8_t, 16>& bytes, int port,
                              const Endpoint& like) {
  const auto network_port = htons(static_cast<std::uint16_t>(port));
  if (family == AF_INET6) {
    sockaddr_in6 in6{};
    in6.sin6_family = AF_INET6;
    in6.sin6_port = network_port;
    std::memcpy(&in6.sin6_addr, bytes.data(), 16);
    if (like.family() == AF_INET6 && IN6_IS_ADDR_LINKLOCAL(&in6.sin6_addr)) {
      in6.sin6_scope_id = as<sockaddr_in6>(like.address()).sin6_scope_id;
    }
    return {reinterpret_cast<const sockaddr*>(&in6), sizeof in6};
  }
  sockaddr_in in{};
  in.sin_family = AF_INET;
  in.sin_port = network_port;
  std::memcpy(&in.sin_addr, bytes.data(), 4);
  return {reinterpret_cast<const sockaddr*>(&in), sizeof in};
}

std::string Endpoint::text() const {
  std::array<char, INET6_ADDRSTRLEN> text{};
  const auto raw = bytes();
  if (inet_ntop(family(), raw.data(), text.data(), text.size()) == nullptr) return "?";
  const std::string host = text.data();
  return (family() == AF_INET6 ? "[" + host + "]" : host) + ":" + std::to_string(port());
}

Deadline::Deadline(Nanoseconds from_now) : at_(monotonic_now() + from_now) {}

Nanoseconds Deadline::left() const {
  return std::max(Nanoseconds{0}, at_ - monotonic_now());
}

int Deadline::left_ms() const {
  return static_cast<int>(
      std::min<std::int64_t>(1'000'000, (left().count() + 999'999) / 1'000'000));
}

tl::expected<std::vector<Endpoint>, std::string> resolve(const std::string& host, int port) {
  addrinfo hints{}, *found = nullptr;
  hints.ai_socktype = SOCK_STREAM;
  const std::string service = std::to_string(port);
  const int error = getaddrinfo(host.c_str(), service.c_str(), &hints, &found);
  if (error != 0) {
    return tl::unexpected<std::string>(error == EAI_SYSTEM ? std::strerror(errno)
                                                           : gai_strerror(error));
  }
  std::vector<Endpoint> out;
  for (const addrinfo* a = found; a != nullptr; a = a->ai_next) {
    out.emplace_back(a->ai_addr, a->ai_addrlen);
  }
  freeaddrinfo(found);
  return out;
}

tl::expected<Socket, int> listen_at(const Endpoint& endpoint, int backlog) {
  Socket made(socket(endpoint.family(), SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!made) return tl::unexpected(errno);
  set(made, SOL_SOCKET, SO_REUSEADDR, 1);  // also while an earlier run's connections fade out
  if (bind(made.descriptor(), endpoint.address(), endpoint.length()) != 0 ||
      listen(made.descriptor(), backlog) != 0) {
    return tl::unexpected(errno);
  }
  return made;
}

tl::expected<Socket, int> connect_to(const Endpoint& endpoint, const Deadline& deadline) {
  Socket made(socket(endpoint.family(), SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!made) return tl::unexpected(errno);
  if (connect(made.descriptor(), endpoint.address(), endpoint.length()) != 0) {
    if (errno != EINPROGRESS) return tl::unexpected(errno);
    pollfd ready{made.descriptor(), POLLOUT, 0};
    int polled = 0;
    do {
      polled = poll(&ready, 1, deadline.left_ms());
    } while (polled < 0 && errno == EINTR);
    if (polled == 0) return tl::unexpected(ETIMEDOUT);
    int error = 0;
    socklen_t length = sizeof error;
    getsockopt(made.descriptor(), SOL_SOCKET, SO_ERROR, &error, &length);
    if (error != 0) return tl::unexpected(error);
  }
  // Where nobody listens, the system may lend us that very port and connect us to ourselves.
  const Endpoint own = Endpoint::of_ourselves(made), peer = Endpoint::of_peer(made);
  if (own.port() == peer.port() && own.bytes() == peer.bytes()) return tl::unexpected(ECONNREFUSED);
  tune(made);
  return made;
}

tl::expected<Socket, int> accept_at(const Socket& listening) {
  Socket made(accept4(listening.descriptor(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
  if (!made) return tl::unexpected(errno);
  tune(made);
  return made;
}

}  // namespace foreshard::executor

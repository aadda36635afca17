// TCP sockets as the processes of a run use them: they never block by themselves, do not delay short
// messages, and notice within seconds when the machine at the other end is gone.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <netinet/in.h>
#include <sys/socket.h>

#include "models/base/error.hpp"
#include "models/base/units.hpp"

namespace foreshard::executor {

// Owns a file descriptor.
class Socket {
 public:
  Socket() = default;
  explicit Socket(int descriptor) : descriptor_(descriptor) {}
  Socket(Socket&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
  Socket& operator=(Socket&& other) noexcept {
    std::swap(descriptor_, other.descriptor_);
    return *this;
  }
  ~Socket();

  int descriptor() const { return descriptor_; }
  explicit operator bool() const { return descriptor_ >= 0; }

 private:
  int descriptor_ = -1;
};

// Whether what failed with this errno is to be tried again later.
bool would_block(int error);

// An address of IPv4 or IPv6 with its port.
class Endpoint {
 public:
  Endpoint() = default;
  Endpoint(const sockaddr* address, socklen_t length);
  static Endpoint of_peer(const Socket& socket);
  static Endpoint of_ourselves(const Socket& socket);
  static Endpoint any(int family);  // all interfaces, any port

  int family() const { return storage_.ss_family; }
  int port() const;
  Endpoint with_port(int port) const;
  bool is_loopback() const;
  // IPv4 in the first 4 bytes.
  std::array<std::uint8_t, 16> bytes() const;
  // `like` lends what the bytes lack: the interface of a link-local address.
  static Endpoint from_bytes(int family, const std::array<std::uint8_t, 16>& bytes, int port,
                             const Endpoint& like);
  std::string text() const;

  const sockaddr* address() const { return reinterpret_cast<const sockaddr*>(&storage_); }
  socklen_t length() const { return length_; }

 private:
  sockaddr_storage storage_{};
  socklen_t length_ = 0;
};

// The moment after which nobody waits any more, CLOCK_MONOTONIC.
class Deadline {
 public:
  explicit Deadline(Nanoseconds from_now);
  Nanoseconds left() const;  // at least 0
  int left_ms() const;       // for poll(), rounded up
  bool has_passed() const { return left().count() == 0; }

 private:
  Nanoseconds at_;
};

// Every address of a host; the error quotes the system's.
tl::expected<std::vector<Endpoint>, std::string> resolve(const std::string& host, int port);

// The errno of what failed is the error of these.
tl::expected<Socket, int> listen_at(const Endpoint& endpoint, int backlog);
tl::expected<Socket, int> connect_to(const Endpoint& endpoint, const Deadline& deadline);
// Of one who has come to a listening socket; EAGAIN: nobody has.
tl::expected<Socket, int> accept_at(const Socket& listening);

}  // namespace foreshard::executor

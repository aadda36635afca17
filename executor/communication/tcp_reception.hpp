// Takes in the processes that connect to a listening socket of a run, until all those expected are
// there: reads the hello of each, refuses those that do not belong to the run, and forgets
// strangers that send nothing.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "executor/communication/socket.hpp"
#include "executor/communication/tcp_handshake.hpp"

namespace foreshard::executor {

// All of it has been sent; no: the other end is gone, or does not read before the deadline.
bool send_all(const Socket& socket, std::span<const std::byte> bytes, const Deadline& deadline);

enum class Received : std::uint8_t { all, closed, late };
Received receive_all(const Socket& socket, std::span<std::byte> bytes, const Deadline& deadline);

class TcpReception {
 public:
  // Whoever is taken in is of `run`, sends `purpose` and `token`, and has a rank after `rank`.
  struct Rules {
    RunIdentity run;
    TcpHello::Purpose purpose = TcpHello::Purpose::meet;
    int rank = 0;
    std::uint64_t token = 0;
  };
  // `members`: by rank; those expected have no socket yet. It outlives this.
  TcpReception(Rules rules, std::vector<Socket> listening, std::vector<Socket>& members);

  bool is_complete() const;
  // "ranks 1 and 3 have", "rank 2 has"
  std::string missing() const;
  // Where the member awaits others, by its hello.
  std::uint16_t port_of(std::size_t rank) const { return ports_[rank]; }
  // Why the last process that was refused was; empty: none was.
  const std::string& last_refusal() const { return last_refusal_; }

  // Waits for something to happen, at most until the deadline or for a second. Throws
  // std::runtime_error when a member has left again, or nobody can be taken in any more.
  void wait(const Deadline& deadline);

 private:
  struct Guest {
    Socket socket;
    std::array<std::byte, kTcpHello> received{};
    std::size_t bytes = 0;
    Deadline patience;
  };
  void take_in_guests(const Socket& listening);
  bool listen_to(Guest& guest);  // whether there is more to come
  void judge(Guest& guest);

  const Rules rules_;
  std::vector<Socket> listening_;
  std::vector<Socket>& members_;
  std::vector<std::uint16_t> ports_;
  std::vector<Guest> guests_;
  std::string last_refusal_;
};

}  // namespace foreshard::executor

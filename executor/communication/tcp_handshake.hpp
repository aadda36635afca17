// What processes exchange when they meet over TCP, before any message: who they are, and
// that they belong to one run. Whoever comes to the port may send anything, so everything is checked
// here. All numbers are little-endian.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "models/base/error.hpp"

namespace foreshard::executor {

constexpr std::uint32_t kTcpVersion = 2;  // of the handshake and of the frames

// What must be the same in all processes of a run.
struct RunIdentity {
  int ranks = 1;
  std::uint64_t job = 0;    // of everything that decides what is computed
  std::uint64_t build = 0;  // of the program
};

// Tells builds of the running program apart: its linker's build id; 0 where it has none.
std::uint64_t build_of_this_program();

// What the connecting process sends first.
struct TcpHello {
  enum class Purpose : std::uint32_t {
    meet,  // to rank 0: here I am
    join,  // to another rank: we have both met rank 0
  };
  std::uint32_t version = kTcpVersion;
  Purpose purpose = Purpose::meet;
  int rank = 0;
  RunIdentity run;
  std::uint64_t token = 0;  // that rank 0 gave to those it met
  std::uint16_t port = 0;   // where this rank awaits those after it
};

constexpr std::size_t kTcpHello = 56;  // bytes
std::array<std::byte, kTcpHello> encode(const TcpHello& hello);
// Nothing where the bytes are not of this program at all.
std::optional<TcpHello> decode_hello(std::span<const std::byte, kTcpHello> bytes);
// Why this process does not belong to the run; empty when it does.
std::string why_refused(const TcpHello& hello, const RunIdentity& run);

// Where a rank awaits others; family 0: at the address at which rank 0 was reached.
struct TcpAddress {
  enum class Family : std::uint16_t { as_rank_0 = 0, ipv4 = 4, ipv6 = 6 };
  Family family = Family::as_rank_0;
  std::uint16_t port = 0;
  std::array<std::uint8_t, 16> bytes{};
  bool operator==(const TcpAddress&) const = default;
};

// What is answered, once: a refusal with its reason, or rank 0's list of all ranks.
struct TcpAnswer {
  std::string refusal;  // empty: welcome
  std::uint64_t token = 0;
  std::vector<TcpAddress> ranks;
};

std::vector<std::byte> encode(const TcpAnswer& answer);
constexpr std::size_t kTcpAnswerHeader = 24;
// Bytes that follow the header; an error where it is no answer to a process of a run of `ranks`.
Result<std::size_t> answer_size(std::span<const std::byte, kTcpAnswerHeader> header, int ranks);
// Header and what follows it.
Result<TcpAnswer> decode_answer(std::span<const std::byte> bytes, int ranks);

}  // namespace foreshard::executor

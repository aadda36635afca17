#include "executor/communication/tcp_handshake.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

#include <elf.h>
#include <link.h>

namespace foreshard::executor {
namespace {

static_assert(std::endian::native == std::endian::little, "the handshake is little-endian");

constexpr std::array<char, 8> kMagic = {'F', 'O', 'R', 'E', 'S', 'H', 'R', 'D'};
constexpr std::size_t kLongestReason = 512;

struct RawHello {
  std::array<char, 8> magic;
  std::uint32_t version, purpose, rank, ranks;
  std::uint64_t job, build, token;
  std::uint16_t port;
  std::array<std::uint8_t, 6> nothing;
};
static_assert(sizeof(RawHello) == kTcpHello);

struct RawAnswer {
  std::array<char, 8> magic;
  std::uint32_t is_refusal, bytes;  // of what follows
  std::uint64_t token;
};
static_assert(sizeof(RawAnswer) == kTcpAnswerHeader);

struct RawAddress {
  std::uint16_t family, port;
  std::array<std::uint8_t, 16> bytes;
};
static_assert(sizeof(RawAddress) == 20);

template <typename Raw>
Raw read(std::span<const std::byte> bytes) {
  Raw raw{};
  std::memcpy(&raw, bytes.data(), sizeof raw);
  return raw;
}

tl::unexpected<Error> no_answer() {
  return fail("", "", "the process that answers there is not rank 0 of a foreshard run");
}

// For dl_iterate_phdr, which shows the program itself first.
int find_build(dl_phdr_info* object, std::size_t, void* out) {
  for (int i = 0; i < object->dlpi_phnum; ++i) {
    const auto& header = object->dlpi_phdr[i];
    if (header.p_type != PT_NOTE) continue;
    const char* at = reinterpret_cast<const char*>(object->dlpi_addr + header.p_vaddr);
    const char* const end = at + header.p_memsz;
    const auto padded = [](std::uint32_t bytes) { return (bytes + 3U) & ~3U; };
    while (at + sizeof(ElfW(Nhdr)) <= end) {
      ElfW(Nhdr) note{};
      std::memcpy(&note, at, sizeof note);
      const char* const value = at + sizeof note + padded(note.n_namesz);
      if (note.n_type == NT_GNU_BUILD_ID && note.n_descsz >= 8 && value + 8 <= end) {
        std::memcpy(out, value, 8);
      }
      at = value + padded(note.n_descsz);
    }
  }
  return 1;
}

}  // namespace

std::uint64_t build_of_this_program() {
  std::uint64_t build = 0;
  dl_iterate_phdr(find_build, &build);
  return build;
}

std::array<std::byte, kTcpHello> encode(const TcpHello& hello) {
  return std::bit_cast<std::array<std::byte, kTcpHello>>(
      RawHello{kMagic,
               hello.version,
               static_cast<std::uint32_t>(hello.purpose),
               static_cast<std::uint32_t>(hello.rank),
               static_cast<std::uint32_t>(hello.run.ranks),
               hello.run.job,
               hello.run.build,
               hello.token,
               hello.port,
               {}});
}

std::optional<TcpHello> decode_hello(std::span<const std::byte, kTcpHello> bytes) {
  const auto raw = read<RawHello>(bytes);
  constexpr std::uint32_t kMaxRanks = 1U << 30;
  if (raw.magic != kMagic || raw.purpose > 1 || raw.rank > kMaxRanks || raw.ranks > kMaxRanks) {
    return std::nullopt;
  }
  return TcpHello{raw.version,
                  static_cast<TcpHello::Purpose>(raw.purpose),
                  static_cast<int>(raw.rank),
                  {static_cast<int>(raw.ranks), raw.job, raw.build},
                  raw.token,
                  raw.port};
}

std::string why_refused(const TcpHello& hello, const RunIdentity& run) {
  const std::string who = "rank " + std::to_string(hello.rank);
  if (hello.version != kTcpVersion || hello.run.build != run.build)
    return who + " runs another build of foreshard";
  if (hello.run.ranks != run.ranks) {
    return who + " belongs to a run of " + std::to_string(hello.run.ranks) +
           " ranks, this one has " + std::to_string(run.ranks);
  }
  if (hello.rank < 1 || hello.rank >= run.ranks) return who + " is not a rank of this run";
  if (hello.run.job != run.job) {
    return who + " trains another job";
  }
  return "";
}

std::vector<std::byte> encode(const TcpAnswer& answer) {
  const bool is_refusal = !answer.refusal.empty();
  const std::size_t size = is_refusal ? std::min(answer.refusal.size(), kLongestReason)
                                      : answer.ranks.size() * sizeof(RawAddress);
  const RawAnswer header{kMagic, is_refusal ? 1U : 0U, static_cast<std::uint32_t>(size),
                         answer.token};
  std::vector<std::byte> out(kTcpAnswerHeader + size);
  std::memcpy(out.data(), &header, sizeof header);
  std::byte* to = out.data() + sizeof header;
  if (is_refusal) {
    std::memcpy(to, answer.refusal.data(), size);
    return out;
  }
  for (const TcpAddress& a : answer.ranks) {
    const RawAddress raw{static_cast<std::uint16_t>(a.family), a.port, a.bytes};
    std::memcpy(to, &raw, sizeof raw);
    to += sizeof raw;
  }
  return out;
}

Result<std::size_t> answer_size(std::span<const std::byte, kTcpAnswerHeader> header, int ranks) {
  const auto raw = read<RawAnswer>(header);
  if (raw.magic != kMagic || raw.is_refusal > 1) return no_answer();
  const std::size_t list = static_cast<std::size_t>(ranks) * sizeof(RawAddress);
  const bool is_right =
      raw.is_refusal == 1 ? raw.bytes > 0 && raw.bytes <= kLongestReason : raw.bytes == list;
  if (!is_right) return no_answer();
  return raw.bytes;
}

Result<TcpAnswer> decode_answer(std::span<const std::byte> bytes, int ranks) {
  if (bytes.size() < kTcpAnswerHeader) return no_answer();
  const auto size = answer_size(bytes.first<kTcpAnswerHeader>(), ranks);
  if (!size) return tl::unexpected(size.error());
  if (bytes.size() != kTcpAnswerHeader + *size) return no_answer();
  const auto raw = read<RawAnswer>(bytes);
  const auto body = bytes.subspan(kTcpAnswerHeader);
  TcpAnswer answer;
  answer.token = raw.token;
  if (raw.is_refusal == 1) {
    for (const std::byte b : body) {
      const char c = static_cast<char>(b);
      answer.refusal += c >= ' ' && c <= '~' ? c : '?';
    }
    return answer;
  }
  for (std::size_t at = 0; at < body.size(); at += sizeof(RawAddress)) {
    const auto a = read<RawAddress>(body.subspan(at));
    if (a.family != 0 && a.family != 4 && a.family != 6) return no_answer();
    answer.ranks.push_back({static_cast<TcpAddress::Family>(a.family), a.port, a.bytes});
  }
  return answer;
}

}  // namespace foreshard::executor

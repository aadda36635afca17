#include "executor/communication/tcp_frames.hpp"

#include <bit>
#include <cstring>

namespace foreshard::executor {
namespace {

static_assert(std::endian::native == std::endian::little, "frames are little-endian");

constexpr std::uint8_t kMark = 0xf5;

struct Raw {
  std::uint8_t mark, kind, channel, nothing;
  std::uint32_t bytes;
  std::uint64_t message;
  std::array<std::uint64_t, 3> words;
};
static_assert(sizeof(Raw) == kTcpHeader);

}  // namespace

TcpHeader encode(const TcpFrame& frame) {
  const Raw raw{kMark,
                static_cast<std::uint8_t>(frame.kind),
                static_cast<std::uint8_t>(frame.channel),
                0,
                frame.bytes,
                frame.message,
                frame.words};
  return std::bit_cast<TcpHeader>(raw);
}

std::optional<TcpFrame> decode(std::span<const std::byte, kTcpHeader> header) {
  Raw raw{};
  std::memcpy(&raw, header.data(), sizeof raw);
  if (raw.mark != kMark || raw.nothing != 0 || raw.channel >= kTcpChannels ||
      raw.kind > static_cast<std::uint8_t>(TcpFrame::Kind::taken) ||
      raw.message > kTcpLongestMessage) {
    return std::nullopt;
  }
  const TcpFrame frame{static_cast<TcpFrame::Kind>(raw.kind), raw.channel, raw.bytes, raw.message,
                       raw.words};
  if (frame.kind != TcpFrame::Kind::data) {
    return frame.bytes == 0 ? std::optional(frame) : std::nullopt;
  }
  const bool is_possible = frame.bytes <= kTcpLongestFrame && frame.bytes <= frame.message &&
                           (frame.bytes > 0 || frame.message == 0);
  return is_possible ? std::optional(frame) : std::nullopt;
}

}  // namespace foreshard::executor

// The frames of which a TCP connection between two processes of a run consists. A message is cut
// into data frames, so that a long one does not hold up those of other channels; one of more than
// kTcpEager bytes is sent only after a credit for it has come, which means that a buffer awaits it.
// To a process that can read the sender's memory such a message is lent instead of sent.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <stdexcept>

namespace foreshard::executor {

struct TcpFrame {
  enum class Kind : std::uint8_t {
    data,       // `bytes` of a message of `message` bytes follow
    credit,     // a buffer of `message` bytes awaits a message
    withdrawn,  // the message under way ends here, unfinished
    goodbye,    // nothing more will be sent, and nothing is needed
    abort,      // the sender ends the run; `message`: the rank to blame, perhaps itself
    readable,   // the memory of the sender, process `message`, may be read
    reads,      // the sender can read the memory of the receiver
    lent,       // a message of `message` bytes is to be read in the sender's memory
    taken,      // the loan of number `message` has been read, or is not needed
  };

  Kind kind = Kind::data;
  int channel = 0;
  std::uint32_t bytes = 0;
  std::uint64_t message = 0;
  // Of readable: its process space, an address and the word that lies there. Of lent: the address of
  // the data, and another one where the loan's number lies as long as it may be read, and the number.
  std::array<std::uint64_t, 3> words{};

  bool operator==(const TcpFrame&) const = default;
};

constexpr int kTcpChannels = 64;
constexpr std::size_t kTcpHeader = 40;               // bytes of a frame before its data
constexpr std::uint32_t kTcpLongestFrame = 1 << 20;  // bytes of data
constexpr std::uint64_t kTcpEager = 1 << 16;
constexpr std::uint64_t kTcpLongestMessage = std::uint64_t{1} << 48;

using TcpHeader = std::array<std::byte, kTcpHeader>;

TcpHeader encode(const TcpFrame& frame);
// Nothing where the bytes are no frame, or one that cannot be.
std::optional<TcpFrame> decode(std::span<const std::byte, kTcpHeader> header);

// A message on its way from or to memory of this process.
struct TcpMessage {
  std::byte* data = nullptr;  // only read where it is sent
  std::size_t size = 0;
  std::size_t moved = 0;   // bytes so far
  std::uint64_t loan = 0;  // not 0: another process may read the data; it looks here afterwards
};

// What came from the other process is not what this program would send.
class TcpProtocolError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace foreshard::executor

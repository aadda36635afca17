// Whatever arrives over a connection becomes messages or is refused; nothing is written outside the
// buffers that await messages, and what is kept for later has a limit.
#include <algorithm>
#include <cstdlib>

#include "executor/communication/tcp_incoming.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace foreshard::executor;
  TcpIncoming in;
  std::array<std::array<std::byte, 40>, 4> landed{};
  std::array<TcpMessage, 4> messages;
  for (std::size_t i = 0; i < messages.size(); ++i) {
    // Two of channel 1, an empty one, and one that is given up below.
    messages[i] = {landed[i].data(), i == 2 ? 0 : landed[i].size(), 0};
    in.await(i < 2 ? 1 : static_cast<int>(i), messages[i]);
  }
  auto rest = std::as_bytes(std::span(data, size));
  try {
    for (bool has_given_up = false; !rest.empty();) {
      const auto space = in.space();
      if (space.empty()) std::abort();
      const std::size_t n = std::min({space.size(), rest.size(), std::size_t{7}});
      std::copy_n(rest.begin(), n, space.begin());
      rest = rest.subspan(n);
      const auto arrival = in.arrived(n);
      if (arrival.completed != nullptr && arrival.completed->moved != arrival.completed->size) {
        std::abort();
      }
      if (!has_given_up && rest.size() < size / 2) {
        in.withdraw(3, messages[3]);
        has_given_up = true;
      }
    }
  } catch (const TcpProtocolError& error) {
    if (error.what()[0] == '\0') std::abort();
  }
  return 0;
}

// Whoever connects to a run's port may say anything: it is refused with a reason, or it is a hello or
// an answer that a process of this program could have sent.
#include <algorithm>
#include <cstdlib>

#include "executor/communication/tcp_handshake.hpp"

namespace {

using namespace foreshard::executor;

void check_hello(std::span<const std::byte> data) {
  const RunIdentity run{4, 0, 0};
  const auto bytes = data.first<kTcpHello>();
  const auto hello = decode_hello(bytes);
  if (!hello) return;
  const bool is_member = why_refused(*hello, run).empty();
  if (is_member && (hello->rank < 1 || hello->rank >= run.ranks)) std::abort();
  // All but the padding comes back.
  const auto again = encode(*hello);
  constexpr std::size_t kMeant = kTcpHello - 6;
  if (!std::ranges::equal(std::span(again).first(kMeant), bytes.first(kMeant))) std::abort();
}

void check_answer(std::span<const std::byte> data) {
  for (const int ranks : {1, 2, 5}) {
    const auto answer = decode_answer(data, ranks);
    if (!answer) {
      if (answer.error().message.empty()) std::abort();
      continue;
    }
    const bool is_refusal = !answer->refusal.empty();
    if (is_refusal == (answer->ranks.size() == static_cast<std::size_t>(ranks))) std::abort();
    if (std::ranges::any_of(answer->refusal, [](char c) { return c < ' ' || c > '~'; })) {
      std::abort();
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto bytes = std::as_bytes(std::span(data, size));
  if (size >= kTcpHello) check_hello(bytes);
  check_answer(bytes);
  return 0;
}

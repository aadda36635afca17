#include "executor/communication/tcp_incoming.hpp"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

namespace foreshard::executor {
namespace {

constexpr std::size_t kMaxEarlyBytes = std::size_t{16} << 20;  // bytes of all early messages
constexpr std::size_t kEarlyCost = 64;  // bytes that one takes besides its own
constexpr std::size_t kThrownAway = 1 << 16;

void check_sizes(std::size_t awaited, std::size_t came) {
  if (awaited == came) return;
  throw TcpProtocolError("a message of " + std::to_string(came) + " bytes arrived where " +
                         std::to_string(awaited) + " were expected");
}

}  // namespace

bool TcpIncoming::await(int number, TcpMessage& message) {
  Channel& to = channel(number);
  message.moved = 0;
  if (to.early.empty()) {
    to.awaited.push_back({&message, message.size});
    return false;
  }
  deliver(to.early.front(), message);
  to.early.pop_front();
  return true;
}

TcpMessage* TcpIncoming::deliver(const std::vector<std::byte>& early, TcpMessage& message) {
  check_sizes(message.size, early.size());
  if (!early.empty()) std::memcpy(message.data, early.data(), early.size());
  message.moved = message.size;
  early_bytes_ -= early.size() + kEarlyCost;
  return &message;
}

void TcpIncoming::withdraw(int number, TcpMessage& message) {
  Channel& from = channel(number);
  if (from.is_under_way && from.target.message == &message) from.target.message = nullptr;
  const auto found = std::ranges::find(from.awaited, &message, &Awaited::message);
  if (found == from.awaited.end()) return;
  if (found->size > kTcpEager) {
    found->message = nullptr;  // the other process has a credit for it
  } else {
    from.awaited.erase(found);
  }
}

bool TcpIncoming::awaits_anything_but(int number) const {
  const auto awaits = [](const Channel& channel) {
    return (channel.is_under_way && channel.target.message != nullptr) ||
           std::ranges::any_of(channel.awaited,
                               [](const Awaited& awaited) { return awaited.message != nullptr; });
  };
  for (int other = 0; other < kTcpChannels; ++other) {
    if (other != number && awaits(channels_[static_cast<std::size_t>(other)])) return true;
  }
  return false;
}

std::span<std::byte> TcpIncoming::space() {
  if (left_ == 0) return std::span(header_).subspan(in_header_);
  Channel& to = channel(frame_.channel);
  if (to.is_early) return std::span(to.arriving).subspan(to.moved, left_);
  if (to.target.message != nullptr) return {to.target.message->data + to.moved, left_};
  thrown_away_.resize(kThrownAway);
  return std::span(thrown_away_).first(std::min(left_, kThrownAway));
}

TcpIncoming::Arrival TcpIncoming::arrived(std::size_t bytes) {
  if (left_ == 0) {
    in_header_ += bytes;
    if (in_header_ < kTcpHeader) return {};
    in_header_ = 0;
    return take_header();
  }
  Channel& to = channel(frame_.channel);
  to.moved += bytes;
  left_ -= bytes;
  if (left_ > 0 || to.moved < to.size) return {};
  return {finish_message(to), std::nullopt};
}

TcpIncoming::Arrival TcpIncoming::take_header() {
  const auto frame = decode(header_);
  if (!frame) throw TcpProtocolError("it sent something that is not a message");
  Channel& to = channel(frame->channel);
  switch (frame->kind) {
    case TcpFrame::Kind::data:
      frame_ = *frame;
      begin(to, frame->message);
      left_ = frame->bytes;
      return {left_ == 0 ? finish_message(to) : nullptr, std::nullopt};
    case TcpFrame::Kind::withdrawn:
      if (!to.is_under_way)
        throw TcpProtocolError("it cancelled a message that it had not started");
      if (to.is_early) early_bytes_ -= to.size + kEarlyCost;
      to.is_under_way = to.is_early = false;
      return {};
    case TcpFrame::Kind::lent: return {nullptr, frame, next_awaited(to, frame->message).message};
    default: return {nullptr, frame};
  }
}

void TcpIncoming::begin(Channel& to, std::uint64_t size) {
  if (to.is_under_way) {
    check_sizes(to.size, size);
    if (frame_.bytes > to.size - to.moved) throw TcpProtocolError("a message is too long");
    return;
  }
  to.is_early = to.awaited.empty();
  if (to.is_early && size <= kTcpEager) {
    early_bytes_ += size + kEarlyCost;
    if (early_bytes_ > kMaxEarlyBytes)
      throw TcpProtocolError("too many unexpected messages arrived");
    to.arriving.assign(size, std::byte{0});
  } else {
    to.target = next_awaited(to, size);
  }
  to.is_under_way = true;
  to.size = size;
  to.moved = 0;
}

TcpIncoming::Awaited TcpIncoming::next_awaited(Channel& to, std::uint64_t size) {
  if (to.awaited.empty()) throw TcpProtocolError("an unexpected long message arrived");
  const Awaited next = to.awaited.front();
  check_sizes(next.size, size);
  to.awaited.pop_front();
  return next;
}

TcpMessage* TcpIncoming::finish_message(Channel& to) {
  to.is_under_way = false;
  if (to.is_early) {
    to.is_early = false;
    // Somebody may have begun to await it while it arrived.
    if (to.awaited.empty()) {
      to.early.push_back(std::move(to.arriving));
      return nullptr;
    }
    const Awaited first = to.awaited.front();
    to.awaited.pop_front();
    if (first.message != nullptr) return deliver(to.arriving, *first.message);
    throw TcpProtocolError("a short message arrived where a long one was expected");
  }
  if (to.target.message != nullptr) to.target.message->moved = to.size;
  return std::exchange(to.target.message, nullptr);
}

}  // namespace foreshard::executor

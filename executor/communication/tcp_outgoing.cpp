#include "executor/communication/tcp_outgoing.hpp"

#include <algorithm>

namespace foreshard::executor {
namespace {

constexpr std::uint64_t kMaxCredits = 1 << 20;

}  // namespace

void TcpOutgoing::add(int number, TcpMessage& message) {
  message.moved = 0;
  channel(number).messages.push_back(&message);
}

void TcpOutgoing::withdraw(int number, TcpMessage& message) {
  message.loan = 0;
  std::erase_if(loans_, [&](const Loan& loan) { return loan.message == &message; });
  auto& messages = channel(number).messages;
  const auto found = std::ranges::find(messages, &message);
  if (found == messages.end()) return;
  messages.erase(found);
  bool has_begun = message.moved > 0;
  if (current_.is_there && current_.message == &message) {
    keep_rest();
    has_begun = message.moved + current_.frame.bytes < message.size;
  }
  if (has_begun) add({TcpFrame::Kind::withdrawn, number, 0, 0});
}

void TcpOutgoing::add_credit(int number) {
  if (++channel(number).credits > kMaxCredits) {
    throw TcpProtocolError("it awaits more messages than there can be");
  }
}

TcpMessage* TcpOutgoing::taken(std::uint64_t number) {
  const auto found = std::ranges::find_if(
      loans_, [number](const Loan& loan) { return loan.message->loan == number; });
  if (found == loans_.end()) return nullptr;
  TcpMessage* const message = found->message;
  message->loan = 0;
  loans_.erase(found);
  return message;
}

void TcpOutgoing::end_with(const TcpFrame& frame) {
  for (Channel& channel : channels_) channel.messages.clear();
  if (current_.is_there && current_.message != nullptr) keep_rest();
  controls_.assign(1, frame);
}

bool TcpOutgoing::has_anything_but(int number) const {
  const auto is_other = [number](const Loan& loan) { return loan.channel != number; };
  if (std::ranges::any_of(loans_, is_other)) return true;
  for (int other = 0; other < kTcpChannels; ++other) {
    if (other != number && !channels_[static_cast<std::size_t>(other)].messages.empty())
      return true;
  }
  return false;
}

bool TcpOutgoing::may_go_on(const Channel& channel) const {
  if (channel.messages.empty()) return false;
  const TcpMessage& first = *channel.messages.front();
  return first.size <= kTcpEager || first.moved > 0 || channel.credits > 0;
}

void TcpOutgoing::begin_frame() {
  if (!controls_.empty()) {
    current_ = {controls_.front(), encode(controls_.front()), 0, true, nullptr};
    controls_.pop_front();
    return;
  }
  for (int i = 0; i < kTcpChannels; ++i) {
    const int number = (turn_ + i) % kTcpChannels;
    if (!may_go_on(channel(number))) continue;
    turn_ = (number + 1) % kTcpChannels;
    TcpMessage& message = *channel(number).messages.front();
    if (message.moved == 0 && message.size > kTcpEager) {
      --channel(number).credits;
      if (lends_) return begin_loan(number, message);
    }
    const auto bytes = static_cast<std::uint32_t>(
        std::min<std::size_t>(kTcpLongestFrame, message.size - message.moved));
    const TcpFrame frame{TcpFrame::Kind::data, number, bytes, message.size};
    current_ = {frame, encode(frame), 0, true, &message};
    return;
  }
}

void TcpOutgoing::begin_loan(int number, TcpMessage& message) {
  message.loan = ++last_loan_;
  channel(number).messages.pop_front();
  loans_.push_back({number, &message});
  const auto address = [](const void* of) { return reinterpret_cast<std::uint64_t>(of); };
  const TcpFrame frame{TcpFrame::Kind::lent,
                       number,
                       0,
                       message.size,
                       {address(message.data), address(&message.loan), message.loan}};
  current_ = {frame, encode(frame), 0, true, nullptr};
}

std::array<TcpOutgoing::Piece, 2> TcpOutgoing::next() {
  if (!current_.is_there) begin_frame();
  if (!current_.is_there) return {};
  const std::size_t in_header = std::min(current_.written, kTcpHeader);
  return {Piece(current_.header).subspan(in_header), data_left()};
}

TcpOutgoing::Piece TcpOutgoing::data_left() const {
  const std::size_t written = current_.written - std::min(current_.written, kTcpHeader);
  const std::size_t left = current_.frame.bytes - written;
  if (current_.message == nullptr) return Piece(rest_).last(left);
  return {current_.message->data + current_.message->moved + written, left};
}

// The other process has been promised the whole frame.
void TcpOutgoing::keep_rest() {
  const Piece left = data_left();
  rest_.assign(left.begin(), left.end());
  current_.message = nullptr;
}

TcpMessage* TcpOutgoing::sent(std::size_t bytes) {
  current_.written += bytes;
  if (current_.written < current_.size()) return nullptr;
  current_.is_there = false;
  TcpMessage* const message = current_.message;
  if (message == nullptr) return nullptr;
  message->moved += current_.frame.bytes;
  if (message->moved < message->size) return nullptr;
  channel(current_.frame.channel).messages.pop_front();
  return message;
}

}  // namespace foreshard::executor

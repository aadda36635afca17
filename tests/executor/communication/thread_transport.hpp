// Ranks as threads of a test that send each other messages within the process.
#pragma once

#include <algorithm>
#include <deque>
#include <map>
#include <mutex>
#include <numeric>
#include <thread>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>

#include "executor/communication/transport.hpp"

namespace foreshard::executor {

// The post office of a run whose ranks are threads.
struct PostOffice {
  using Address = std::tuple<int, int, int>;  // from, to, channel
  struct Receive {
    std::uint64_t id = 0;
    std::span<std::byte> data;
  };
  std::mutex mutex;
  std::map<Address, std::deque<std::vector<std::byte>>> messages;
  std::map<Address, std::deque<Receive>> receives;
  std::map<std::uint64_t, Address> open;
  std::map<Address, std::size_t> sent_bytes;  // ever
  std::uint64_t next = 1;

  void deliver(const Address& address) {
    auto& sent = messages[address];
    auto& awaited = receives[address];
    while (!sent.empty() && !awaited.empty()) {
      ASSERT_EQ(sent.front().size(), awaited.front().data.size());
      std::copy(sent.front().begin(), sent.front().end(), awaited.front().data.begin());
      open.erase(awaited.front().id);
      sent.pop_front();
      awaited.pop_front();
    }
  }
};

class ThreadTransport final : public Transport {
 public:
  ThreadTransport(PostOffice& office, int rank, int size)
      : office_(office), rank_(rank), size_(size) {}
  int rank() const override { return rank_; }
  int size() const override { return size_; }
  Ticket send(std::span<const std::byte> data, int to, int channel) override {
    EXPECT_LE(data.size(), kLongestMessage);
    const std::lock_guard lock(office_.mutex);
    office_.sent_bytes[{rank_, to, channel}] += data.size();
    office_.messages[{rank_, to, channel}].emplace_back(data.begin(), data.end());
    return {};
  }
  Ticket receive(std::span<std::byte> data, int from, int channel) override {
    const std::lock_guard lock(office_.mutex);
    const PostOffice::Address address{from, rank_, channel};
    const std::uint64_t id = office_.next++;
    office_.receives[address].push_back({id, data});
    office_.open[id] = address;
    return {id, false};
  }
  std::size_t test(std::span<Ticket> tickets) override {
    const std::lock_guard lock(office_.mutex);
    std::size_t left = 0;
    for (Ticket& ticket : tickets) {
      if (ticket.is_done) continue;
      if (office_.open.contains(ticket.handle)) office_.deliver(office_.open.at(ticket.handle));
      ticket.is_done = !office_.open.contains(ticket.handle);
      left += ticket.is_done ? 0 : 1;
    }
    return left;
  }
  void cancel(Ticket& ticket) override {
    const std::lock_guard lock(office_.mutex);
    if (!ticket.is_done)
      std::erase_if(office_.receives[office_.open.at(ticket.handle)],
                    [&](auto& r) { return r.id == ticket.handle; });
    ticket.is_done = true;
  }
  [[noreturn]] void abort(int) override { std::terminate(); }

 private:
  PostOffice& office_;
  const int rank_, size_;
};

template <typename Body>
void on_threads(int ranks, Body body) {
  std::vector<std::thread> threads;
  for (int rank = 0; rank < ranks; ++rank) threads.emplace_back([&body, rank] { body(rank); });
  for (auto& thread : threads) thread.join();
}

inline std::vector<int> first_ranks(int count) {
  std::vector<int> ranks(static_cast<std::size_t>(count));
  std::iota(ranks.begin(), ranks.end(), 0);
  return ranks;
}

}  // namespace foreshard::executor

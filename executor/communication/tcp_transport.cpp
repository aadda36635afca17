#include "executor/communication/tcp_transport.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <deque>
#include <exception>
#include <mutex>
#include <thread>

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "executor/communication/process_memory.hpp"
#include "executor/communication/tcp_peer.hpp"
#include "executor/device/start_thread.hpp"

namespace foreshard::executor {
namespace {

constexpr std::chrono::milliseconds kLastWords{500};

// Requests in use and for use again; their addresses stay.
class RequestPool {
 public:
  TcpRequest& take() {
    const std::lock_guard lock(mutex_);
    if (free_.empty()) return all_.emplace_back();
    TcpRequest* const request = free_.back();
    free_.pop_back();
    return *request;
  }
  void give_back(TcpRequest& request) {
    const std::lock_guard lock(mutex_);
    free_.push_back(&request);
  }

 private:
  std::mutex mutex_;
  std::deque<TcpRequest> all_;
  std::vector<TcpRequest*> free_;
};

class TcpTransport final : public Transport {
 public:
  TcpTransport(int rank, std::vector<Socket> sockets, bool lends_memory,
               Nanoseconds longest_silence)
      : rank_(rank),
        longest_silence_(longest_silence),
        peers_(sockets.size()),
        exceptions_(std::uncaught_exceptions()) {
    events_ = Socket(epoll_create1(EPOLL_CLOEXEC));
    alarm_ = Socket(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    if (!events_ || !alarm_) throw std::runtime_error("this process cannot wait for sockets");
    watch(alarm_.descriptor(), kAlarm, EPOLLIN);
    for (std::size_t r = 0; r < sockets.size(); ++r) {
      if (!sockets[r]) continue;
      peers_[r] = std::make_unique<TcpPeer>(std::move(sockets[r]));
      watch(peers_[r]->descriptor(), r, EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET);
    }
    thread_ = start_thread("the thread of the connections", [this] { serve(); });
    if (lends_memory) offer_memory();
  }

  ~TcpTransport() override {
    if (std::uncaught_exceptions() > exceptions_ || lost()) {
      say_last_words();
    } else {
      leave_together();
    }
    is_ending_ = true;
    const std::uint64_t one = 1;
    [[maybe_unused]] const ssize_t rung = write(alarm_.descriptor(), &one, sizeof one);
    thread_.join();
  }

  int rank() const override { return rank_; }
  int size() const override { return static_cast<int>(peers_.size()); }

  Ticket send(std::span<const std::byte> data, int to, int channel) override {
    // Outgoing messages are only read.
    TcpRequest& request =
        make_request({const_cast<std::byte*>(data.data()), data.size()}, to, channel, false);
    settle(peer(to), peer(to).send(request));
    return ticket_of(request, false);
  }

  Ticket receive(std::span<std::byte> data, int from, int channel) override {
    TcpRequest& request = make_request(data, from, channel, true);
    settle(peer(from), peer(from).receive(request));
    return ticket_of(request, true);
  }

  std::size_t test(std::span<Ticket> tickets) override {
    std::size_t left = 0;
    for (Ticket& ticket : tickets) {
      if (ticket.is_done) continue;
      TcpRequest& request = request_of(ticket);
      if (request.is_done.load(std::memory_order_acquire) ||
          (request.is_lent.load(std::memory_order_acquire) && take(request))) {
        finish(ticket);
      } else {
        ++left;
      }
    }
    return left;
  }

  void cancel(Ticket& ticket) override {
    if (ticket.is_done) return;
    TcpRequest& request = request_of(ticket);
    peer(request.peer).cancel(request);
    settle(peer(request.peer), peer(request.peer).write());
    finish(ticket);
  }

  const std::atomic<std::uint32_t>* changes(int channel) const override {
    return &changes_[static_cast<std::size_t>(channel)];
  }

  std::optional<Failure> lost() const override {
    if (!has_lost_.load(std::memory_order_acquire)) return std::nullopt;
    const std::lock_guard lock(mutex_);
    return lost_;
  }

  [[noreturn]] void abort(int exit_status) override {
    say_last_words();
    std::_Exit(exit_status);
  }

 private:
  static constexpr std::uint64_t kAlarm = ~std::uint64_t{0};

  TcpPeer& peer(int rank) { return *peers_[static_cast<std::size_t>(rank)]; }

  TcpRequest& make_request(std::span<std::byte> data, int peer, int channel, bool is_receive) {
    TcpRequest& request = pool_.take();
    request.data = data.data();
    request.size = data.size();
    request.peer = peer;
    request.channel = channel;
    request.is_receive = is_receive;
    request.is_done.store(false, std::memory_order_relaxed);
    request.lent = {};
    request.is_lent.store(false, std::memory_order_relaxed);
    return request;
  }
  bool take(TcpRequest& request) {
    TcpChannels completed;
    const bool has_come = peer(request.peer).take(request, completed);
    settle(peer(request.peer), completed);
    return has_come;
  }
  void offer_memory() {
    allow_reading();
    for (const auto& peer : peers_) {
      if (peer) settle(*peer, peer->offer_memory());
    }
  }
  static TcpRequest& request_of(const Ticket& ticket) {
    return *reinterpret_cast<TcpRequest*>(ticket.handle);
  }
  static Ticket ticket_of(TcpRequest& request, bool is_receive) {
    return {reinterpret_cast<std::uint64_t>(&request), false, is_receive};
  }
  void finish(Ticket& ticket) {
    pool_.give_back(request_of(ticket));
    ticket.is_done = true;
  }

  void watch(int descriptor, std::uint64_t what, std::uint32_t events) const {
    epoll_event event{};
    event.events = events;
    event.data.u64 = what;
    epoll_ctl(events_.descriptor(), EPOLL_CTL_ADD, descriptor, &event);
  }

  // After anything has moved on a connection: wakes those that wait for what was completed.
  void settle(const TcpPeer& peer, TcpChannels completed) {
    for (int channel = 0; !completed.is_empty() && channel < kTcpChannels; ++channel) {
      if (completed.contains(channel)) wake(channel);
    }
    if (peer.is_lost() && !has_lost_) note_loss();
  }

  void wake(int channel) {
    auto& word = changes_[static_cast<std::size_t>(channel)];
    word.fetch_add(1, std::memory_order_release);
    RunControl::wake(word);
  }

  // The first process that was lost is the one to blame.
  void note_loss() {
    {
      const std::lock_guard lock(mutex_);
      for (std::size_t r = 0; r < peers_.size() && !lost_; ++r) {
        if (!peers_[r]) continue;
        if (const auto loss = peers_[r]->loss()) lost_ = failure_of(r, *loss);
      }
      has_lost_.store(lost_.has_value(), std::memory_order_release);
    }
    for (int channel = 0; channel < kTcpChannels; ++channel) wake(channel);
    changed_.notify_all();
  }

  // A rank that ended the run because it lost another one passes the blame on.
  Failure failure_of(std::size_t rank, const TcpPeer::Loss& loss) const {
    const std::uint64_t blamed = loss.blamed.value_or(rank);
    if (blamed == rank || blamed >= peers_.size()) return {static_cast<int>(rank), loss.why};
    return {static_cast<int>(blamed),
            "was lost by rank " + std::to_string(rank) + ", which has ended the run"};
  }

  // Connections are reported when something about them changes, so each is read until it is empty.
  void serve() {
    std::array<epoll_event, 64> events;
    std::vector<std::size_t> unfinished, now;
    while (!is_ending_) {
      const int patience = unfinished.empty() ? -1 : 0;
      const int count = epoll_wait(events_.descriptor(), events.data(), events.size(), patience);
      now.swap(unfinished);
      unfinished.clear();
      for (int i = 0; i < count; ++i) {
        const auto what = events[static_cast<std::size_t>(i)].data.u64;
        if (what == kAlarm) continue;
        settle(*peers_[what], peers_[what]->write());
        if (std::ranges::find(now, what) == now.end()) now.push_back(what);
      }
      for (const std::size_t rank : now) {
        const auto read = peers_[rank]->read();
        settle(*peers_[rank], read.completed);
        if (read.has_more) unfinished.push_back(rank);
      }
      const std::lock_guard lock(mutex_);
      changed_.notify_all();
    }
  }

  // Every process sends a goodbye, so that nothing that was sent is lost; then one process after another
  // goes, and that of rank 0, which wrote the report, is the last one that a launcher sees end.
  void leave_together() {
    for (const auto& peer : peers_) {
      if (peer) settle(*peer, peer->say({TcpFrame::Kind::goodbye}));
    }
    std::unique_lock lock(mutex_);
    while (!may_leave()) {
      // A process that hangs now has nothing left to do for this one.
      if (changed_.wait_for(lock, longest_silence_) == std::cv_status::timeout) return;
    }
  }

  // With mutex_ held.
  bool may_leave() const {
    for (std::size_t r = 0; r < peers_.size() && !lost_; ++r) {
      if (!peers_[r] || peers_[r]->has_closed()) continue;
      const bool goes_before_us = r > static_cast<std::size_t>(rank_);
      if (goes_before_us || !peers_[r]->has_left() || peers_[r]->wants_to_write()) return false;
    }
    return true;
  }

  void say_last_words() {
    const auto failure = lost();
    const int blamed = failure ? failure->rank : rank_;
    const TcpFrame frame{TcpFrame::Kind::abort, 0, 0, static_cast<std::uint64_t>(blamed)};
    for (const auto& peer : peers_) {
      if (peer && !peer->has_closed()) settle(*peer, peer->say(frame, true));
    }
    const auto end = std::chrono::steady_clock::now() + kLastWords;
    const auto has_more = [](const auto& peer) { return peer && peer->wants_to_write(); };
    while (std::chrono::steady_clock::now() < end && std::ranges::any_of(peers_, has_more)) {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
  }

  const int rank_;
  const Nanoseconds longest_silence_;
  std::vector<std::unique_ptr<TcpPeer>> peers_;  // by rank; nullptr: this process
  const int exceptions_;                         // on their way when this was made
  RequestPool pool_;
  std::array<std::atomic<std::uint32_t>, kTcpChannels> changes_{};
  Socket events_, alarm_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::optional<Failure> lost_;
  std::atomic<bool> has_lost_{false}, is_ending_{false};
  std::thread thread_;
};

}  // namespace

Result<std::unique_ptr<Transport>> connect_by_tcp(const Rendezvous& rendezvous,
                                                  Nanoseconds longest_silence) {
  auto sockets = meet(rendezvous);
  if (!sockets) return tl::unexpected(sockets.error());
  return std::make_unique<TcpTransport>(rendezvous.rank, std::move(*sockets),
                                        rendezvous.lends_memory, longest_silence);
}

}  // namespace foreshard::executor

// Where the ranks of a communicator meet on the host: a piece of shared memory, found by the name
// that is in NCCL's id, so that ranks may be threads or processes.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>

namespace foreshard::host_nccl {

class Meeting {
 public:
  static constexpr std::size_t kSlot = 64 << 10;  // bytes that a rank shows at a time

  Meeting(const std::string& name, int size, int rank);
  ~Meeting();
  Meeting(const Meeting&) = delete;
  Meeting& operator=(const Meeting&) = delete;

  int size() const { return size_; }
  int rank() const { return rank_; }
  std::byte* slot(int rank) const { return slots_ + static_cast<std::size_t>(rank) * kSlot; }

  // Each waits until all ranks have come as often as this one; false: this rank has given up.
  bool attach(const std::string& place);  // "host GPU"
  bool connect();                         // before the first meeting
  bool meet();
  bool finish();
  // Two that have attached are at one place; until the first meeting.
  bool has_same_place() const;
  void give_up() { gave_up_ = true; }
  bool has_given_up() const { return gave_up_; }

 private:
  struct Counters {
    std::atomic<std::uint64_t> attached, connected, met, finished;
  };
  bool wait_for(const std::atomic<std::uint64_t>& counter, std::uint64_t count) const;

  const std::string name_;
  const int size_, rank_;
  std::size_t bytes_;
  Counters* counters_;
  std::byte* slots_;
  std::uint64_t times_ = 0;
  std::atomic<bool> gave_up_{false};
};

}  // namespace foreshard::host_nccl

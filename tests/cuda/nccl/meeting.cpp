#include "tests/cuda/nccl/meeting.hpp"

#include <chrono>
#include <cstring>
#include <set>
#include <stdexcept>
#include <thread>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

namespace foreshard::host_nccl {

Meeting::Meeting(const std::string& name, int size, int rank)
    : name_(name), size_(size), rank_(rank), bytes_(4096 + static_cast<std::size_t>(size) * kSlot) {
  const int file = shm_open(name.c_str(), O_CREAT | O_RDWR, 0600);
  void* memory = MAP_FAILED;
  if (file >= 0 && ftruncate(file, static_cast<off_t>(bytes_)) == 0) {
    memory = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  }
  if (file >= 0) close(file);
  if (memory == MAP_FAILED) throw std::runtime_error("no shared memory");
  counters_ = static_cast<Counters*>(memory);  // zeros
  slots_ = static_cast<std::byte*>(memory) + 4096;
}

Meeting::~Meeting() {
  munmap(counters_, bytes_);
  shm_unlink(name_.c_str());
}

bool Meeting::wait_for(const std::atomic<std::uint64_t>& counter, std::uint64_t count) const {
  while (counter < count) {
    if (gave_up_) return false;
    std::this_thread::sleep_for(std::chrono::microseconds(20));
  }
  return !gave_up_;
}

bool Meeting::meet() {
  ++counters_->met;
  return wait_for(counters_->met, ++times_ * static_cast<std::uint64_t>(size_));
}

// The name is free again as soon as all are there.
bool Meeting::attach(const std::string& place) {
  std::strcpy(reinterpret_cast<char*>(slot(rank_)), place.c_str());
  ++counters_->attached;
  if (!wait_for(counters_->attached, static_cast<std::uint64_t>(size_))) return false;
  shm_unlink(name_.c_str());
  return true;
}

bool Meeting::has_same_place() const {
  std::set<std::string> places;
  for (int rank = 0; rank < size_; ++rank) places.insert(reinterpret_cast<char*>(slot(rank)));
  return std::ssize(places) < size_;
}

bool Meeting::connect() {
  ++counters_->connected;
  return wait_for(counters_->connected, static_cast<std::uint64_t>(size_));
}

bool Meeting::finish() {
  ++counters_->finished;
  return wait_for(counters_->finished, static_cast<std::uint64_t>(size_));
}

}  // namespace foreshard::host_nccl

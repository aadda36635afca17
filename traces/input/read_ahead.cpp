#include "traces/input/read_ahead.hpp"

#include <algorithm>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <mutex>
#include <new>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace foreshard::traces {
namespace {

constexpr std::size_t kBlock = std::size_t{1} << 20;
constexpr std::size_t kBlocksAhead = 4;

class ReadAhead : public ByteSource {
 public:
  explicit ReadAhead(std::unique_ptr<ByteSource> from)
      : from_(std::move(from)), thread_([this] { run(); }) {}
  ReadAhead(const ReadAhead&) = delete;
  ReadAhead& operator=(const ReadAhead&) = delete;
  ~ReadAhead() override {
    {
      const std::lock_guard lock(mutex_);
      is_stopped_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }

  std::size_t read(char* to, std::size_t room) override {
    std::size_t size = 0;
    while (size < room && (taken_ < block_.size() || next_block())) {
      const std::size_t part = std::min(room - size, block_.size() - taken_);
      std::copy_n(block_.data() + taken_, part, to + size);
      size += part;
      taken_ += part;
    }
    return size;
  }

  std::string incomplete_reason() const override {
    const std::lock_guard lock(mutex_);
    return incomplete_reason_;
  }

 private:
  bool next_block() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return !blocks_.empty() || is_at_end_; });
    if (blocks_.empty()) return false;
    spare_.push_back(std::exchange(block_, std::move(blocks_.front())));
    blocks_.pop_front();
    taken_ = 0;
    changed_.notify_all();
    return true;
  }

  void run() {
    try {
      while (read_block()) {
      }
    } catch (const std::bad_alloc&) {
      finish("out of memory while reading it");
    }
  }

  bool read_block() {
    std::vector<char> block;
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [this] { return blocks_.size() < kBlocksAhead || is_stopped_; });
      if (is_stopped_) return false;
      if (!spare_.empty()) {
        block = std::move(spare_.back());
        spare_.pop_back();
      }
    }
    block.resize(kBlock);
    block.resize(from_->read(block.data(), kBlock));
    const bool is_last = block.size() < kBlock;
    {
      const std::lock_guard lock(mutex_);
      if (!block.empty()) blocks_.push_back(std::move(block));
    }
    if (is_last) {
      finish(from_->incomplete_reason());
    } else {
      changed_.notify_all();
    }
    return !is_last;
  }

  void finish(std::string incomplete_reason) {
    {
      const std::lock_guard lock(mutex_);
      incomplete_reason_ = std::move(incomplete_reason);
      is_at_end_ = true;
    }
    changed_.notify_all();
  }

  std::unique_ptr<ByteSource> from_;
  std::vector<char> block_;  // being taken from
  std::size_t taken_ = 0;
  mutable std::mutex mutex_;  // guards what follows
  std::condition_variable changed_;
  std::deque<std::vector<char>> blocks_;
  std::vector<std::vector<char>> spare_;
  std::string incomplete_reason_;
  bool is_at_end_ = false;
  bool is_stopped_ = false;
  std::thread thread_;  // last: it uses all of the above
};

}  // namespace

std::unique_ptr<ByteSource> read_ahead(std::unique_ptr<ByteSource> from) {
  return std::make_unique<ReadAhead>(std::move(from));
}

}  // namespace foreshard::traces

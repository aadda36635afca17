#include "traces/input/byte_source.hpp"

#include <algorithm>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <memory>
#include <mutex>
#include <new>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <zlib.h>

#include "models/base/input_file.hpp"

namespace foreshard::traces {
namespace {

// Reads a source in a thread of its own, a few blocks ahead of whoever takes its bytes.

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

std::unique_ptr<ByteSource> read_ahead(std::unique_ptr<ByteSource> from) {
  return std::make_unique<ReadAhead>(std::move(from));
}

// Recordings compress to between a tenth and a fiftieth. Deflate can do a thousandth, of nothing.
constexpr std::int64_t kBombSize = std::int64_t{1} << 26;
constexpr std::int64_t kBombRatio = 250;

class Memory : public ByteSource {
 public:
  explicit Memory(std::string_view data) : rest_(data) {}

  std::size_t read(char* to, std::size_t room) override {
    const std::size_t size = std::min(room, rest_.size());
    std::copy_n(rest_.data(), size, to);
    rest_.remove_prefix(size);
    return size;
  }

 private:
  std::string_view rest_;
};

class File : public ByteSource {
 public:
  File(InputFile file, OnRead on_read) : file_(std::move(file)), on_read_(std::move(on_read)) {}

  std::size_t read(char* to, std::size_t room) override {
    if (is_ended_) return 0;
    const std::size_t size = file_.read(to, room);
    is_ended_ = on_read_ && !on_read_(size);
    return is_ended_ ? 0 : size;
  }
  std::string incomplete_reason() const override { return file_.trouble(); }

 private:
  InputFile file_;
  OnRead on_read_;
  bool is_ended_ = false;
};

class Inflated : public ByteSource {
 public:
  explicit Inflated(std::unique_ptr<ByteSource> from) : from_(std::move(from)), input_(1 << 16) {
    refill();
    constexpr int kGzipOnly = 16;
    is_gzip_ = stream_.avail_in >= 2 && input_[0] == '\x1f' && input_[1] == '\x8b';
    if (is_gzip_ && inflateInit2(&stream_, MAX_WBITS + kGzipOnly) != Z_OK) throw std::bad_alloc();
  }
  Inflated(const Inflated&) = delete;
  Inflated& operator=(const Inflated&) = delete;
  ~Inflated() override {
    if (is_gzip_) inflateEnd(&stream_);
  }

  std::size_t read(char* to, std::size_t room) override {
    std::size_t size = is_gzip_ ? inflate_into(to, room) : copy_into(to, room);
    written_ += static_cast<std::int64_t>(size);
    if (is_gzip_ && written_ > kBombSize && written_ / kBombRatio > read_) {
      incomplete_reason_ =
          "inflates to more than " + std::to_string(kBombRatio) + " times its size";
      size = 0;
    }
    return size;
  }

  std::string incomplete_reason() const override {
    return incomplete_reason_.empty() ? from_->incomplete_reason() : incomplete_reason_;
  }

 private:
  bool refill() {
    const std::size_t size = from_->read(input_.data(), input_.size());
    stream_.next_in = reinterpret_cast<Bytef*>(input_.data());
    stream_.avail_in = static_cast<uInt>(size);
    read_ += static_cast<std::int64_t>(size);
    return size > 0;
  }

  std::size_t copy_into(char* to, std::size_t room) {
    const std::size_t size = std::min<std::size_t>(room, stream_.avail_in);
    std::copy_n(reinterpret_cast<const char*>(stream_.next_in), size, to);
    stream_.next_in += size;
    stream_.avail_in -= static_cast<uInt>(size);
    return size + (size < room ? from_->read(to + size, room - size) : 0);
  }

  std::size_t inflate_into(char* to, std::size_t room) {
    stream_.next_out = reinterpret_cast<Bytef*>(to);
    stream_.avail_out = static_cast<uInt>(room);
    while (stream_.avail_out > 0 && !is_over_) {
      if (stream_.avail_in == 0 && !refill()) {
        is_over_ = true;
        if (is_in_member_) incomplete_reason_ = "the compressed data is truncated";
        break;
      }
      const int status = inflate(&stream_, Z_NO_FLUSH);
      is_in_member_ = status != Z_STREAM_END;
      if (status == Z_STREAM_END) {
        inflateReset(&stream_);  // another member may follow
      } else if (status != Z_OK && status != Z_BUF_ERROR) {
        is_over_ = true;
        incomplete_reason_ = "the compressed data is damaged";
      }
    }
    return room - stream_.avail_out;
  }

  std::unique_ptr<ByteSource> from_;
  std::vector<char> input_;
  z_stream stream_{};
  bool is_gzip_ = false;
  bool is_in_member_ = true;
  bool is_over_ = false;
  std::int64_t read_ = 0, written_ = 0;
  std::string incomplete_reason_;
};

// A file's content, inflated.
Result<std::unique_ptr<ByteSource>> open_file(const std::string& path, const std::string& expected,
                                              OnRead on_read = {}) {
  auto file = InputFile::open(path, expected);
  if (!file) return tl::unexpected(file.error());
  return inflated(std::make_unique<File>(std::move(*file), std::move(on_read)));
}

}  // namespace

std::unique_ptr<ByteSource> bytes_in_memory(std::string_view data) {
  return std::make_unique<Memory>(data);
}

std::unique_ptr<ByteSource> inflated(std::unique_ptr<ByteSource> compressed) {
  return std::make_unique<Inflated>(std::move(compressed));
}

Result<std::unique_ptr<ByteSource>> open_bytes(const std::string& path, const std::string& expected,
                                               OnRead on_read) {
  auto file = open_file(path, expected, std::move(on_read));
  if (!file) return file;
  return read_ahead(std::move(*file));
}

Result<std::string> first_bytes(const std::string& path, std::size_t most,
                                const std::string& expected) {
  const auto file = open_file(path, expected);
  if (!file) return tl::unexpected(file.error());
  std::string bytes(most, '\0');
  bytes.resize((*file)->read(bytes.data(), most));
  return bytes;
}

}  // namespace foreshard::traces

#include "traces/kineto/bytes.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <new>
#include <system_error>
#include <utility>
#include <vector>

#include <zlib.h>

#include "traces/kineto/read_ahead.hpp"

namespace foreshard::traces::kineto {
namespace {

// Recordings compress to between a tenth and a fiftieth. Deflate can do a thousandth, of nothing.
constexpr std::int64_t kBombSize = std::int64_t{1} << 26;
constexpr std::int64_t kBombRatio = 250;

class Memory : public Bytes {
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

class File : public Bytes {
 public:
  explicit File(std::FILE* file) : file_(file) { std::setvbuf(file, nullptr, _IONBF, 0); }

  std::size_t read(char* to, std::size_t room) override {
    const std::size_t size = std::fread(to, 1, room, file_.get());
    if (size < room && std::ferror(file_.get()) != 0) {
      trouble_ = std::string("cannot be read further (") + std::strerror(errno) + ")";
    }
    return size;
  }

  std::string trouble() const override { return trouble_; }

 private:
  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  std::unique_ptr<std::FILE, Close> file_;
  std::string trouble_;
};

class Inflated : public Bytes {
 public:
  explicit Inflated(std::unique_ptr<Bytes> from) : from_(std::move(from)), input_(1 << 16) {
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
      trouble_ = "inflates to more than " + std::to_string(kBombRatio) + " times its size";
      size = 0;
    }
    return size;
  }

  std::string trouble() const override { return trouble_.empty() ? from_->trouble() : trouble_; }

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
        if (is_in_member_) trouble_ = "the compressed data is cut off";
        break;
      }
      const int status = inflate(&stream_, Z_NO_FLUSH);
      is_in_member_ = status != Z_STREAM_END;
      if (status == Z_STREAM_END) {
        inflateReset(&stream_);  // another member may follow
      } else if (status != Z_OK && status != Z_BUF_ERROR) {
        is_over_ = true;
        trouble_ = "the compressed data is damaged";
      }
    }
    return room - stream_.avail_out;
  }

  std::unique_ptr<Bytes> from_;
  std::vector<char> input_;
  z_stream stream_{};
  bool is_gzip_ = false;
  bool is_in_member_ = true;
  bool is_over_ = false;
  std::int64_t read_ = 0, written_ = 0;
  std::string trouble_;
};

}  // namespace

std::unique_ptr<Bytes> bytes_in_memory(std::string_view data) {
  return std::make_unique<Memory>(data);
}

std::unique_ptr<Bytes> inflated(std::unique_ptr<Bytes> compressed) {
  return std::make_unique<Inflated>(std::move(compressed));
}

Result<std::unique_ptr<Bytes>> open_file(const std::string& path) {
  std::error_code error;
  if (std::filesystem::is_directory(path, error)) {
    return fail(path, "", "is a folder; expected a recording");
  }
  std::FILE* file = std::fopen(path.c_str(), "rb");
  if (file == nullptr) {
    return fail(path, "",
                std::string("cannot be opened (") + std::strerror(errno) +
                    "); expected a recording of PyTorch's profiler");
  }
  return read_ahead(inflated(std::make_unique<File>(file)));
}

}  // namespace foreshard::traces::kineto

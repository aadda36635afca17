#include "executor/data/stored_zip.hpp"

#include <algorithm>
#include <optional>

#include <zlib.h>

namespace foreshard::executor {
namespace {

constexpr std::uint32_t kFileHeader = 0x04034b50, kEntryHeader = 0x02014b50, kEnd = 0x06054b50,
                        kEnd64 = 0x06064b50, kEnd64Locator = 0x07064b50;
constexpr std::uint64_t kFileHeaderSize = 30, kEntryHeaderSize = 46, kEndSize = 22, kEnd64Size = 56,
                        kLocatorSize = 20;
constexpr std::uint64_t kIn64 = 0xffffffff;  // stands for what the ZIP64 field says
constexpr std::uint64_t kAlignment = 64;
constexpr std::uint64_t kVersion = 45, kUtf8Names = 0x0800;
constexpr std::uint64_t kZip64Field = 1, kPaddingField = 0x4246;  // "FB", which PyTorch pads with

void put(std::string& to, std::uint64_t value, int bytes) {
  for (int i = 0; i < bytes; ++i) to += static_cast<char>(value >> (8 * i) & 0xff);
}

std::uint64_t number(std::span<const std::byte> bytes, std::uint64_t at, int count) {
  std::uint64_t value = 0;
  for (int i = count; i-- > 0;) {
    value = value << 8 | std::to_integer<std::uint64_t>(bytes[at + static_cast<std::uint64_t>(i)]);
  }
  return value;
}

// Where the entries are, of which there are so many.
struct Directory {
  std::uint64_t offset = 0, size = 0, count = 0;
};

class ZipReader {
 public:
  explicit ZipReader(std::span<const std::byte> archive) : bytes_(archive) {}

  std::optional<std::map<std::string, std::span<const std::byte>>> files() {
    const auto directory = find_directory();
    if (!directory || !has(directory->offset, directory->size)) return std::nullopt;
    std::map<std::string, std::span<const std::byte>> found;
    std::uint64_t at = directory->offset;
    for (std::uint64_t i = 0; i < directory->count; ++i) {
      if (!has(at, kEntryHeaderSize) || number(bytes_, at, 4) != kEntryHeader) return std::nullopt;
      const std::uint64_t name = number(bytes_, at + 28, 2), extra = number(bytes_, at + 30, 2),
                          comment = number(bytes_, at + 32, 2);
      if (!has(at + kEntryHeaderSize, name + extra + comment)) return std::nullopt;
      const auto data = data_of(at, at + kEntryHeaderSize + name, extra);
      if (!data) return std::nullopt;
      const auto* text = reinterpret_cast<const char*>(bytes_.data() + at + kEntryHeaderSize);
      found.emplace(std::string(text, name), *data);
      at += kEntryHeaderSize + name + extra + comment;
    }
    return found;
  }

 private:
  bool has(std::uint64_t at, std::uint64_t count) const {
    return at <= bytes_.size() && count <= bytes_.size() - at;
  }

  std::optional<Directory> find_directory() const {
    if (bytes_.size() < kEndSize) return std::nullopt;
    constexpr std::uint64_t kLongestComment = 0xffff;
    const std::uint64_t last = bytes_.size() - kEndSize;
    const std::uint64_t first = last - std::min(last, kLongestComment);
    for (std::uint64_t at = last + 1; at-- > first;) {
      if (number(bytes_, at, 4) != kEnd) continue;
      Directory found{number(bytes_, at + 16, 4), number(bytes_, at + 12, 4),
                      number(bytes_, at + 10, 2)};
      if (at < kLocatorSize || number(bytes_, at - kLocatorSize, 4) != kEnd64Locator) return found;
      const std::uint64_t end = number(bytes_, at - kLocatorSize + 8, 8);
      if (!has(end, kEnd64Size) || number(bytes_, end, 4) != kEnd64) return std::nullopt;
      return Directory{number(bytes_, end + 48, 8), number(bytes_, end + 40, 8),
                       number(bytes_, end + 32, 8)};
    }
    return std::nullopt;
  }

  // Of the entry at `at`, whose extra fields begin at `extra`.
  std::optional<std::span<const std::byte>> data_of(std::uint64_t at, std::uint64_t extra,
                                                    std::uint64_t extra_size) const {
    std::uint64_t packed = number(bytes_, at + 20, 4), size = number(bytes_, at + 24, 4),
                  offset = number(bytes_, at + 42, 4);
    for (std::uint64_t end = extra + extra_size; extra + 4 <= end;) {
      const std::uint64_t kind = number(bytes_, extra, 2), length = number(bytes_, extra + 2, 2);
      if (extra + 4 + length > end) return std::nullopt;
      std::uint64_t field = extra + 4;
      for (std::uint64_t* value : {&size, &packed, &offset}) {
        if (kind != kZip64Field || *value != kIn64) continue;
        if (field + 8 > extra + 4 + length) return std::nullopt;
        *value = number(bytes_, field, 8);
        field += 8;
      }
      extra += 4 + length;
    }
    const bool is_stored = number(bytes_, at + 10, 2) == 0 && packed == size;
    if (!is_stored || !has(offset, kFileHeaderSize) || number(bytes_, offset, 4) != kFileHeader) {
      return std::nullopt;
    }
    const std::uint64_t data =
        offset + kFileHeaderSize + number(bytes_, offset + 26, 2) + number(bytes_, offset + 28, 2);
    if (!has(data, size)) return std::nullopt;
    return bytes_.subspan(data, size);
  }

  std::span<const std::byte> bytes_;
};

}  // namespace

std::string StoredZipWriter::begin_file(const std::string& name, std::span<const std::byte> data) {
  const auto* bytes = reinterpret_cast<const Bytef*>(data.data());
  const auto checksum = static_cast<std::uint32_t>(::crc32_z(0, bytes, data.size()));
  const std::uint64_t size = data.size();
  entries_.push_back({name, at_, size, checksum});
  std::string extra;
  if (size >= kIn64) {
    put(extra, kZip64Field, 2), put(extra, 16, 2), put(extra, size, 8), put(extra, size, 8);
  }
  const std::uint64_t begin = at_ + kFileHeaderSize + name.size() + extra.size() + 4;
  const std::uint64_t padding = (kAlignment - begin % kAlignment) % kAlignment;
  put(extra, kPaddingField, 2), put(extra, padding, 2), extra.append(padding, 'Z');
  const std::uint64_t size32 = std::min(size, kIn64);
  std::string header;
  put(header, kFileHeader, 4), put(header, kVersion, 2), put(header, kUtf8Names, 2);
  put(header, 0, 6);  // stored; no time
  put(header, checksum, 4), put(header, size32, 4), put(header, size32, 4);
  put(header, name.size(), 2), put(header, extra.size(), 2);
  header += name + extra;
  at_ += header.size() + size;
  return header;
}

std::string StoredZipWriter::file(const std::string& name, std::string_view text) {
  return begin_file(name, std::as_bytes(std::span(text))) + std::string(text);
}

std::string StoredZipWriter::finish() {
  std::string end;
  for (const Entry& e : entries_) {
    std::string extra;
    if (e.size >= kIn64) put(extra, e.size, 8), put(extra, e.size, 8);
    if (e.offset >= kIn64) put(extra, e.offset, 8);
    const std::uint64_t length = extra.size();
    put(end, kEntryHeader, 4), put(end, kVersion, 2), put(end, kVersion, 2);
    put(end, kUtf8Names, 2), put(end, 0, 6), put(end, e.checksum, 4);
    put(end, std::min(e.size, kIn64), 4), put(end, std::min(e.size, kIn64), 4);
    put(end, e.name.size(), 2), put(end, length == 0 ? 0 : length + 4, 2);
    end.append(10, '\0');  // no comment, first disk, no attributes
    put(end, std::min(e.offset, kIn64), 4);
    end += e.name;
    if (length > 0) put(end, kZip64Field, 2), put(end, length, 2), end += extra;
  }
  const std::uint64_t size = end.size(), count = entries_.size();
  if (at_ >= kIn64) {
    put(end, kEnd64, 4), put(end, kEnd64Size - 12, 8), put(end, kVersion, 2), put(end, kVersion, 2);
    put(end, 0, 8), put(end, count, 8), put(end, count, 8), put(end, size, 8), put(end, at_, 8);
    put(end, kEnd64Locator, 4), put(end, 0, 4), put(end, at_ + size, 8), put(end, 1, 4);
  }
  put(end, kEnd, 4), put(end, 0, 4), put(end, count, 2), put(end, count, 2);
  put(end, size, 4), put(end, std::min(at_, kIn64), 4), put(end, 0, 2);
  at_ += end.size();
  return end;
}

Result<std::map<std::string, std::span<const std::byte>>> read_stored_zip(
    std::span<const std::byte> archive, const std::string& file, const std::string& field) {
  auto files = ZipReader(archive).files();
  if (files) return std::move(*files);
  return fail(file, field, "is no whole archive of torch.save; expected a zip without compression");
}

}  // namespace foreshard::executor

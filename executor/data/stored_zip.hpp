// Zip archives of files that are not compressed, as torch.save writes them. The format: PKWARE's
// APPNOTE.TXT 6.3.10; sizes and places beyond 4 GiB are those of its ZIP64 extension.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "models/base/error.hpp"

namespace foreshard::executor {

// Makes an archive whose data need never be in memory at one time: what it gives is to be written, each
// part behind the one before.
class StoredZipWriter {
 public:
  // What goes before a file's data. These begin at a multiple of 64 bytes from the start of the archive.
  std::string begin_file(const std::string& name, std::span<const std::byte> data);
  // A small file at once.
  std::string file(const std::string& name, std::string_view text);
  // What goes behind the last file's data.
  std::string finish();

 private:
  struct Entry {
    std::string name;
    std::uint64_t offset = 0, size = 0;
    std::uint32_t checksum = 0;
  };

  std::vector<Entry> entries_;
  std::uint64_t at_ = 0;
};

// The files of an archive by name; their data point into `archive`, and their checksums are not looked
// at. `file` and `field` name it in errors.
Result<std::map<std::string, std::span<const std::byte>>> read_stored_zip(
    std::span<const std::byte> archive, const std::string& file, const std::string& field);

}  // namespace foreshard::executor

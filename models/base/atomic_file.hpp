// Writes a file so that its name only ever shows whole contents: the bytes go to a new file in the
// same folder, under an unguessable name and through no link, reach the disk, and are then
// renamed over the name. A full disk or a killed process leaves what stood there before.
//
// A link under the name is replaced, not followed. Devices, pipes and descriptors (/dev/null, a FIFO,
// /dev/stdout or -, /dev/fd/3) cannot be replaced: they are written to as the bytes come, and what the
// reader of a pipe no longer takes is lost without an error.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <iosfwd>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "models/base/error.hpp"

namespace foreshard {

class AtomicFile {
 public:
  // Fails where `path` is a folder or a file that must not be written, and where none can be made
  // beside it.
  static Result<AtomicFile> create(const std::string& path);

  AtomicFile(AtomicFile&& other) noexcept;
  AtomicFile& operator=(AtomicFile&& other) noexcept;
  ~AtomicFile();  // without commit(): the temporary file goes, and the name shows what it did

  bool is_replacing() const { return !temporary_.empty(); }  // not is_written_through(path)
  // The file to write, for libraries that open files themselves; they must be done before commit().
  const std::string& temporary() const { return temporary_; }

  // Before the first write, of a large file that nobody reads soon: its bytes go past the page cache, where
  // the file system can do so, which spares the processor a copy. They are collected in pieces of 4 MiB.
  void pass_by_cache();

  Result<void> write(std::span<const std::byte> bytes);
  Result<void> write(std::string_view text) { return write(std::as_bytes(std::span(text))); }

  // Once, after the last write.
  Result<void> commit();

 private:
  AtomicFile(std::string path, std::string temporary, int descriptor);
  void abandon();
  Result<void> write_out(std::span<const std::byte> bytes);
  Result<void> end_direct();

  std::string path_;
  std::string temporary_;
  int descriptor_ = -1;

  struct Freed {
    void operator()(std::byte* memory) const { std::free(memory); }
  };
  std::unique_ptr<std::byte, Freed> collected_;  // aligned, where the cache is passed by
  std::size_t filled_ = 0;                       // bytes of it
};

// A whole file at once, or by a stream; what the producer writes after a failure is lost, and the
// failure is returned.
Result<void> write_atomically(const std::string& path, std::string_view text);
Result<void> write_atomically(const std::string& path,
                              const std::function<void(std::ostream& out)>& produce);

// Whether the name stands for a device, a pipe or a descriptor, which cannot be replaced.
bool is_written_through(const std::string& path);

// Which file a name or a descriptor stands for, whatever becomes of the name; a link is itself.
struct FileIdentity {
  std::uint64_t device = 0, number = 0;
  bool operator==(const FileIdentity&) const = default;
};
std::optional<FileIdentity> identity_of(const std::string& path);
std::optional<FileIdentity> identity_of(int descriptor);

// Makes a rename or a new entry in this folder survive a power failure.
Result<void> sync_folder(const std::string& folder);

// The folder that holds `path`; "." for a bare name.
std::string parent_folder(const std::string& path);

}  // namespace foreshard

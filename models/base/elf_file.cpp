#include "models/base/elf_file.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string_view>

#include <elf.h>

#include "models/base/mapped_file.hpp"

namespace foreshard {
namespace {

// A file, in which every place is checked before it is read.
class ElfFile {
 public:
  explicit ElfFile(std::span<const std::byte> bytes) : bytes_(bytes) {
    const auto header = at<Elf64_Ehdr>(0);
    if (!header || std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 ||
        header->e_ident[EI_CLASS] != ELFCLASS64) {
      return;
    }
    processor = header->e_machine;
    for (std::uint64_t i = 0; i < header->e_phnum; ++i) {
      const auto segment = at<Elf64_Phdr>(header->e_phoff + i * header->e_phentsize);
      if (segment) segments_.push_back(*segment);
    }
  }

  std::optional<Elf64_Half> processor;  // nothing: it is no such file

  std::vector<Elf64_Dyn> dynamic_section() const {
    std::vector<Elf64_Dyn> entries;
    for (const Elf64_Phdr& segment : segments_) {
      if (segment.p_type != PT_DYNAMIC) continue;
      for (std::uint64_t place = 0; place < segment.p_filesz; place += sizeof(Elf64_Dyn)) {
        const auto entry = at<Elf64_Dyn>(segment.p_offset + place);
        if (!entry || entry->d_tag == DT_NULL) break;
        entries.push_back(*entry);
      }
    }
    return entries;
  }

  // What is at an address once the file is loaded.
  std::optional<std::uint64_t> offset_of(std::uint64_t address) const {
    for (const Elf64_Phdr& segment : segments_) {
      if (segment.p_type == PT_LOAD && address >= segment.p_vaddr &&
          address - segment.p_vaddr < segment.p_filesz) {
        return segment.p_offset + (address - segment.p_vaddr);
      }
    }
    return {};
  }

  std::string text_at(std::uint64_t offset) const {
    if (offset >= bytes_.size()) return {};
    const auto rest = bytes_.subspan(offset);
    const auto end = std::ranges::find(rest, std::byte{0});
    return {reinterpret_cast<const char*>(rest.data()),
            static_cast<std::size_t>(end - rest.begin())};
  }

 private:
  template <typename T>
  std::optional<T> at(std::uint64_t offset) const {
    if (offset > bytes_.size() || bytes_.size() - offset < sizeof(T)) return {};
    T value;
    std::memcpy(&value, bytes_.data() + offset, sizeof value);
    return value;
  }

  std::span<const std::byte> bytes_;
  std::vector<Elf64_Phdr> segments_;
};

}  // namespace

std::vector<std::string> needed_libraries(const std::string& path) {
  const auto mapped = MappedFile::open(path, "a shared library");
  if (!mapped) return {};
  const ElfFile file(mapped->bytes());
  const auto entries = file.dynamic_section();
  const auto names = std::ranges::find(entries, DT_STRTAB, &Elf64_Dyn::d_tag);
  if (names == entries.end()) return {};
  const auto first = file.offset_of(names->d_un.d_ptr);
  std::vector<std::string> needed;
  for (const Elf64_Dyn& entry : entries) {
    if (first && entry.d_tag == DT_NEEDED) {
      needed.push_back(file.text_at(*first + entry.d_un.d_val));
    }
  }
  return needed;
}

bool is_for_another_processor(const std::string& path) {
  const auto mapped = MappedFile::open(path, "a shared library"),
             own = MappedFile::open("/proc/self/exe", "this program");
  if (!mapped || !own) return false;
  const auto processor = ElfFile(mapped->bytes()).processor;
  return processor && processor != ElfFile(own->bytes()).processor;
}

}  // namespace foreshard

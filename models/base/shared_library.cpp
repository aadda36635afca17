#include "models/base/shared_library.hpp"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include <dlfcn.h>
#include <link.h>

#include "models/base/elf_file.hpp"
#include "models/base/library_folders.hpp"

namespace foreshard {
namespace {

namespace fs = std::filesystem;

std::string path_of(void* handle) {
  const link_map* map = nullptr;
  return dlinfo(handle, RTLD_DI_LINKMAP, &map) == 0 ? map->l_name : "";
}

bool is_there(const fs::path& path) {
  std::error_code unreadable;
  return fs::exists(path, unreadable);
}

// One search, with everything that the dynamic linker refuses on the way.
class Search {
 public:
  explicit Search(SharedLibrary::Symbols symbols)
      : mode_(RTLD_NOW | (symbols == SharedLibrary::Symbols::global ? RTLD_GLOBAL : RTLD_LOCAL)) {}

  void* by_name(const std::string& name) {
    if (void* const loaded = dlopen(name.c_str(), mode_ | RTLD_NOLOAD)) return loaded;
    if (void* const found = in_place(named_, name)) return found;
    if (void* const found = open(name)) return found;
    if (!installed_) installed_ = installed_library_folders();
    for (const LibraryPlace& place : *installed_) {
      if (void* const found = in_place(place, name)) return found;
    }
    return nullptr;
  }

  // The dynamic linker comes first here, as a module of ours may say where its libraries are (RUNPATH).
  void* by_path(const std::string& path) {
    if (!opening_.insert(path).second) return nullptr;  // it needs itself
    const std::vector<std::string> needed = needed_libraries(path);
    for (const std::string& name : needed) {
      if (!is_loaded(name)) in_place(named_, name);
    }
    void* library = dlopen(path.c_str(), mode_);
    if (library == nullptr) {
      for (const std::string& name : needed) {
        if (!is_loaded(name) && by_name(name) == nullptr) missing_.push_back(name);
      }
      library = open(path);
    }
    if (library != nullptr) load_companions(needed);
    opening_.erase(path);
    return library;
  }

  // Of what could not be loaded.
  std::string reason(const std::string& name) const {
    std::string text = name + " cannot be loaded";
    for (std::size_t i = 0; i < missing_.size(); ++i) {
      const bool is_last = i + 1 == missing_.size();
      text += (i == 0 ? ", as it needs " : is_last ? " and " : ", ") + missing_[i];
    }
    for (std::size_t i = 0; i < refusals_.size(); ++i) {
      text += (i == 0 ? " (" : "; ") + refusals_[i];
    }
    text += refusals_.empty() ? "" : ")";
    if (!installed_) return text;
    text += "; looked for by the dynamic linker";
    for (const LibraryPlace& place : *installed_) text += ", in " + place.name;
    return text + " and in " + named_.name + (named_.folders.empty() ? " (not set)" : "");
  }

 private:
  bool is_loaded(const std::string& name) const {
    return dlopen(name.c_str(), mode_ | RTLD_NOLOAD) != nullptr;
  }

  void* in_place(const LibraryPlace& place, const std::string& name) {
    for (const std::string& folder : place.folders) {
      const fs::path path = fs::path(folder) / name;
      if (!is_there(path)) continue;
      if (void* const found = by_path(path.string())) return found;
    }
    return nullptr;
  }

  void* open(const std::string& name_or_path) {
    void* const library = dlopen(name_or_path.c_str(), mode_);
    if (library != nullptr) return library;
    std::string refusal = dlerror();
    // Of which glibc says that there is no such file.
    if (is_for_another_processor(name_or_path)) {
      refusal = name_or_path + ": is for another kind of processor";
    }
    if (!std::ranges::count(refusals_, refusal)) refusals_.push_back(std::move(refusal));
    return nullptr;
  }

  // NVRTC opens its builtins by name alone, wherever it lies itself.
  void load_companions(const std::vector<std::string>& needed) {
    for (const std::string& name : needed) {
      if (!name.starts_with("libnvrtc.so")) continue;
      void* const library = dlopen(name.c_str(), mode_ | RTLD_NOLOAD);
      if (library == nullptr) continue;
      std::error_code unreadable;
      for (const auto& entry :
           fs::directory_iterator(fs::path(path_of(library)).parent_path(), unreadable)) {
        if (entry.path().filename().string().starts_with("libnvrtc-builtins.so.")) {
          open(entry.path().string());
        }
      }
    }
  }

  const int mode_;
  const LibraryPlace named_ = named_library_folders();
  std::optional<std::vector<LibraryPlace>> installed_;  // once they are looked through
  std::set<std::string> opening_;
  std::vector<std::string> missing_, refusals_;
};

}  // namespace

Loaded<SharedLibrary> SharedLibrary::load(const std::string& name) {
  Search search(Symbols::local);
  if (void* const library = search.by_name(name)) return SharedLibrary(library);
  return tl::unexpected(search.reason(name));
}

Loaded<SharedLibrary> SharedLibrary::load_file(const std::string& path, Symbols symbols) {
  if (!is_there(path)) return tl::unexpected(path + " is not there");
  Search search(symbols);
  if (void* const library = search.by_path(path)) return SharedLibrary(library);
  return tl::unexpected(search.reason(path));
}

void* SharedLibrary::symbol(const char* name) const {
  return dlsym(handle_, name);
}

std::string SharedLibrary::path() const {
  return path_of(handle_);
}

std::string library_of(const void* function) {
  Dl_info info{};
  return dladdr(function, &info) != 0 ? info.dli_fname : "";
}

}  // namespace foreshard

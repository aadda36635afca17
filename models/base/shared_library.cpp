#include "models/base/shared_library.hpp"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <dlfcn.h>
#include <link.h>

#include "models/base/elf_file.hpp"

namespace foreshard {
namespace {

// Where libraries of NVIDIA lie besides the folders that the dynamic linker knows: in a CUDA toolkit, and
// in the packages of Python that PyTorch brings (site-packages/nvidia/*/lib: CUDA 13's libraries in cu13,
// others in cudnn, nccl and so on).

// A place where libraries are installed, and those of its folders that there are.
struct LibraryPlace {
  std::string name;  // for messages
  std::vector<std::string> folders;
};

namespace fs = std::filesystem;

std::string variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

std::vector<fs::path> paths_in(const std::string& list) {
  std::vector<fs::path> paths;
  std::istringstream text(list);
  for (std::string path; std::getline(text, path, ':');) {
    if (!path.empty()) paths.emplace_back(path);
  }
  return paths;
}

// In the order of their names, backwards: python3.12 comes before python3.11.
std::vector<fs::path> entries_of(const fs::path& folder) {
  std::vector<fs::path> all;
  std::error_code unreadable;
  for (fs::directory_iterator it(folder, unreadable), end; it != end; it.increment(unreadable)) {
    all.push_back(it->path());
  }
  std::ranges::sort(all, std::ranges::greater());
  return all;
}

// Places without those that are the same as one before, and without empty ones.
class Places {
 public:
  void add(const std::string& name, const std::vector<fs::path>& folders) {
    LibraryPlace place{name, {}};
    for (const fs::path& folder : folders) {
      std::error_code missing;
      const fs::path real = fs::canonical(folder, missing);
      if (missing || !fs::is_directory(real, missing) || !seen_.insert(real).second) continue;
      place.folders.push_back(folder.string());
    }
    if (!place.folders.empty()) all_.push_back(std::move(place));
  }

  void add_toolkit(const fs::path& root) {
    if (root.empty()) return;
    std::vector<fs::path> folders;
    for (const char* folder : {"lib64", "lib", "targets/x86_64-linux/lib", "targets/sbsa-linux/lib",
                               "extras/CUPTI/lib64"}) {
      folders.push_back(root / folder);
    }
    add(root.string(), folders);
  }

  // Of a folder in which Python looks for packages.
  void add_packages(const fs::path& packages) {
    std::vector<fs::path> folders;
    for (const fs::path& package : entries_of(packages / "nvidia")) {
      folders.push_back(package / "lib");
    }
    add((packages / "nvidia").string(), folders);
  }

  // Of an installation of Python or a virtual environment.
  void add_python(const fs::path& prefix) {
    if (prefix.empty()) return;
    for (const char* lib : {"lib", "lib64"}) {
      for (const fs::path& version : entries_of(prefix / lib)) {
        if (!version.filename().string().starts_with("python3")) continue;
        add_packages(version / "site-packages");
        add_packages(version / "dist-packages");  // as Debian calls it
      }
    }
  }

  std::vector<LibraryPlace> take() { return std::move(all_); }

 private:
  std::set<fs::path> seen_;
  std::vector<LibraryPlace> all_;
};

// A python3 is in PREFIX/bin, of which it may be a link to another one's; that of pyenv is in
// ROOT/shims and starts one of ROOT/versions.
void add_python_at(const fs::path& python, Places& places) {
  std::error_code missing;
  if (!fs::exists(python, missing)) return;
  const fs::path folder = python.parent_path();
  if (folder.filename() == "shims") {
    for (const fs::path& version : entries_of(folder.parent_path() / "versions")) {
      places.add_python(version);
    }
  }
  places.add_python(folder.parent_path());
  places.add_python(fs::canonical(python, missing).parent_path().parent_path());
  if (folder == "/usr/bin") places.add_python("/usr/local");  // pip's, on Debian
}

// The folders that the user names in FORESHARD_LIBRARY_PATH, with colons between.
LibraryPlace named_library_folders() {
  LibraryPlace place{"FORESHARD_LIBRARY_PATH", {}};
  for (const fs::path& folder : paths_in(variable("FORESHARD_LIBRARY_PATH"))) {
    place.folders.push_back(folder.string());
  }
  return place;
}

// Those that there are, by the environment: first toolkits (CUDA_HOME, CUDA_PATH, /usr/local/cuda, and
// CONDA_PREFIX, in which conda puts them), then Python's packages, of VIRTUAL_ENV, CONDA_PREFIX,
// PYTHONPATH, every python3 on PATH, and the user's own (PYTHONUSERBASE).
std::vector<LibraryPlace> installed_library_folders() {
  Places places;
  for (const char* root : {"CUDA_HOME", "CUDA_PATH"}) places.add_toolkit(variable(root));
  places.add_toolkit("/usr/local/cuda");
  places.add_toolkit(variable("CONDA_PREFIX"));
  for (const char* prefix : {"VIRTUAL_ENV", "CONDA_PREFIX"}) places.add_python(variable(prefix));
  for (const fs::path& folder : paths_in(variable("PYTHONPATH"))) places.add_packages(folder);
  for (const fs::path& folder : paths_in(variable("PATH"))) {
    add_python_at(folder / "python3", places);
  }
  const std::string base = variable("PYTHONUSERBASE"), home = variable("HOME");
  places.add_python(base.empty() && !home.empty() ? home + "/.local" : base);
  return places.take();
}

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
      if (!SharedLibrary::is_loaded(name)) in_place(named_, name);
    }
    void* library = dlopen(path.c_str(), mode_);
    if (library == nullptr) {
      for (const std::string& name : needed) {
        if (!SharedLibrary::is_loaded(name) && by_name(name) == nullptr) missing_.push_back(name);
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

bool SharedLibrary::is_loaded(const std::string& name) {
  void* const library = dlopen(name.c_str(), RTLD_NOW | RTLD_NOLOAD);
  if (library != nullptr) dlclose(library);  // this asked, and keeps nothing
  return library != nullptr;
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

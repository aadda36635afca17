#include "models/base/library_folders.hpp"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <set>
#include <sstream>

namespace foreshard {
namespace {

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

}  // namespace

LibraryPlace named_library_folders() {
  LibraryPlace place{"FORESHARD_LIBRARY_PATH", {}};
  for (const fs::path& folder : paths_in(variable("FORESHARD_LIBRARY_PATH"))) {
    place.folders.push_back(folder.string());
  }
  return place;
}

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

}  // namespace foreshard

// Libraries that are loaded while the program runs: modules of Foreshard, and what of NVIDIA's, MPI's and
// others' a run asks for. Nothing links to them, so the program starts on machines without.
//
//   const auto nccl = SharedLibrary::load("libnccl.so.2");
//   if (!nccl) return fail("--comm", "nccl", nccl.error() + "; expected NCCL 2.19 or later");
//   const auto all_reduce = nccl->function<decltype(ncclAllReduce)>("ncclAllReduce");
//
// Of the libraries of a name the first of these is taken that can be loaded:
//   - the one that the process has loaded already: a program that is recorded may have brought its own, and
//     two copies of a library know nothing of each other
//   - those in the folders of FORESHARD_LIBRARY_PATH
//   - the one that the dynamic linker finds (`man ld.so`: LD_LIBRARY_PATH, the system's folders)
//   - those of CUDA toolkits and of Python's packages (library_folders.hpp)
// What a library needs itself is looked for in the same way before it is loaded, as the dynamic linker
// takes what is loaded under a name that it needs. Libraries stay for as long as the process: their
// threads, and destructors of their objects, may come at any time.
#pragma once

#include <string>

#include <tl/expected.hpp>

namespace foreshard {

// Or why there is none: what was looked for, where, and what the dynamic linker said.
template <typename T>
using Loaded = tl::expected<T, std::string>;

class SharedLibrary {
 public:
  // Who sees the library's symbols besides its own.
  enum class Symbols { local, global };

  // By the name under which libraries are installed (SONAME).
  static Loaded<SharedLibrary> load(const std::string& name);
  // Whether the process has loaded one of that name, whoever did.
  static bool is_loaded(const std::string& name);
  // From its file.
  static Loaded<SharedLibrary> load_file(const std::string& path, Symbols symbols = Symbols::local);

  // nullptr where it has none of that name.
  template <typename Function>
  Function* function(const char* name) const {
    return reinterpret_cast<Function*>(symbol(name));
  }

  // The same for one of several; `missing` is its name where there is none.
  template <typename Function>
  void take(Function*& function, const char* name, const char*& missing) const {
    function = this->function<Function>(name);
    if (function == nullptr) missing = name;
  }

  std::string path() const;  // of its file

 private:
  explicit SharedLibrary(void* handle) : handle_(handle) {}
  void* symbol(const char* name) const;

  void* handle_;
};

// The path of the library or program that a function is in; empty where it is in none.
std::string library_of(const void* function);

// The function by which a module of Foreshard is entered, from its file.
template <typename Function>
Loaded<Function*> load_entry(const std::string& path, const char* name,
                             SharedLibrary::Symbols symbols = SharedLibrary::Symbols::local) {
  const auto library = SharedLibrary::load_file(path, symbols);
  if (!library) return tl::unexpected(library.error());
  if (const auto entry = library->function<Function>(name)) return entry;
  return tl::unexpected(path + " is of another version of this program (it has no " + name + ")");
}

}  // namespace foreshard

// Where libraries are looked for, in which order, and what is said of those that cannot be loaded. Each
// search is made in a process of its own, as libraries stay loaded.
#include "models/base/shared_library.hpp"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "models/base/elf_file.hpp"
#include "tests/temporary_folder.hpp"

namespace foreshard {
namespace {

namespace fs = std::filesystem;

constexpr const char* kProbe = "libforeshard_probe.so.1";

// What `question` answers in a child of this process.
std::string in_a_process(const std::function<std::string()>& question) {
  int ends[2] = {};
  if (pipe(ends) != 0) return "no pipe";
  const pid_t child = fork();
  if (child == 0) {
    const std::string answer = question();
    _exit(write(ends[1], answer.data(), answer.size()) == std::ssize(answer) ? 0 : 1);
  }
  close(ends[1]);
  std::string answer;
  char part[4096];
  for (ssize_t read_now = 0; (read_now = read(ends[0], part, sizeof part)) > 0;) {
    answer.append(part, static_cast<std::size_t>(read_now));
  }
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  return status == 0 ? answer : "the process ended with " + std::to_string(status);
}

class SharedLibraryTest : public testing::Test {
 protected:
  // Nothing of this machine's own environment is searched.
  SharedLibraryTest() {
    for (const char* name : {"FORESHARD_LIBRARY_PATH", "CUDA_HOME", "CUDA_PATH", "CONDA_PREFIX",
                             "VIRTUAL_ENV", "PYTHONPATH", "PYTHONUSERBASE"}) {
      unsetenv(name);
    }
    setenv("PATH", folder_.path("bin").c_str(), 1);
    setenv("HOME", folder_.path("home").c_str(), 1);
  }

  // Copies the library to there, under its own name.
  std::string install(const std::string& folder, const char* library = FORESHARD_PROBE) const {
    fs::create_directories(folder_.path(folder));
    const std::string path = folder_.path(folder) + "/" + fs::path(library).filename().string();
    fs::copy_file(library, path);
    return path;
  }
  void set(const char* variable, const std::string& folder) const {
    setenv(variable, folder_.path(folder).c_str(), 1);
  }
  // From where the library is loaded, or why it is not.
  static std::string found() {
    return in_a_process([] {
      const auto library = SharedLibrary::load(kProbe);
      return library ? library->path() : library.error();
    });
  }
  static std::string entered(const std::string& path) {
    return in_a_process([&]() -> std::string {
      const auto entry = load_entry<int()>(path, "foreshard_probe_module");
      return entry ? std::to_string((*entry)()) : entry.error();
    });
  }

  const tests::TemporaryFolder folder_;
};

// `part` is in `text`.
void expect_in(const std::string& text, const std::string& part) {
  EXPECT_NE(text.find(part), std::string::npos) << part << "\nis not in\n" << text;
}

TEST_F(SharedLibraryTest, PlacesComeInTheirOrder) {
  const std::string site = "lib/python3.11/site-packages";
  set("VIRTUAL_ENV", "venv");
  set("PYTHONPATH", "modules");
  set("CUDA_HOME", "toolkit");
  set("CUDA_PATH", "other toolkit");
  expect_in(found(), "libforeshard_probe.so.1 cannot be loaded");
  // From the last place to the first.
  for (const std::string& folder :
       {"home/.local/" + site + "/nvidia/nccl/lib", std::string("modules/nvidia/cudnn/lib"),
        "venv/" + site + "/nvidia/cu13/lib", std::string("other toolkit/extras/CUPTI/lib64"),
        std::string("toolkit/targets/x86_64-linux/lib"), std::string("toolkit/lib64")}) {
    const std::string installed = install(folder);
    EXPECT_EQ(found(), installed);
  }
  const std::string named = install("named");
  setenv("FORESHARD_LIBRARY_PATH", (folder_.path("nowhere") + ":" + folder_.path("named")).c_str(),
         1);
  EXPECT_EQ(found(), named);
}

TEST_F(SharedLibraryTest, PackagesOfThePythonOnPathAreFound) {
  fs::create_directories(folder_.path("bin"));
  fs::create_directories(folder_.path("opt/python/bin"));
  folder_.write("opt/python/bin/python3", "");
  fs::create_symlink(folder_.path("opt/python/bin/python3"), folder_.path("bin/python3"));
  const std::string behind_the_link =
      install("opt/python/lib/python3.12/site-packages/nvidia/nccl/lib");
  EXPECT_EQ(found(), behind_the_link);
  const std::string debian = install("lib/python3/dist-packages/nvidia/nccl/lib");
  EXPECT_EQ(found(), debian);
}

TEST_F(SharedLibraryTest, PackagesOfPyenvsPythonAreFound) {
  fs::create_directories(folder_.path("pyenv/shims"));
  folder_.write("pyenv/shims/python3", "");
  set("PATH", "pyenv/shims");
  const std::string installed =
      install("pyenv/versions/3.13.1/lib/python3.13/site-packages/nvidia/cu13/lib");
  EXPECT_EQ(found(), installed);
}

TEST_F(SharedLibraryTest, WhatIsLoadedAlreadyIsTaken) {
  const std::string of_the_program = install("program");
  install("toolkit/lib64");
  set("FORESHARD_LIBRARY_PATH", "toolkit/lib64");
  EXPECT_EQ(in_a_process([&] {
              const auto first = SharedLibrary::load_file(of_the_program);
              const auto second = SharedLibrary::load(kProbe);
              return first && second ? second->path() : "not loaded";
            }),
            of_the_program);
}

TEST_F(SharedLibraryTest, WhatALibraryNeedsIsLoadedBeforeIt) {
  const std::string module = install("modules", FORESHARD_PROBE_MODULE);
  EXPECT_EQ(needed_libraries(module).front(), kProbe);
  const std::string missing = entered(module);
  expect_in(missing, module +
                         " cannot be loaded, as it needs libforeshard_probe.so.1 "
                         "(libforeshard_probe.so.1: cannot open shared object file: No such file "
                         "or directory); looked for by the dynamic linker");
  expect_in(missing, " and in FORESHARD_LIBRARY_PATH (not set)");
  set("CUDA_HOME", "toolkit");
  install("toolkit/lib64");
  EXPECT_EQ(entered(module), "2");
}

// NVRTC would look for them where the dynamic linker does, and fail when it first compiles.
TEST_F(SharedLibraryTest, BuiltinsOfNvrtcAreLoadedFromItsFolder) {
  const std::string module = install("modules", FORESHARD_PROBE_COMPILER);
  install("toolkit/lib64", FORESHARD_PROBE_NVRTC);
  const std::string builtins = folder_.path("toolkit/lib64/libnvrtc-builtins.so.13.0");
  fs::copy_file(FORESHARD_PROBE, builtins);
  set("CUDA_HOME", "toolkit");
  EXPECT_EQ(in_a_process([&] {
              const auto loaded = SharedLibrary::load_file(module);
              if (!loaded) return loaded.error();
              const auto beside = SharedLibrary::load(kProbe);
              return beside ? beside->path() : beside.error();
            }),
            builtins);
}

TEST_F(SharedLibraryTest, BrokenLibrariesAreToldAndTheNextOnesTaken) {
  const std::string cut = install("cut"), foreign = install("of another processor"),
                    garbage = install("garbage");
  fs::resize_file(cut, 40);
  constexpr int kMachine = 18;  // of Elf64_Ehdr
  std::fstream(foreign, std::ios::in | std::ios::out | std::ios::binary).seekp(kMachine).put(8);
  tests::write_file(garbage, "no library, but a text that is as long as a header of one would be");
  setenv("FORESHARD_LIBRARY_PATH",
         (folder_.path("cut") + ":" + folder_.path("of another processor") + ":" +
          folder_.path("garbage"))
             .c_str(),
         1);
  const std::string reason = found();
  expect_in(reason, cut + ": file too short");
  expect_in(reason, foreign + ": is for another kind of processor");
  expect_in(reason, garbage + ": invalid ELF header");
  set("CUDA_HOME", "toolkit");
  const std::string whole = install("toolkit/lib");
  EXPECT_EQ(found(), whole);
  EXPECT_EQ(needed_libraries(cut), std::vector<std::string>());
  EXPECT_EQ(needed_libraries(garbage), std::vector<std::string>());
}

TEST_F(SharedLibraryTest, SymbolsThatALibraryLacksAreNamed) {
  const std::string undefined = install("modules", FORESHARD_PROBE_UNDEFINED);
  const std::string reason = entered(undefined);
  expect_in(reason, "undefined symbol: foreshard_probe)");
  EXPECT_EQ(reason.find("looked for"), std::string::npos) << "nothing was: " << reason;
}

TEST_F(SharedLibraryTest, ModulesThatAreNotThereOrOfAnotherBuildAreTold) {
  EXPECT_EQ(entered(folder_.path("libnone.so")), folder_.path("libnone.so") + " is not there");
  const std::string other = install("modules");
  EXPECT_EQ(entered(other),
            other + " is of another version of this program (it has no foreshard_probe_module)");
}

}  // namespace
}  // namespace foreshard

// Files that are replaced whole or not at all, and names that stand for no file.
#include "models/base/atomic_file.hpp"

#include <filesystem>
#include <functional>
#include <ostream>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/temporary_folder.hpp"

namespace foreshard {
namespace {

namespace fs = std::filesystem;
using tests::read_file;
using tests::TemporaryFolder;

mode_t permissions(const std::string& path) {
  struct stat status {};
  EXPECT_EQ(::stat(path.c_str(), &status), 0);
  return status.st_mode & 0777;
}

TEST(AtomicFile, ShowsTheOldFileUntilTheNewOneIsWhole) {
  const TemporaryFolder folder;
  const std::string path = folder.write("a.json", "old");
  auto file = AtomicFile::create(path);
  ASSERT_TRUE(file) << file.error().text();
  ASSERT_TRUE(file->write("new, "));
  ASSERT_TRUE(file->write("whole"));
  EXPECT_EQ(read_file(path), "old");
  ASSERT_TRUE(file->commit());
  EXPECT_EQ(read_file(path), "new, whole");
  EXPECT_EQ(folder.entries(), 1u);
}

TEST(AtomicFile, LeavesNothingWhenItIsAbandoned) {
  const TemporaryFolder folder;
  const std::string path = folder.write("a.json", "old");
  {
    auto file = AtomicFile::create(path);
    ASSERT_TRUE(file);
    ASSERT_TRUE(file->write("half"));
    auto other = std::move(*file);
    EXPECT_EQ(folder.entries(), 2u);
  }
  EXPECT_EQ(read_file(path), "old");
  EXPECT_EQ(folder.entries(), 1u);
}

TEST(AtomicFile, TwoWritersOfOneNameDoNotMeet) {
  const TemporaryFolder folder;
  const std::string path = folder.path("a.json");
  auto first = AtomicFile::create(path), second = AtomicFile::create(path);
  ASSERT_TRUE(first && second);
  EXPECT_NE(first->temporary(), second->temporary());
  ASSERT_TRUE(first->write("first"));
  ASSERT_TRUE(second->write("second"));
  ASSERT_TRUE(second->commit());
  ASSERT_TRUE(first->commit());
  EXPECT_EQ(read_file(path), "first");
  EXPECT_EQ(folder.entries(), 1u);
}

TEST(AtomicFile, ReplacesALinkAndLeavesWhatItPointsTo) {
  const TemporaryFolder folder;
  const std::string victim = folder.write("victim", "precious");
  const std::string path = folder.path("a.json"), dangling = folder.path("b.json");
  fs::create_symlink(victim, path);
  fs::create_symlink(folder.path("none"), dangling);
  for (const std::string& name : {path, dangling}) {
    ASSERT_TRUE(write_atomically(name, "new"));
    EXPECT_FALSE(fs::is_symlink(name));
    EXPECT_EQ(read_file(name), "new");
  }
  EXPECT_EQ(read_file(victim), "precious");
  EXPECT_EQ(folder.entries(), 3u);
}

TEST(AtomicFile, KeepsThePermissionsOfTheFileItReplaces) {
  const TemporaryFolder folder;
  const std::string secret = folder.write("secret", "old");
  fs::permissions(secret, fs::perms::owner_read | fs::perms::owner_write);
  ASSERT_TRUE(write_atomically(secret, "new"));
  EXPECT_EQ(permissions(secret), 0600u);
  const mode_t old = ::umask(027);
  ASSERT_TRUE(write_atomically(folder.path("fresh"), "new"));
  ::umask(old);
  EXPECT_EQ(permissions(folder.path("fresh")), 0640u);
}

TEST(AtomicFile, TakesNamesAsLongAsAFileMayHave) {
  const TemporaryFolder folder;
  const std::string path = folder.path(std::string(255, 'n'));
  ASSERT_TRUE(write_atomically(path, "new"));
  EXPECT_EQ(read_file(path), "new");
}

TEST(AtomicFile, NamesWhatCannotBeWritten) {
  const TemporaryFolder folder;
  for (const std::string& path : {folder.path(), folder.path("no/such/folder"),
                                  std::string("/proc/a.json"), std::string("/dev/full")}) {
    const auto done = write_atomically(path, "new");
    ASSERT_FALSE(done) << path;
    EXPECT_EQ(done.error().file, path);
    EXPECT_NE(done.error().message.find("expected"), std::string::npos) << done.error().message;
  }
  EXPECT_EQ(folder.entries(), 0u);
}

// The exit status of a process in which no file may grow beyond `bytes`, as on a full disk.
int on_a_full_disk(rlim_t bytes, const std::function<bool()>& works) {
  const pid_t child = ::fork();
  if (child == 0) {
    const rlimit limit{bytes, bytes};
    ::signal(SIGXFSZ, SIG_IGN);
    ::setrlimit(RLIMIT_FSIZE, &limit);
    ::_exit(works() ? 0 : 1);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(AtomicFile, AFullDiskLeavesTheOldFile) {
  const TemporaryFolder folder;
  const std::string path = folder.write("a.json", "old");
  const std::string large(300'000, 'x');
  const auto is_refused = [&](const Result<void>& done) {
    return !done && done.error().file == path &&
           done.error().message.find("File too large") != std::string::npos;
  };
  EXPECT_EQ(on_a_full_disk(100'000, [&] { return is_refused(write_atomically(path, large)); }), 0);
  EXPECT_EQ(on_a_full_disk(100'000,
                           [&] {
                             return is_refused(write_atomically(path, [&](std::ostream& out) {
                               for (int i = 0; i < 300; ++i) out << std::string(1000, 'y');
                             }));
                           }),
            0);
  EXPECT_EQ(read_file(path), "old");
  EXPECT_EQ(folder.entries(), 1u);
}

TEST(AtomicFile, WritesAStreamOfAnySize) {
  const TemporaryFolder folder;
  const std::string path = folder.path("a.csv");
  for (const std::size_t size : {0u, 1u, 65'535u, 65'536u, 65'537u, 200'000u}) {
    std::string text;
    while (text.size() < size) text += std::to_string(text.size()) + ",";
    text.resize(size);
    ASSERT_TRUE(write_atomically(path, [&](std::ostream& out) {
      out << text.substr(0, size / 3) << std::flush << text.substr(size / 3);
    }));
    EXPECT_EQ(read_file(path), text);
  }
}

// In pieces of any size, on file systems that can do it and (tmpfs) on some that cannot.
TEST(AtomicFile, WritesPastTheCacheWhatItWouldWriteThroughIt) {
  constexpr std::size_t kPiece = 4 << 20;
  const TemporaryFolder own;
  for (const std::string& folder : {own.path(""), std::string("/dev/shm/")}) {
    const std::string path = folder + "foreshard_atomic_file." + std::to_string(::getpid());
    for (const std::size_t size : {std::size_t{0}, std::size_t{1}, kPiece, 2 * kPiece + 4095}) {
      std::string text(size, '\0');
      for (std::size_t i = 0; i < size; ++i) text[i] = static_cast<char>(i * i / 251);
      auto file = AtomicFile::create(path);
      ASSERT_TRUE(file);
      file->pass_by_cache();
      for (std::size_t begin = 0, step = 1; begin < size; begin += step, step = 3 * step + 1) {
        ASSERT_TRUE(file->write(std::string_view(text).substr(begin, step)));
      }
      AtomicFile moved = std::move(*file);
      ASSERT_TRUE(moved.commit());
      EXPECT_TRUE(read_file(path) == text) << folder << size;
    }
    fs::remove(path);
  }
}

TEST(AtomicFile, WritesThroughDevicesPipesAndDescriptors) {
  const TemporaryFolder folder;
  ASSERT_TRUE(write_atomically("/dev/null", "gone"));
  EXPECT_TRUE(fs::is_character_file("/dev/null"));

  const std::string pipe = folder.path("pipe");
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  const int reader = ::open(pipe.c_str(), O_RDWR | O_NONBLOCK);
  ASSERT_TRUE(write_atomically(pipe, "through"));
  char text[16] = {};
  EXPECT_EQ(::read(reader, text, sizeof text), 7);
  EXPECT_STREQ(text, "through");
  ::close(reader);
  EXPECT_TRUE(fs::is_fifo(pipe));

  // As `> out.txt` gives a program its standard output: what comes later follows.
  const std::string target = folder.path("out.txt");
  const int descriptor = ::open(target.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  for (const std::string name : {"/dev/fd/", "/proc/self/fd/"}) {
    EXPECT_TRUE(is_written_through(name + std::to_string(descriptor)));
    ASSERT_TRUE(write_atomically(name + std::to_string(descriptor), "answer\n"));
  }
  EXPECT_EQ(::write(descriptor, "text\n", 5), 5);
  ::close(descriptor);
  EXPECT_EQ(read_file(target), "answer\nanswer\ntext\n");
  EXPECT_EQ(folder.entries(), 2u);
  EXPECT_FALSE(is_written_through(target));
}

}  // namespace
}  // namespace foreshard

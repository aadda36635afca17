// Memory that a run could take, as the kernel's files tell it.
#include "models/base/host_memory.hpp"

#include <fstream>

#include <gtest/gtest.h>

#include "tests/temporary_folder.hpp"

namespace foreshard {
namespace {

class AvailableMemory : public testing::Test {
 protected:
  void write(const std::string& name, const std::string& text) const {
    const std::filesystem::path path = folder_.path(name);
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << text;
  }
  std::optional<std::int64_t> available() const { return available_memory(folder_.path("")); }

  const tests::TemporaryFolder folder_;
};

TEST_F(AvailableMemory, IsWhatIsAvailableAndWhatCanBeSwappedOut) {
  EXPECT_EQ(available(), std::nullopt);
  write("proc/meminfo",
        "MemTotal:       1000 kB\nMemAvailable:    600 kB\nSwapTotal:  50 kB\nSwapFree:  40 kB\n");
  EXPECT_EQ(available(), 640 * 1024);
}

TEST_F(AvailableMemory, IsWithinTheLimitOfEveryGroupAbove) {
  write("proc/meminfo", "MemAvailable:    600000 kB\n");
  write("proc/self/cgroup", "0::/job/step\n");
  write("sys/fs/cgroup/job/step/memory.max", "max\n");
  write("sys/fs/cgroup/job/step/memory.current", "5000\n");
  EXPECT_EQ(available(), 600000 * 1024);
  write("sys/fs/cgroup/job/memory.max", "1000000\n");
  write("sys/fs/cgroup/job/memory.current", "700000\n");
  write("sys/fs/cgroup/job/memory.stat", "anon 500000\nfile 200000\nfile_mapped 1\n");
  EXPECT_EQ(available(), 500000);
}

// Version 1, seen from a container: the path is the host's.
TEST_F(AvailableMemory, IsWithinTheLimitsOfTheFirstVersion) {
  write("proc/meminfo", "MemAvailable:    600000 kB\n");
  write("proc/self/cgroup", "5:cpu,cpuacct:/x\n4:memory:/docker/0123\n0::/\n");
  write("sys/fs/cgroup/memory/memory.limit_in_bytes", "1000000\n");
  write("sys/fs/cgroup/memory/memory.usage_in_bytes", "700000\n");
  write("sys/fs/cgroup/memory/memory.stat", "cache 1\ntotal_cache 200000\n");
  EXPECT_EQ(available(), 500000);
  write("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
  EXPECT_EQ(available(), 600000 * 1024);
}

// What lies in /dev/shm counts as a file, but there is none to write it to.
TEST_F(AvailableMemory, SharedMemoryCannotBeHadBack) {
  write("proc/meminfo", "MemAvailable:    600000 kB\n");
  write("proc/self/cgroup", "4:memory:/old\n0::/new\n");
  write("sys/fs/cgroup/new/memory.max", "1000000\n");
  write("sys/fs/cgroup/new/memory.current", "700000\n");
  write("sys/fs/cgroup/new/memory.stat", "anon 500000\nfile 200000\nshmem 150000\n");
  EXPECT_EQ(available(), 350000);
  write("sys/fs/cgroup/memory/old/memory.limit_in_bytes", "1000000\n");
  write("sys/fs/cgroup/memory/old/memory.usage_in_bytes", "800000\n");
  write("sys/fs/cgroup/memory/old/memory.stat",
        "cache 1\nshmem 1\ntotal_cache 200000\ntotal_shmem 150000\n");
  EXPECT_EQ(available(), 250000);
}

TEST_F(AvailableMemory, OfThisMachineIsKnown) {
  const auto here = available_memory();
  ASSERT_TRUE(here);
  EXPECT_GT(*here, 1 << 20);
}

}  // namespace
}  // namespace foreshard

#include "executor/data/folder_claim.hpp"

#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "executor/data/checkpoint_index.hpp"

namespace foreshard::executor {
namespace {

// Whether the name still stands for the open file: who had it before has removed it by now, or not.
bool is_named(int descriptor, const std::string& file) {
  struct stat open {
  }, named{};
  return ::fstat(descriptor, &open) == 0 && ::lstat(file.c_str(), &named) == 0 &&
         open.st_ino == named.st_ino && open.st_dev == named.st_dev;
}

}  // namespace

Result<FolderClaim> FolderClaim::take(const std::string& path) {
  const std::string file = plain_path(path) + ".foreshard-lock";
  for (;;) {
    const int descriptor =
        ::open(file.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_NOCTTY | O_CLOEXEC, 0666);
    if (descriptor < 0) {
      return fail(file, "",
                  std::string("cannot be made (") + std::strerror(errno) +
                      "); expected a folder to write to");
    }
    FolderClaim claim(file, descriptor);
    const bool is_taken = ::flock(descriptor, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
    if (is_taken) {
      claim.descriptor_ = -1;  // the file is the other run's
      ::close(descriptor);
      return fail(path, "",
                  "is being written by another run; expected another name, or that run to end");
    }
    // Where files cannot be locked nobody is kept away.
    if (is_named(descriptor, file)) return claim;
    claim.descriptor_ = -1;
    ::close(descriptor);
  }
}

FolderClaim::~FolderClaim() {
  if (descriptor_ < 0) return;
  ::unlink(file_.c_str());  // before the lock goes, so that nobody locks what has no name
  ::close(descriptor_);
}

}  // namespace foreshard::executor

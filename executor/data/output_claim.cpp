#include "executor/data/output_claim.hpp"

#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include "executor/data/replace_folder.hpp"
#include "models/base/atomic_file.hpp"

namespace foreshard::executor {

Result<OutputClaim> OutputClaim::take(const std::string& path) {
  const std::string file = plain_path(path) + ".foreshard-lock";
  for (;;) {
    const int descriptor =
        ::open(file.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_NOCTTY | O_CLOEXEC, 0666);
    if (descriptor < 0) {
      return fail(file, "",
                  std::string("cannot be created (") + std::strerror(errno) +
                      "); expected a folder to write to");
    }
    OutputClaim claim(file, descriptor);
    const bool is_taken = ::flock(descriptor, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
    if (is_taken) {
      claim.descriptor_ = -1;  // the file is the other run's
      ::close(descriptor);
      return fail(path, "",
                  "is being written by another run; expected another name, or that run to end");
    }
    // Where files cannot be locked nobody is kept away. Who had the name before has removed it by
    // now, or not.
    if (identity_of(descriptor) == identity_of(file)) return claim;
    claim.descriptor_ = -1;
    ::close(descriptor);
  }
}

OutputClaim::~OutputClaim() {
  if (descriptor_ < 0) return;
  ::unlink(file_.c_str());  // before the lock goes, so that nobody locks what has no name
  ::close(descriptor_);
}

}  // namespace foreshard::executor

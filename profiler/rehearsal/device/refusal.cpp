#include "profiler/rehearsal/device/refusal.hpp"

#include <cstdio>
#include <string>

#include <unistd.h>

#include "profiler/rehearsal/device/log.hpp"

namespace foreshard::rehearsal {

void refuse(std::string_view entry_point) {
  stop(std::string(entry_point) +
       " is not described; what it does is not known without a GPU, and the rehearsal ends here");
}

// No destructors run: other threads may be inside the libraries that would be destroyed.
void stop(std::string_view sentence) {
  const std::string line = "foreshard rehearsal: " + std::string(sentence) + "\n";
  std::fputs(line.c_str(), stderr);
  flush_log();
  ::_exit(kRefusalStatus);
}

}  // namespace foreshard::rehearsal

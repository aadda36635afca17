#include "profiler/rehearsal/device/notes.hpp"

#include <algorithm>
#include <mutex>
#include <vector>

#include "profiler/rehearsal/device/interface.h"

namespace foreshard::rehearsal {
namespace {

std::mutex mutex;
auto& sentences() {
  static auto& sentences = *new std::vector<std::string>;
  return sentences;
}

}  // namespace

void note(const std::string& sentence) {
  const std::lock_guard lock(mutex);
  if (std::ranges::find(sentences(), sentence) == sentences().end())
    sentences().push_back(sentence);
}

void note_unknown_workspace(std::string_view library) {
  note("workspaces of " + std::string(library) +
       " are not known without a GPU and count as 0: memory is a lower bound");
}

}  // namespace foreshard::rehearsal

const char* foreshard_rehearsal_notes() {
  static thread_local std::string lines;
  const std::lock_guard lock(foreshard::rehearsal::mutex);
  lines.clear();
  for (const std::string& sentence : foreshard::rehearsal::sentences())
    lines += (lines.empty() ? "" : "\n") + sentence;
  return lines.c_str();
}

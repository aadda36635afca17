// Data of others that some tests compare with and that do not ship, mostly for want of a licence:
// they are looked for in a folder `shared` beside the project. tests/README.md describes what they are and
// from where to get them. What they cover is covered by samples that ship too, as far as it can be.
#pragma once

#include <filesystem>
#include <string>

namespace foreshard::tests {

inline std::filesystem::path outside_data(const std::string& path) {
  return std::filesystem::path(FORESHARD_SOURCE_DIR) / "../shared" / path;
}

// Recordings of others' programs that ship; tests/evidence/README.md describes them.
inline std::filesystem::path evidence(const std::string& path) {
  return std::filesystem::path(FORESHARD_SOURCE_DIR) / "tests/evidence" / path;
}

// The message of a test that skips without them.
inline std::string missing(const std::filesystem::path& data) {
  return "needs " + data.lexically_normal().string() +
         ", which does not ship; tests/README.md describes where to get it";
}

}  // namespace foreshard::tests

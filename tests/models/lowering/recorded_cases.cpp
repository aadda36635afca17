#include "tests/models/lowering/recorded_cases.hpp"

#include <algorithm>
#include <fstream>
#include <memory>
#include <ostream>
#include <sstream>

#include <zlib.h>

namespace foreshard {
namespace {

namespace fs = std::filesystem;

std::string contents(const fs::path& path) {
  std::stringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

std::vector<RecordedCase> cases_in(const fs::path& folder, const fs::path& configs,
                                   const std::string& runtime) {
  std::vector<RecordedCase> found;
  std::ifstream index(folder / "plans/index.csv");
  std::string line;
  std::getline(index, line);  // id,model,ranks,rank,device_memory_bytes,steps
  while (std::getline(index, line)) {
    std::istringstream row(line);
    std::vector<std::string> fields;
    for (std::string field; std::getline(row, field, ',');) fields.push_back(field);
    if (fields.size() < 6) continue;
    const RecordedCase c{folder,
                         fields[0],
                         configs / fields[1],
                         std::stoi(fields[2]),
                         std::stoi(fields[3]),
                         std::stoi(fields[5])};
    const bool is_wanted = c.plan().find('"' + runtime + '"') != std::string::npos;
    if ((runtime.empty() || is_wanted) && fs::exists(c.log())) found.push_back(c);
  }
  return found;
}

}  // namespace

std::string RecordedCase::plan() const {
  return contents(folder / "plans" / (id + ".toml"));
}

std::string RecordedCase::version() const {
  return folder.parent_path().filename() == "versions" ? folder.filename().string() : "";
}

void PrintTo(const RecordedCase& c, std::ostream* out) {
  *out << c.id << (c.version().empty() ? "" : " of PyTorch ") << c.version();
}

std::vector<RecordedCase> recorded_cases(const std::string& runtime) {
  const fs::path root(FORESHARD_SOURCE_DIR);
  const fs::path shipped = root / "tests/golden/fsdp_requests";
  const fs::path reference = root / "tests/evidence/memory";
  std::vector<RecordedCase> found = cases_in(shipped, shipped / "configs", runtime);
  const auto add = [&](const fs::path& folder) {
    for (RecordedCase& c : cases_in(folder, reference / "configs", runtime)) {
      const bool is_known = std::any_of(found.begin(), found.end(), [&c](const RecordedCase& f) {
        return f.id == c.id && f.version() == c.version();
      });
      if (!is_known) found.push_back(std::move(c));
    }
  };
  add(reference);
  for (const auto& version : fs::directory_iterator(reference / "versions")) {
    add(version.path());
  }
  return found;
}

std::vector<nlohmann::json> log_lines(const fs::path& path) {
  std::vector<nlohmann::json> found;
  const std::unique_ptr<gzFile_s, int (*)(gzFile)> file(gzopen(path.c_str(), "rb"), gzclose);
  std::string line(1 << 20, '\0');
  while (file && gzgets(file.get(), line.data(), static_cast<int>(line.size())) != nullptr) {
    found.push_back(nlohmann::json::parse(line.c_str()));
  }
  return found;
}

std::string test_name(const RecordedCase& c) {
  std::string name = c.id + (c.version().empty() ? "" : "_of_" + c.version());
  std::replace(name.begin(), name.end(), '.', '_');
  return name;
}

}  // namespace foreshard

// Every request that FSDP2 with PyTorch's operators makes of its allocator, from the set-up on, and every
// free: in order those of recorded runs. The recordings are of an H100 (traces/samples/pytorch_gpu) and of
// PyTorch on a device that computes nothing (tests/golden/pytorch_requests/README.md).
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>

#include <gtest/gtest.h>
#include <zlib.h>

#include "models/lowering/lower.hpp"
#include "tests/models/lowering/allocator_requests.hpp"
#include "tests/models/lowering/pytorch_case.hpp"

namespace foreshard {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using tests::Requests;

struct Recording {
  fs::path log;
  std::string id;
};

void PrintTo(const Recording& r, std::ostream* out) {
  *out << r.id;
}

fs::path golden() {
  return fs::path(FORESHARD_SOURCE_DIR) / "tests/golden/pytorch_requests";
}

std::vector<json> lines(const fs::path& path, std::size_t most = SIZE_MAX) {
  std::vector<json> found;
  const std::unique_ptr<gzFile_s, int (*)(gzFile)> file(gzopen(path.c_str(), "rb"), gzclose);
  std::string line(1 << 20, '\0');
  while (file && found.size() < most &&
         gzgets(file.get(), line.data(), static_cast<int>(line.size())) != nullptr) {
    found.push_back(json::parse(line.c_str()));
  }
  return found;
}

Requests recorded(const std::vector<json>& log) {
  Requests found;
  std::map<std::int64_t, std::size_t> numbers;  // of what is alive, by address
  std::size_t next = 0;
  for (const json& event : log) {
    const std::string action = event.value("action", "");
    if (action == "alloc") {
      numbers[event["addr"]] = next++;
      found.push_back("+ " + event["size"].dump() + " " + event["stream"].get<std::string>());
    } else if (action == "free_requested") {
      found.push_back("- " + std::to_string(numbers.at(event["addr"])));
    }
  }
  return found;
}

std::vector<Recording> recordings() {
  std::vector<Recording> found;
  for (const fs::path& folder :
       {golden() / "events",
        fs::path(FORESHARD_SOURCE_DIR) / "traces/samples/pytorch_gpu/h100/events"}) {
    for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
      const std::vector<json> head = lines(entry.path(), 1);
      if (head.empty() || head.front()["case"]["api"] != "fsdp2") continue;
      found.push_back({entry.path(), entry.path().stem().stem().string()});
    }
  }
  std::sort(found.begin(), found.end(),
            [](const Recording& a, const Recording& b) { return a.log < b.log; });
  return found;
}

class RecordedRequests : public testing::TestWithParam<Recording> {};

TEST_P(RecordedRequests, ArePredicted) {
  const std::vector<json> log = lines(GetParam().log);
  const json& words = log.front()["case"];
  std::ifstream config(golden() / "configs" / (words["model"].get<std::string>() + ".json"));
  ASSERT_TRUE(config) << words["model"];
  const tests::PyTorchCase c = tests::pytorch_case(words, json::parse(config));
  const auto job = make_job(c.model, c.plan, GetParam().id, c.ranks);
  ASSERT_TRUE(job) << job.error().text();
  const std::string difference =
      tests::difference(tests::requests(lower(*job, c.rank), 0, c.steps), recorded(log));
  EXPECT_TRUE(difference.empty()) << difference;
}

INSTANTIATE_TEST_SUITE_P(Of, RecordedRequests, testing::ValuesIn(recordings()),
                         [](const auto& param) { return param.param.id; });

}  // namespace
}  // namespace foreshard

// What PyTorch's caching allocator reserves for the requests of a predicted step under other settings:
//   foreshard predict --model llama-3.2-1b --ranks 8 --machine h100-sxm --memory-events events.jsonl
//   allocator events.jsonl expandable_segments=true
#include <fstream>
#include <iostream>
#include <map>
#include <string>

#include <foreshard/allocator.hpp>

namespace {

// What follows "key": in a line of JSON, without quotes; empty where it has no such key.
std::string value(const std::string& line, const std::string& key) {
  const auto at = line.find('"' + key + "\":");
  if (at == std::string::npos) return {};
  const auto begin = line.find_first_not_of(" \"", at + key.size() + 3);
  return line.substr(begin, line.find_first_of("\",}", begin) - begin);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::cerr << "usage: allocator EVENTS [SETTINGS]\n";
    return 2;
  }
  auto allocator = foreshard::api::CachingAllocator::create({argc > 2 ? argv[2] : "", {}});
  if (!allocator) {
    std::cerr << allocator.error().text() << '\n';
    return 2;
  }
  std::map<std::string, foreshard::api::Block> blocks;  // by the address they had
  std::map<std::string, int> streams;
  std::ifstream events(argv[1]);
  for (std::string line; std::getline(events, line);) {
    const std::string action = value(line, "action");
    if (action == "alloc") {
      const int next = static_cast<int>(streams.size());
      const int stream = streams.emplace(value(line, "stream"), next).first->second;
      const auto block = allocator->allocate(std::stoll(value(line, "size")), stream);
      if (block) blocks[value(line, "addr")] = *block;
    } else if (action == "free_requested") {
      const auto block = blocks.extract(value(line, "addr"));
      if (block) allocator->free(block.mapped());
    } else if (action == "empty_cache") {
      allocator->empty_cache();
    }
  }
  const auto statistics = allocator->statistics();
  std::cout << "peak_allocated_bytes " << statistics.peak_allocated_bytes
            << "\npeak_reserved_bytes " << statistics.peak_reserved_bytes << "\nsegments_allocated "
            << statistics.segments_allocated << '\n';
}

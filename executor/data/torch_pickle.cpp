#include "executor/data/torch_pickle.hpp"

#include <bit>
#include <utility>

namespace foreshard::executor {

TorchPickle::TorchPickle() : bytes_("\x80\x02", 2) {}

void TorchPickle::integer(std::int64_t value) {
  if (value >= 0 && value < 256) {
    opcode('K');
    return little_endian(static_cast<std::uint64_t>(value), 1);
  }
  if (value == static_cast<std::int32_t>(value)) {
    opcode('J');
    return little_endian(static_cast<std::uint64_t>(value), 4);
  }
  opcode('\x8a');  // LONG1
  opcode(8);
  little_endian(static_cast<std::uint64_t>(value), 8);
}

void TorchPickle::real(double value) {
  opcode('G');
  const auto bits = std::bit_cast<std::uint64_t>(value);
  little_endian(__builtin_bswap64(bits), 8);  // big-endian
}

void TorchPickle::text(std::string_view value) {
  const std::string key = "t" + std::string(value);
  if (recall(key)) return;
  opcode('X');
  little_endian(value.size(), 4);
  bytes_ += value;
  remember(key);
}

void TorchPickle::global(std::string_view module, std::string_view name) {
  const std::string line = std::string(module) + "\n" + std::string(name) + "\n";
  if (recall("c" + line)) return;
  opcode('c');
  bytes_ += line;
  remember("c" + line);
}

void TorchPickle::tuple(int count) {
  opcode(static_cast<char>(0x84 + count));
}

void TorchPickle::sizes(std::span<const std::int64_t> values) {
  if (values.empty()) return empty_tuple();
  mark();
  for (const std::int64_t value : values) integer(value);
  tuple();
}

std::string TorchPickle::finish() {
  opcode('.');
  return std::move(bytes_);
}

void TorchPickle::little_endian(std::uint64_t value, int bytes) {
  for (int i = 0; i < bytes; ++i) bytes_ += static_cast<char>(value >> (8 * i) & 0xff);
}

bool TorchPickle::recall(const std::string& key) {
  const auto found = memo_.find(key);
  if (found == memo_.end()) return false;
  opcode('j');
  little_endian(found->second, 4);
  return true;
}

void TorchPickle::remember(const std::string& key) {
  const auto number = static_cast<std::uint32_t>(memo_.size());
  memo_.emplace(key, number);
  opcode('r');
  little_endian(number, 4);
}

}  // namespace foreshard::executor

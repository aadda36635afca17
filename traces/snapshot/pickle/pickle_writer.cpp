#include "traces/snapshot/pickle/pickle_writer.hpp"

#include <bit>
#include <limits>
#include <ostream>

namespace foreshard::traces {
namespace {

// By their names in Python's pickle.py.
enum Opcode : unsigned char {
  kMark = '(',
  kStop = '.',
  kBinFloat = 'G',
  kBinInt = 'J',
  kBinInt1 = 'K',
  kBinInt2 = 'M',
  kNone = 'N',
  kBinUnicode = 'X',
  kEmptyList = ']',
  kAppends = 'e',
  kBinGet = 'h',
  kLongBinGet = 'j',
  kSetItems = 'u',
  kEmptyDict = '}',
  kProto = 0x80,
  kTuple2 = 0x86,
  kNewTrue = 0x88,
  kNewFalse = 0x89,
  kLong1 = 0x8a,
  kShortBinUnicode = 0x8c,
  kMemoize = 0x94
};

constexpr unsigned char kProtocol = 4;

}  // namespace

PickleWriter::PickleWriter(std::ostream& out) : out_(out) {
  opcode(kProto);
  opcode(kProtocol);
}

void PickleWriter::opcode(unsigned char code) {
  out_.put(static_cast<char>(code));
}

void PickleWriter::little_endian(std::uint64_t value, int bytes) {
  for (int i = 0; i < bytes; ++i) out_.put(static_cast<char>(value >> (8 * i) & 0xff));
}

void PickleWriter::none() {
  opcode(kNone);
}

void PickleWriter::boolean(bool value) {
  opcode(value ? kNewTrue : kNewFalse);
}

void PickleWriter::integer(std::int64_t value) {
  using Int32 = std::numeric_limits<std::int32_t>;
  const auto bits = static_cast<std::uint64_t>(value);
  if (value >= 0 && value <= 0xff) {
    opcode(kBinInt1);
    little_endian(bits, 1);
  } else if (value >= 0 && value <= 0xffff) {
    opcode(kBinInt2);
    little_endian(bits, 2);
  } else if (value >= Int32::min() && value <= Int32::max()) {
    opcode(kBinInt);
    little_endian(bits, 4);
  } else {
    // As few bytes as hold the value and its sign.
    const auto used = static_cast<int>(std::bit_width(value < 0 ? ~bits : bits)) / 8 + 1;
    opcode(kLong1);
    little_endian(static_cast<std::uint64_t>(used), 1);
    little_endian(bits, used);
  }
}

void PickleWriter::real(double value) {
  opcode(kBinFloat);
  const auto bits = std::bit_cast<std::uint64_t>(value);
  for (int i = 7; i >= 0; --i) little_endian(bits >> (8 * i), 1);
}

void PickleWriter::text(std::string_view value) {
  const auto [known, is_new] = texts_.try_emplace(std::string(value), remembered_);
  if (!is_new) return recall(known->second);
  const bool is_short = value.size() <= 0xff;
  opcode(is_short ? kShortBinUnicode : kBinUnicode);
  little_endian(value.size(), is_short ? 1 : 4);
  out_.write(value.data(), static_cast<std::streamsize>(value.size()));
  remember();
}

void PickleWriter::pair(std::int64_t first, std::int64_t second) {
  integer(first);
  integer(second);
  opcode(kTuple2);
}

void PickleWriter::begin_list() {
  opcode(kEmptyList);
  opcode(kMark);
}

void PickleWriter::end_list() {
  opcode(kAppends);
}

void PickleWriter::begin_dict() {
  opcode(kEmptyDict);
  opcode(kMark);
}

void PickleWriter::end_dict() {
  opcode(kSetItems);
}

PickleWriter::MemoId PickleWriter::remember() {
  opcode(kMemoize);
  return remembered_++;
}

void PickleWriter::recall(MemoId id) {
  const bool is_short = id <= 0xff;
  opcode(is_short ? kBinGet : kLongBinGet);
  little_endian(id, is_short ? 1 : 4);
}

void PickleWriter::finish() {
  opcode(kStop);
}

}  // namespace foreshard::traces

#include "traces/fst/packed_records.hpp"

namespace foreshard::traces {
namespace {

constexpr unsigned kLaneFollows = 1, kStepFollows = 2, kActionShift = 2, kActionMask = 15;
constexpr std::size_t kLongest = 1 + 6 * 10;  // bytes of a record

constexpr PackedRecord kBeforeFirst{0, 0, -1, 0, 0, 0, 0};

std::uint64_t zigzag(std::int64_t n) {
  return (static_cast<std::uint64_t>(n) << 1) ^ static_cast<std::uint64_t>(n >> 63);
}
std::int64_t unzigzag(std::uint64_t n) {
  return static_cast<std::int64_t>(n >> 1) ^ -static_cast<std::int64_t>(n & 1);
}

// Differences wrap, so that any two numbers have one.
std::int64_t minus(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) - static_cast<std::uint64_t>(b));
}
std::int64_t plus(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
}

char* put(char* at, std::int64_t number) {
  std::uint64_t rest = zigzag(number);
  for (; rest >= 0x80; rest >>= 7) *at++ = static_cast<char>(rest | 0x80);
  *at++ = static_cast<char>(rest);
  return at;
}

class Source {
 public:
  explicit Source(std::string_view bytes) : bytes_(bytes) {}
  bool is_empty() const { return bytes_.empty(); }
  bool is_good() const { return is_good_; }

  unsigned byte() {
    if (bytes_.empty()) return is_good_ = false, 0;
    const auto first = static_cast<unsigned char>(bytes_.front());
    bytes_.remove_prefix(1);
    return first;
  }
  std::int64_t number() {
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      const unsigned next = byte();
      value |= static_cast<std::uint64_t>(next & 0x7F) << shift;
      if (next < 0x80) return unzigzag(value);
    }
    is_good_ = false;
    return 0;
  }

 private:
  std::string_view bytes_;
  bool is_good_ = true;
};

}  // namespace

std::string pack(std::span<const PackedRecord> records) {
  std::string blob(records.size() * kLongest, '\0');
  char* at = blob.data();
  PackedRecord last = kBeforeFirst;
  std::int64_t last_address = 0;
  for (const PackedRecord& record : records) {
    *at++ = static_cast<char>((record.lane != last.lane ? kLaneFollows : 0) |
                              (record.step != last.step ? kStepFollows : 0) |
                              static_cast<unsigned>(record.action + 1) << kActionShift);
    if (record.lane != last.lane) at = put(at, record.lane - std::int64_t{last.lane});
    if (record.step != last.step) at = put(at, record.step - std::int64_t{last.step});
    at = put(at, record.attributes - std::int64_t{last.attributes});
    at = put(at, minus(record.start_ns, last.start_ns));
    if (record.action == PackedRecord::kEvent) {
      at = put(at, minus(record.end_ns, record.start_ns));
    } else {
      at = put(at, minus(record.end_ns, last_address));
      last_address = record.end_ns;
    }
    at = put(at, plus(record.value, 1));
    last = record;
  }
  blob.resize(static_cast<std::size_t>(at - blob.data()));
  return blob;
}

bool unpack(std::string_view blob, std::vector<PackedRecord>& records) {
  Source source(blob);
  PackedRecord last = kBeforeFirst;
  std::int64_t last_address = 0;
  bool fits = true;
  const auto moved = [&](std::int32_t from) {
    const std::int64_t to = plus(from, source.number());
    const auto narrow = static_cast<std::int32_t>(to);
    fits = fits && narrow == to;
    return narrow;
  };
  while (!source.is_empty()) {
    const unsigned flags = source.byte();
    if ((flags & kLaneFollows) != 0) last.lane = moved(last.lane);
    if ((flags & kStepFollows) != 0) last.step = moved(last.step);
    last.attributes = moved(last.attributes);
    last.start_ns = plus(last.start_ns, source.number());
    last.action = static_cast<std::int32_t>((flags >> kActionShift) & kActionMask) - 1;
    if (last.action == PackedRecord::kEvent) {
      last.end_ns = plus(last.start_ns, source.number());
    } else {
      last.end_ns = last_address = plus(last_address, source.number());
    }
    last.value = minus(source.number(), 1);
    if (!source.is_good() || !fits) return false;
    records.push_back(last);
  }
  return true;
}

}  // namespace foreshard::traces

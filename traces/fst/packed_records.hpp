// How records are stored while a run is recorded: each as what changed since the one before it, in
// 7 bits a byte, which takes some 10 bytes where the record has 40. Little is written, so recording
// takes little of the processor and the disk from the run.
//
//   flags   bit 0: the lane follows, bit 1: the step follows, bits 2 to 5: the action plus one
//   [lane] [step] attributes  start  end      differences to the record before, the end's to the start;
//                                        of a memory event the address's to the address before
//   value                                plus one
//
// All are zigzag-coded (0, -1, 1, -2, ... as 0, 1, 2, 3, ...). A blob is read without any other.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace foreshard::traces {

// An event, or where `action` is not kEvent a memory event.
struct PackedRecord {
  static constexpr std::int32_t kEvent = -1;
  std::int64_t start_ns;
  std::int64_t end_ns;  // memory: the address
  std::int64_t value;   // processor time; memory: bytes
  std::int32_t attributes;
  std::int32_t lane;  // of the event; memory: any lane of the rank
  std::int32_t step;
  std::int32_t action = kEvent;  // below 15
  bool operator==(const PackedRecord&) const = default;
};
static_assert(sizeof(PackedRecord) == 40);

std::string pack(std::span<const PackedRecord> records);

// Appends what the blob holds to `records`. False when it ends within a record or holds none such as
// pack() writes; what came before is appended all the same.
bool unpack(std::string_view blob, std::vector<PackedRecord>& records);

}  // namespace foreshard::traces

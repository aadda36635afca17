// Packing keeps every record, and no bytes make unpacking go wrong.
#include "traces/fst/packed_records.hpp"

#include <limits>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace foreshard::traces {
namespace {

rc::Gen<PackedRecord> any_record() {
  return rc::gen::build<PackedRecord>(
      rc::gen::set(&PackedRecord::start_ns), rc::gen::set(&PackedRecord::end_ns),
      rc::gen::set(&PackedRecord::value), rc::gen::set(&PackedRecord::attributes),
      rc::gen::set(&PackedRecord::lane), rc::gen::set(&PackedRecord::step),
      rc::gen::set(&PackedRecord::action, rc::gen::inRange(-1, 8)));
}

RC_GTEST_PROP(PackedRecords, ComeBackAsTheyWere, ()) {
  const auto records = *rc::gen::container<std::vector<PackedRecord>>(any_record());
  std::vector<PackedRecord> back;
  RC_ASSERT(unpack(pack(records), back));
  RC_ASSERT(back == records);
}

RC_GTEST_PROP(PackedRecords, KeepWhatStandsBeforeACut, ()) {
  const auto records = *rc::gen::container<std::vector<PackedRecord>>(any_record());
  const std::string blob = pack(records);
  const auto cut = *rc::gen::inRange<std::size_t>(0, blob.size() + 1);
  std::vector<PackedRecord> back;
  unpack(std::string_view(blob).substr(0, cut), back);
  RC_ASSERT(back.size() <= records.size());
  RC_ASSERT(std::equal(back.begin(), back.end(), records.begin()));
}

RC_GTEST_PROP(PackedRecords, SurviveAnyBytes, (const std::string& bytes)) {
  std::vector<PackedRecord> records;
  unpack(bytes, records);
}

TEST(PackedRecords, NumbersOutOfRangeAreDamage) {
  // The second record's step, 2^31 - 1, comes back as a difference; with one more it has no room.
  std::vector<PackedRecord> records(2);
  records[1].step = std::numeric_limits<std::int32_t>::max();
  std::string blob = pack(records);
  std::vector<PackedRecord> back;
  ASSERT_TRUE(unpack(blob, back));
  const std::string difference("\xfe\xff\xff\xff\x0f", 5);
  const auto at = blob.find(difference);
  ASSERT_NE(at, std::string::npos);
  blob.replace(at, difference.size(), std::string("\x80\x80\x80\x80\x10", 5));
  EXPECT_FALSE(unpack(blob, back));
}

TEST(PackedRecords, AreSmallForWhatARunRecords) {
  std::vector<PackedRecord> records;
  for (std::int32_t i = 0; i < 1000; ++i) {
    records.push_back({i * 30'000, i * 30'000 + 25'000, 24'000, i % 400, 3, i / 400});
  }
  EXPECT_LE(pack(records).size(), 12 * records.size());
}

}  // namespace
}  // namespace foreshard::traces

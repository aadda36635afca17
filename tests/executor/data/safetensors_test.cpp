#include "executor/data/safetensors.hpp"

#include <bit>
#include <cmath>
#include <cstring>
#include <numeric>

#include <gtest/gtest.h>
#include <sys/mount.h>

#include "executor/data/safetensors_writer.hpp"
#include "models/base/float_formats.hpp"
#include "tests/temporary_folder.hpp"

namespace foreshard::executor {
namespace {

using tests::read_file;
using tests::TemporaryFolder;

template <typename T>
std::span<const std::byte> bytes_of(const std::vector<T>& values) {
  return std::as_bytes(std::span(values));
}

// A file of this header and data, its length in front.
std::string file_of(const std::string& header, const std::string& data) {
  std::string length(8, '\0');
  for (std::size_t i = 0; i < 8; ++i) length[i] = static_cast<char>(header.size() >> (8 * i));
  return length + header + data;
}

Result<SafetensorsContents> parse(const std::string& file) {
  return parse_safetensors(std::as_bytes(std::span(file)), "w.safetensors");
}

TEST(Safetensors, ReadsBackWhatItWrites) {
  TemporaryFolder folder;
  const auto path = folder.path("w.safetensors");
  std::vector<float> a(6);
  std::iota(a.begin(), a.end(), 0.5f);
  const std::vector<std::uint16_t> b = {0x3f80, 0xc000, 0x7f80};  // 1, -2, infinity in bf16
  auto writer = SafetensorsWriter::create(path,
                                          {{"a", StoredType::f32, {2, 3}},
                                           {"empty", StoredType::f32, {0, 5}},
                                           {"b", StoredType::bf16, {3}}},
                                          {{"format", "pt"}});
  ASSERT_TRUE(writer) << writer.error().text();
  // Pieces need not end where tensors end.
  const auto first = bytes_of(a);
  ASSERT_TRUE(writer->append(first.first(5)));
  ASSERT_TRUE(writer->append(first.subspan(5)));
  ASSERT_TRUE(writer->append(bytes_of(b)));
  EXPECT_FALSE(std::filesystem::exists(path));
  ASSERT_TRUE(writer->finish());

  const auto reader = SafetensorsReader::open(path);
  ASSERT_TRUE(reader) << reader.error().text();
  EXPECT_EQ(reader->tensors().size(), 3u);
  EXPECT_EQ(reader->metadata().at("format"), "pt");
  EXPECT_EQ(reader->find("nothing"), nullptr);
  const auto* tensor = reader->find("a");
  ASSERT_NE(tensor, nullptr);
  EXPECT_EQ(tensor->shape, (std::vector<std::int64_t>{2, 3}));
  std::vector<float> slice(3);
  read_as_float(*tensor, 2, 3, slice.data());
  EXPECT_EQ(slice, (std::vector<float>{2.5f, 3.5f, 4.5f}));
  read_as_float(*reader->find("b"), 0, 3, slice.data());
  EXPECT_EQ(slice, (std::vector<float>{1.0f, -2.0f, INFINITY}));
  EXPECT_EQ(folder.entries(), 1u);
}

TEST(Safetensors, ReadsEveryNumberFormat) {
  struct Case {
    StoredType type;
    std::string bytes;  // little-endian
    float value;
  };
  const Case cases[] = {
      {StoredType::boolean, {1}, 1.0f},
      {StoredType::u8, "\xff", 255.0f},
      {StoredType::i8, "\xff", -1.0f},
      {StoredType::u16, "\xff\xff", 65535.0f},
      {StoredType::i16, "\xfe\xff", -2.0f},
      {StoredType::u32, std::string("\0\0\1\0", 4), 65536.0f},
      {StoredType::i32, "\xfd\xff\xff\xff", -3.0f},
      {StoredType::u64, std::string("\0\0\0\0\1\0\0\0", 8), 4294967296.0f},
      {StoredType::i64, "\xfc\xff\xff\xff\xff\xff\xff\xff", -4.0f},
      {StoredType::f16, std::string("\x00\x3e", 2), 1.5f},
      {StoredType::bf16, std::string("\xc0\x3f", 2), 1.5f},
      {StoredType::f32, std::string("\0\0\xc0\x3f", 4), 1.5f},
      {StoredType::f64, std::string("\0\0\0\0\0\0\xf8\x3f", 8), 1.5f},
  };
  for (const auto& c : cases) {
    // One byte before the tensor, so that its data are not aligned.
    const auto size = c.bytes.size();
    const auto file = file_of(
        "{\"pad\": {\"dtype\": \"U8\", \"shape\": [1], \"data_offsets\": [0, 1]}, "
        "\"x\": {\"dtype\": \"" +
            std::string(name(c.type)) + "\", \"shape\": [1], \"data_offsets\": [1, " +
            std::to_string(1 + size) + "]}}",
        "\7" + c.bytes);
    const auto contents = parse(file);
    ASSERT_TRUE(contents) << contents.error().text();
    float value = 0;
    read_as_float(contents->tensors[1], 0, 1, &value);
    EXPECT_EQ(value, c.value) << name(c.type);
  }
}

TEST(Safetensors, HalfPrecisionConversionsAreExact) {
  EXPECT_EQ(f16_to_float(0x0001), 0x1p-24f);  // the smallest subnormal
  EXPECT_EQ(f16_to_float(0x03ff), 1023 * 0x1p-24f);
  EXPECT_EQ(f16_to_float(0x7bff), 65504.0f);
  EXPECT_EQ(f16_to_float(0xfc00), -INFINITY);
  EXPECT_TRUE(std::isnan(f16_to_float(0x7e00)));
  EXPECT_TRUE(std::signbit(f16_to_float(0x8000)));
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
    const float value = bf16_to_float(static_cast<std::uint16_t>(bits));
    if (!std::isnan(value)) {
      EXPECT_EQ(float_to_bf16(value), bits);
    }
  }
  // Ties go to the even neighbour: 1 + 2^-8 lies between 1 and 1 + 2^-7.
  EXPECT_EQ(float_to_bf16(1.0f + 0x1p-8f), 0x3f80);
  EXPECT_EQ(float_to_bf16(1.0f + 0x1.8p-7f), 0x3f82);
  for (const std::uint32_t nan : {0x7fffffffU, 0x7f800001U, 0xffc00000U, 0xff800001U}) {
    EXPECT_EQ(float_to_bf16(std::bit_cast<float>(nan)), 0x7fc0);
  }
}

TEST(Safetensors, RefusesDamagedFilesAndNamesTheField) {
  const auto tensor = [](const std::string& members) { return "{\"t\": {" + members + "}}"; };
  const std::string type = "\"dtype\": \"F32\", ", shape = "\"shape\": [2], ",
                    offsets = "\"data_offsets\": [0, 8]", data(8, 'x');
  const std::string entry = "\"t\": {" + type + shape + offsets + "}";
  struct Case {
    std::string file, field, message;
  };
  const Case cases[] = {
      {"", "header", "0 bytes"},
      {"\xff\xff\xff\xff\xff\xff\xff\xff{}", "header", "claims 18446744073709551615"},
      {file_of("{}", "").substr(0, 9), "header", "claims 2 bytes"},
      {file_of("{\"t\": ", ""), "header", "not valid JSON"},
      {file_of("{\"\xff\": 1}", ""), "header", "not valid JSON"},
      {file_of("[]", ""), "header", "not a JSON object"},
      {file_of(std::string(100000, '['), ""), "header", "nested too deeply"},
      {file_of("{" + entry + ", " + entry + "}", data), "t", "twice"},
      {file_of(tensor(type + type + shape + offsets), data), "dtype", "twice"},
      {file_of("{\"t\": 3}", data), "t", "not an object"},
      {file_of(tensor(shape + offsets), data), "t", "no dtype"},
      {file_of(tensor("\"dtype\": \"F8_E4M3\", " + shape + offsets), data), "t", "F8_E4M3"},
      {file_of(tensor(type + offsets), data), "t", "shape"},
      {file_of(tensor(type + "\"shape\": [-2], " + offsets), data), "t", "shape"},
      {file_of(tensor(type + "\"shape\": [2.0], " + offsets), data), "t", "shape"},
      {file_of(tensor(type + "\"shape\": [3], " + offsets), data), "t", "[3]"},
      {file_of(tensor(type + "\"shape\": [4611686018427387904, 4], " + offsets), data), "t",
       "4611"},
      {file_of(tensor(type + shape + "\"data_offsets\": [8, 0]"), data), "t", "data_offsets"},
      {file_of(tensor(type + shape + "\"data_offsets\": [0]"), data), "t", "data_offsets"},
      {file_of(tensor(type + shape + "\"data_offsets\": [4, 12]"), data), "t", "begins at byte 4"},
      {file_of(tensor(type + shape + offsets), data.substr(1)), "t", "expected a complete file"},
      {file_of(tensor(type + shape + offsets), data + "x"), "data", "9 bytes"},
      {file_of("{\"__metadata__\": 1}", ""), "__metadata__", "object"},
      {file_of("{\"__metadata__\": {\"a\": 1}}", ""), "__metadata__", "a is not text"},
  };
  for (const auto& c : cases) {
    const auto contents = parse(c.file);
    ASSERT_FALSE(contents) << c.message;
    EXPECT_EQ(contents.error().file, "w.safetensors");
    EXPECT_EQ(contents.error().field, c.field) << contents.error().text();
    EXPECT_NE(contents.error().message.find(c.message), std::string::npos)
        << contents.error().text() << " lacks " << c.message;
  }
}

std::string one_tensor(const std::string& name) {
  return file_of(
      "{\"" + name + "\": {\"dtype\": \"U8\", \"shape\": [1], \"data_offsets\": [0, 1]}}", "x");
}

TEST(Safetensors, ReadsSeveralFilesThroughAnIndexOrAFolder) {
  TemporaryFolder folder;
  folder.write("one.safetensors", one_tensor("a"));
  const auto only = SafetensorsReader::open(folder.path());
  ASSERT_TRUE(only) << only.error().text();
  folder.write("two.safetensors", one_tensor("b"));
  const auto several = SafetensorsReader::open(folder.path());
  ASSERT_FALSE(several);
  EXPECT_NE(several.error().message.find("several"), std::string::npos);

  const auto index = folder.write(
      "model.safetensors.index.json",
      R"({"metadata": {}, "weight_map": {"a": "one.safetensors", "b": "two.safetensors"}})");
  for (const auto& path : {index, folder.path()}) {
    const auto reader = SafetensorsReader::open(path);
    ASSERT_TRUE(reader) << reader.error().text();
    ASSERT_NE(reader->find("b"), nullptr);
    EXPECT_EQ(reader->file_of(*reader->find("b")), folder.path("two.safetensors"));
  }
}

TEST(Safetensors, RefusesBadIndexes) {
  TemporaryFolder folder;
  folder.write("one.safetensors", one_tensor("a"));
  folder.write("again.safetensors", one_tensor("a"));
  struct Case {
    std::string index, message;
  };
  const Case cases[] = {
      {"{", "JSON"},
      {"[]", "weight_map"},
      {R"({"weight_map": {"a": 1}})", "file name"},
      {R"({"weight_map": {"a": "../one.safetensors"}})", "outside"},
      {R"({"weight_map": {"a": ""}})", "outside"},
      {R"({"weight_map": {"a": "none.safetensors"}})", "none.safetensors"},
      {R"({"weight_map": {"b": "one.safetensors"}})", "not in one.safetensors"},
      {R"({"weight_map": {"a": "one.safetensors", "b": "again.safetensors"}})", "is also in"},
  };
  for (const auto& c : cases) {
    const auto reader = SafetensorsReader::open(folder.write("x.index.json", c.index));
    ASSERT_FALSE(reader) << c.index;
    EXPECT_NE(reader.error().text().find(c.message), std::string::npos) << reader.error().text();
  }
  const auto missing = SafetensorsReader::open(folder.path("none.safetensors"));
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().file, folder.path("none.safetensors"));
}

TEST(SafetensorsWriter, LeavesNothingWhenItIsAbandoned) {
  TemporaryFolder folder;
  const auto path = folder.write("w.safetensors", "what was there before");
  {
    auto writer = SafetensorsWriter::create(path, {{"a", StoredType::f32, {4}}});
    ASSERT_TRUE(writer);
    ASSERT_TRUE(writer->append(bytes_of(std::vector<float>{1, 2})));
    EXPECT_THROW((void)writer->finish(), std::logic_error);
  }
  EXPECT_EQ(read_file(path), "what was there before");
  EXPECT_EQ(folder.entries(), 1u);
}

TEST(SafetensorsWriter, SaysWhereItCannotWrite) {
  TemporaryFolder folder;
  for (const auto& path : {folder.path("no/such/w.safetensors"), folder.path(),
                           std::string("/dev/full"), std::string("/proc/w.safetensors")}) {
    const auto writer = SafetensorsWriter::create(path, {});
    ASSERT_FALSE(writer) << path;
    EXPECT_EQ(writer.error().file, path);
  }
}

TEST(SafetensorsWriter, SaysThatTheDiskIsFullOrReadOnly) {
  TemporaryFolder folder;
  if (::mount("none", folder.path().c_str(), "tmpfs", 0, "size=64k") != 0) {
    GTEST_SKIP() << "may not mount a small file system";
  }
  const auto path = folder.path("w.safetensors");
  {
    auto writer = SafetensorsWriter::create(path, {{"a", StoredType::f32, {100000}}});
    ASSERT_TRUE(writer);
    // The first bytes may be collected before they are written.
    auto done = writer->append(bytes_of(std::vector<float>(100000)));
    if (done) done = writer->finish();
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().file, path);
    EXPECT_NE(done.error().message.find("No space left"), std::string::npos);
  }
  EXPECT_EQ(folder.entries(), 0u);
  ASSERT_EQ(::mount("none", folder.path().c_str(), "tmpfs", MS_REMOUNT | MS_RDONLY, ""), 0);
  const auto writer = SafetensorsWriter::create(path, {});
  EXPECT_FALSE(writer);
  if (!writer) {
    EXPECT_NE(writer.error().message.find("Read-only"), std::string::npos);
  }
  ::umount(folder.path().c_str());
}

// What `safetensors.torch.save` of safetensors 0.8.0 returns of a bf16 and an fp32 tensor.
TEST(Safetensors, ReadsWhatHuggingFaceWrites) {
  const std::string header =
      R"({"__metadata__":{"format":"pt"},"model.embed_tokens.weight":{"dtype":"F32","shape":[1,3],)"
      R"("data_offsets":[0,12]},"model.norm.weight":{"dtype":"BF16","shape":[2],)"
      R"("data_offsets":[12,16]}})";
  const std::string data("\x00\x00\x00?\x00\x00\x80?\x00\x00\x00@\xc0?\x00\xc0", 16);
  const TemporaryFolder folder;
  const auto reader = SafetensorsReader::open(
      folder.write("w.safetensors", std::string("\xb8\0\0\0\0\0\0\0", 8) + header + data));
  ASSERT_TRUE(reader) << reader.error().text();
  std::vector<float> values(3);
  read_as_float(*reader->find("model.embed_tokens.weight"), 0, 3, values.data());
  EXPECT_EQ(values, (std::vector<float>{0.5f, 1, 2}));
  values.resize(2);
  read_as_float(*reader->find("model.norm.weight"), 0, 2, values.data());
  EXPECT_EQ(values, (std::vector<float>{1.5f, -2}));
}

TEST(Safetensors, ReadsHuggingFaceFiles) {
  const auto reader = SafetensorsReader::open(
      FORESHARD_SOURCE_DIR "/tests/evidence/training/llama-tiny/model.safetensors");
  ASSERT_TRUE(reader) << reader.error().text();
  std::int64_t elements = 0;
  for (const auto& tensor : reader->tensors()) elements += tensor.elements;
  EXPECT_EQ(elements, 340128);
  EXPECT_NE(reader->find("model.layers.0.self_attn.q_proj.weight"), nullptr);
}

}  // namespace
}  // namespace foreshard::executor

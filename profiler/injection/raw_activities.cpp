#include "profiler/injection/raw_activities.hpp"

#include <algorithm>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string_view>

#include <fcntl.h>
#include <unistd.h>

namespace foreshard::profiler {
namespace {

constexpr std::string_view kMagic = "foreshard activities 3\n";
enum BlockType : std::uint32_t { kTexts = 1, kRecords = 2, kDropped = 3, kEnd = 4 };

struct BlockHeader {
  std::uint32_t type, bytes;
};

// An activity with numbers of texts, the first of which is 1, in the place of pointers.
struct Record {
  std::uint8_t kind, from_memory, to_memory, unused;
  std::uint32_t detail;
  std::int64_t start_ns, end_ns;
  std::uint32_t process, thread, device, context, stream, correlation;
  std::uint64_t id;
  std::int64_t bytes;
  std::uint32_t name, domain;
  std::uint64_t pool;
  std::int64_t pool_bytes;
};
static_assert(sizeof(Record) == 88);

struct DroppedRecord {
  std::int64_t at_ns, records;
};

template <class T>
std::string_view bytes_of(const T& value) {
  return {reinterpret_cast<const char*>(&value), sizeof value};
}

template <class T>
bool take_from(std::string_view& bytes, T& value) {
  if (bytes.size() < sizeof value) return false;
  std::memcpy(&value, bytes.data(), sizeof value);
  bytes.remove_prefix(sizeof value);
  return true;
}

}  // namespace

RawActivityWriter::RawActivityWriter(const std::string& path,
                                     const std::map<std::string, std::string>& header)
    : file_(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600)) {
  std::string text(kMagic);
  for (const auto& [name, value] : header) {
    std::string line = name + "=" + value;
    std::ranges::replace(line, '\n', ' ');
    text += line + "\n";
  }
  text += "\n";
  if (is_open() && ::write(file_, text.data(), text.size()) != std::ssize(text)) {
    ::close(std::exchange(file_, -1));
  }
}

RawActivityWriter::~RawActivityWriter() {
  if (is_open()) ::close(file_);
}

// A block that is not written whole ends the file: what came behind it could not be read.
void RawActivityWriter::write_block(std::uint32_t type, std::string_view bytes) {
  if (!is_open()) return;
  const BlockHeader header{type, static_cast<std::uint32_t>(bytes.size())};
  std::string block(bytes_of(header));
  block += bytes;
  for (std::string_view rest = block; !rest.empty();) {
    const ssize_t written = ::write(file_, rest.data(), rest.size());
    if (written <= 0) return void(::close(std::exchange(file_, -1)));
    rest.remove_prefix(static_cast<std::size_t>(written));
  }
}

std::uint32_t RawActivityWriter::number_of(const char* text) {
  if (text == nullptr) return 0;
  const auto next = static_cast<std::uint32_t>(texts_.size() + 1);
  const auto [found, is_new] = texts_.try_emplace(text, next);
  if (is_new) new_texts_.append(text).push_back('\0');
  return found->second;
}

void RawActivityWriter::take(std::span<const Activity> activities) {
  new_texts_.clear();
  records_.clear();
  for (const Activity& a : activities) {
    const Record record{static_cast<std::uint8_t>(a.kind),
                        a.from_memory,
                        a.to_memory,
                        0,
                        a.detail,
                        a.start_ns,
                        a.end_ns,
                        a.process,
                        a.thread,
                        a.device,
                        a.context,
                        a.stream,
                        a.correlation,
                        a.id,
                        a.bytes,
                        number_of(a.name),
                        number_of(a.domain),
                        a.pool,
                        a.pool_bytes};
    records_ += bytes_of(record);
    last_end_ns_ = std::max(last_end_ns_, a.end_ns);
  }
  if (!new_texts_.empty()) write_block(kTexts, new_texts_);
  if (!records_.empty()) write_block(kRecords, records_);
}

void RawActivityWriter::dropped(std::int64_t records) {
  write_block(kDropped, bytes_of(DroppedRecord{last_end_ns_, records}));
}

void RawActivityWriter::finish() {
  write_block(kEnd, {});
}

namespace {

void read_texts(std::string_view bytes, std::vector<std::string>& texts) {
  for (auto end = bytes.find('\0'); end != std::string_view::npos; end = bytes.find('\0')) {
    texts.emplace_back(bytes.substr(0, end));
    bytes.remove_prefix(end + 1);
  }
}

void read_records(std::string_view bytes, std::vector<Record>& records) {
  for (Record record{}; take_from(bytes, record);) {
    if (record.kind < static_cast<std::uint8_t>(ActivityKind::kCount)) records.push_back(record);
  }
}

// Once all texts are there, as names point to them.
Activity activity_of(const Record& record, const std::vector<std::string>& texts) {
  const auto text = [&](std::uint32_t number) {
    return number == 0 || number > texts.size() ? nullptr : texts[number - 1].c_str();
  };
  Activity a;
  a.kind = static_cast<ActivityKind>(record.kind);
  a.detail = record.detail;
  a.from_memory = record.from_memory;
  a.to_memory = record.to_memory;
  a.start_ns = record.start_ns;
  a.end_ns = record.end_ns;
  a.process = record.process;
  a.thread = record.thread;
  a.device = record.device;
  a.context = record.context;
  a.stream = record.stream;
  a.correlation = record.correlation;
  a.id = record.id;
  a.bytes = record.bytes;
  a.pool = record.pool;
  a.pool_bytes = record.pool_bytes;
  a.name = text(record.name);
  a.domain = text(record.domain);
  return a;
}

// Returns what stands behind the header's empty line.
std::string_view read_header(std::string_view rest, std::map<std::string, std::string>& header) {
  for (auto end = rest.find('\n'); end != std::string_view::npos; end = rest.find('\n')) {
    const std::string_view line = rest.substr(0, end);
    rest.remove_prefix(end + 1);
    if (line.empty()) return rest;
    const auto equals = line.find('=');
    if (equals == std::string_view::npos) continue;
    header[std::string(line.substr(0, equals))] = line.substr(equals + 1);
  }
  return {};
}

}  // namespace

Result<RawActivities> read_raw_activities(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  const std::string bytes((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  return parse_raw_activities(bytes, path);
}

Result<RawActivities> parse_raw_activities(std::string_view rest, const std::string& path) {
  if (!rest.starts_with(kMagic)) {
    return fail(path, "", "is not a file of activities; expected what a profiled process writes");
  }
  RawActivities raw;
  rest = read_header(rest.substr(kMagic.size()), raw.header);
  std::vector<Record> records;
  for (BlockHeader block{}; take_from(rest, block) && rest.size() >= block.bytes;
       rest.remove_prefix(block.bytes)) {
    std::string_view contents = rest.substr(0, block.bytes);
    if (block.type == kTexts) read_texts(contents, raw.texts);
    if (block.type == kRecords) read_records(contents, records);
    DroppedRecord dropped{};
    if (block.type == kDropped && take_from(contents, dropped)) {
      raw.dropped.emplace_back(dropped.at_ns, dropped.records);
    }
    raw.is_complete = block.type == kEnd;
  }
  for (const Record& record : records) raw.activities.push_back(activity_of(record, raw.texts));
  return raw;
}

}  // namespace foreshard::profiler

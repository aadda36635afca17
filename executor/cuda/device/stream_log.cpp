#include "executor/cuda/device/stream_log.hpp"

#include <algorithm>
#include <atomic>
#include <utility>

#include "executor/cuda/device/driver_call.hpp"

namespace foreshard::executor::cuda {
namespace {

constexpr std::size_t kApart = 8;  // words; each has a cache line

// The place of a tag in the order of issue, reported or not.
constexpr Tag place(Tag tag) {
  return tag & ~kUnreported;
}

// What cudaHostAlloc returns has the same address on the device ("Unified Addressing" in the runtime's
// reference). Before the write the stream finishes all earlier work.
void write_word(cudaStream_t stream, std::uint64_t& word, std::uint64_t value) {
  using Write = CUresult(CUstream, CUdeviceptr, cuuint64_t, unsigned);
  static Write* const write = [] {
    Write* found = nullptr;
    look_up("cuStreamWriteValue64", "streams", found);
    return found;
  }();
  check(write(stream, reinterpret_cast<CUdeviceptr>(&word), value, CU_STREAM_WRITE_VALUE_DEFAULT),
        "cuStreamWriteValue64");
}

}  // namespace

std::size_t StreamLog::reached() const {
  const std::uint64_t number = std::atomic_ref(word_).load(std::memory_order_relaxed);
  return static_cast<std::size_t>(number - first_kept_);
}

void StreamLog::issued(Tag tag) {
  if (tag == kNoTag) return;
  bool is_long = false;
  {
    const std::scoped_lock lock(mutex_);
    open_.last = place(tag);
    if (open_.first == kNoTag) open_.first = open_.last;
    is_long = ++open_.count - ended_.back().count == kLongest;
  }
  if (is_long) end();
}

void StreamLog::mark() {
  if (open_.first != kNoTag) end();
}

void StreamLog::begin_collective(const void* communicator, const char* operation) {
  end({.communicator = communicator, .operation = operation});
}

void StreamLog::begin_launch(std::shared_ptr<StreamLogs> graph, Tag later) {
  end({.graph = std::move(graph), .later = later});
}

void StreamLog::end() {
  end({});
}

void StreamLog::end(Stretch next) {
  std::uint64_t number = 0;
  {
    const std::scoped_lock lock(mutex_);
    if (open_.graph != nullptr) {
      const Progress graph = open_.graph->all();
      open_.count += graph.retired;
      open_.last = std::max(open_.last, graph.last_instruction + open_.later);
    }
    next.count = open_.count;
    next.last = open_.last;
    ended_.push_back(std::exchange(open_, std::move(next)));
    number = first_kept_ + ended_.size() - 1;
    for (std::size_t passed = reached(); passed > 0; --passed, ++first_kept_) ended_.pop_front();
  }
  write_word(stream_, word_, number);
}

Progress StreamLog::progress() {
  const std::scoped_lock lock(mutex_);
  const std::size_t last = reached();
  Progress done{ended_[last].count, ended_[last].last};
  if (const Stretch& in = stretch(last + 1); in.graph != nullptr) {
    done += in.graph->progress(in.later);
  }
  return done;
}

bool StreamLog::has_finished(Tag last) {
  const std::scoped_lock lock(mutex_);
  for (std::size_t i = reached() + 1; i <= ended_.size(); ++i) {
    if (stretch(i).first != kNoTag) return stretch(i).first > place(last);
  }
  return true;
}

const char* StreamLog::collective(const void* communicator) {
  const std::scoped_lock lock(mutex_);
  const Stretch& in = stretch(reached() + 1);
  if (in.graph != nullptr) return in.graph->collective(communicator);
  return in.communicator == communicator ? in.operation : nullptr;
}

Progress StreamLog::all() {
  const std::scoped_lock lock(mutex_);
  return {open_.count, open_.last};
}

StreamLogs::StreamLogs(std::span<const cudaStream_t> streams) {
  const std::size_t words = streams.size() * kApart;
  void* memory = nullptr;
  check(cudaHostAlloc(&memory, words * sizeof(std::uint64_t), cudaHostAllocPortable),
        "cudaHostAlloc");
  words_ = static_cast<std::uint64_t*>(memory);
  std::fill_n(words_, words, std::uint64_t{0});
  for (std::size_t s = 0; s < streams.size(); ++s) {
    logs_.emplace_back(streams[s], words_[s * kApart]);
  }
}

StreamLogs::~StreamLogs() {
  static_cast<void>(cudaFreeHost(words_));
}

void StreamLogs::mark() {
  for (StreamLog& log : logs_) log.mark();
}

void StreamLogs::begin_anew(cudaStream_t stream) {
  for (StreamLog& log : logs_) write_word(stream, log.word_, 0);
}

Progress StreamLogs::progress(Tag later) {
  Progress all;
  for (StreamLog& log : logs_) {
    Progress of_stream = log.progress();
    if (of_stream.retired > 0) of_stream.last_instruction += later;
    all += of_stream;
  }
  return all;
}

bool StreamLogs::has_finished(Tag last) {
  return std::ranges::all_of(logs_, [last](StreamLog& log) { return log.has_finished(last); });
}

const char* StreamLogs::collective(const void* communicator) {
  for (StreamLog& log : logs_) {
    if (const char* operation = log.collective(communicator)) return operation;
  }
  return nullptr;
}

Progress StreamLogs::all() {
  Progress all;
  for (StreamLog& log : logs_) all += log.all();
  return all;
}

}  // namespace foreshard::executor::cuda

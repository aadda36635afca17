#include "executor/cuda/device/stream_marks.hpp"

#include "executor/cuda/device/events.hpp"

namespace foreshard::executor::cuda {
namespace {

// The place of a tag in the order of issue, reported or not.
constexpr Tag place(Tag tag) {
  return tag & ~kUnreported;
}

}  // namespace

StreamMarks::~StreamMarks() {
  for (const Mark& mark : marks_) static_cast<void>(cudaEventDestroy(mark.event));
  for (const cudaEvent_t event : unused_) static_cast<void>(cudaEventDestroy(event));
}

void StreamMarks::issued(Tag tag) {
  if (tag == kNoTag) return;
  const std::scoped_lock lock(mutex_);
  last_issued_ = place(tag);
  const std::uint64_t marked = marks_.empty() ? finished_ : marks_.back().count;
  if (issued_ == marked) (marks_.empty() ? next_ : marks_.back().next) = last_issued_;
  if (++issued_ % kStride == 0) mark();
}

void StreamMarks::mark_all() {
  const std::scoped_lock lock(mutex_);
  look();
  if (issued_ > (marks_.empty() ? finished_ : marks_.back().count)) mark();
}

void StreamMarks::mark() {
  Mark next{last_issued_, issued_};
  if (unused_.empty()) {
    next.event = new_event();
  } else {
    next.event = unused_.back();
    unused_.pop_back();
  }
  check(cudaEventRecord(next.event, stream_), "cudaEventRecord");
  marks_.push_back(next);
}

void StreamMarks::look() {
  while (!marks_.empty() && cudaEventQuery(marks_.front().event) == cudaSuccess) {
    finished_ = marks_.front().count;
    last_finished_ = marks_.front().tag;
    next_ = marks_.front().next;
    unused_.push_back(marks_.front().event);
    marks_.pop_front();
  }
}

bool StreamMarks::has_finished(Tag last) {
  const std::scoped_lock lock(mutex_);
  look();
  if (finished_ == issued_ || next_ > place(last)) return true;
  const bool is_marked = !marks_.empty() && marks_.back().tag >= place(last);
  if (!is_marked && (marks_.empty() || marks_.back().count < issued_)) mark();
  return false;
}

std::uint64_t StreamMarks::finished() {
  const std::scoped_lock lock(mutex_);
  look();
  return finished_;
}

}  // namespace foreshard::executor::cuda

#include "executor/communication/meeting.hpp"

#include <cstring>
#include <stdexcept>
#include <string>

namespace foreshard::executor {
namespace {

bool are_alike(const Contribution& a, const Contribution& b) {
  return std::strcmp(a.operation, b.operation) == 0 && a.size == b.size && a.type == b.type &&
         a.reduction == b.reduction;
}

std::string text(const Contribution& c) {
  return std::string(c.operation) + " of " + std::to_string(c.size);
}

}  // namespace

Meeting::Meeting(std::span<Device* const> devices) : members(devices.size()) {
  for (std::size_t i = 0; i < devices.size(); ++i) members[i].rank = devices[i]->rank();
}

void Attendance::begin(const Contribution& mine) {
  parity_ ^= 1U;
  me().contributions[parity_] = mine;
  meet();
  for (const Meeting::Member& other : meeting_->members) {
    const Contribution& theirs = other.contributions[parity_];
    if (are_alike(theirs, mine)) continue;
    throw std::logic_error("ranks do not agree on a collective: " + text(mine) + " here, " +
                           text(theirs) + " on rank " + std::to_string(other.rank));
  }
}

void Attendance::meet() {
  auto& arrivals = meeting_->arrivals;
  const std::uint32_t needed = needed_ += static_cast<std::uint32_t>(meeting_->members.size());
  me().met.fetch_add(1, std::memory_order_release);
  std::uint32_t come = arrivals.fetch_add(1, std::memory_order_acq_rel) + 1;
  if (come == needed) return RunControl::wake(arrivals);
  me().waits_in.store(contribution(index_).operation, std::memory_order_release);
  while (static_cast<std::int32_t>(come - needed) < 0) {
    run_.wait(arrivals, come);
    come = arrivals.load(std::memory_order_acquire);
  }
  me().waits_in.store(nullptr, std::memory_order_release);
}

void Attendance::add_waits(std::vector<Wait>& waits) const {
  const Meeting::Member& me = meeting_->members[static_cast<std::size_t>(index_)];
  const char* operation = me.waits_in.load(std::memory_order_acquire);
  if (operation == nullptr) return;
  const std::uint32_t met = me.met.load(std::memory_order_acquire);
  for (const Meeting::Member& other : meeting_->members) {
    const std::uint32_t behind = met - other.met.load(std::memory_order_acquire);
    if (static_cast<std::int32_t>(behind) > 0) waits.push_back({me.rank, other.rank, operation});
  }
}

}  // namespace foreshard::executor

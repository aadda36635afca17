#include "executor/communication/communicators.hpp"

#include <utility>

#include "executor/communication/local_communicator.hpp"
#include "executor/communication/message_communicator.hpp"

namespace foreshard::executor {
namespace {

std::vector<int> ranks_of(const RankPlace::Membership& group) {
  std::vector<int> ranks;
  for (int i = 0; i < group.size; ++i) ranks.push_back(group.first_rank + i * group.stride);
  return ranks;
}

}  // namespace

Communicators::Communicators(RunControl& run, std::span<const Member> members, Transport* transport,
                             LocalCommunicatorFactory meet)
    : meet_(meet ? std::move(meet) : make_local_communicators), groups_(members.size()) {
  const std::size_t groups = members[0].place.groups.size();
  for (auto& of_member : groups_) of_member.resize(groups);
  for (std::size_t group = 0; group < groups; ++group) {
    if (transport == nullptr) {
      meet_in_memory(run, members, group);
      continue;
    }
    const Member& only = members[0];
    own(make_message_communicator(run, only.device, *transport, ranks_of(only.place.groups[group]),
                                  static_cast<int>(group)),
        0, group);
  }
}

void Communicators::meet_in_memory(RunControl& run, std::span<const Member> members,
                                   std::size_t group) {
  for (const Member& first : members) {
    if (first.place.groups[group].index != 0) continue;
    const std::vector<int> ranks = ranks_of(first.place.groups[group]);
    std::vector<Device*> devices;
    for (const int rank : ranks) {
      devices.push_back(&members[static_cast<std::size_t>(rank)].device);
    }
    auto made = meet_(run, devices);
    for (std::size_t i = 0; i < made.size(); ++i) {
      own(std::move(made[i]), static_cast<std::size_t>(ranks[i]), group);
    }
  }
}

void Communicators::own(std::unique_ptr<Communicator> communicator, std::size_t member,
                        std::size_t group) {
  groups_[member][group] = communicator.get();
  owned_.push_back(std::move(communicator));
}

std::vector<const WaitSource*> Communicators::wait_sources() const {
  std::vector<const WaitSource*> sources;
  for (const auto& communicator : owned_) sources.push_back(communicator.get());
  return sources;
}

}  // namespace foreshard::executor

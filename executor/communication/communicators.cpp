#include "executor/communication/communicators.hpp"

#include <algorithm>
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

std::vector<std::unique_ptr<Communicator>> meet_in_memory(RunControl& run,
                                                          std::span<Device* const> devices,
                                                          std::span<const int> /*ranks*/,
                                                          Transport* /*transport*/) {
  return make_local_communicators(run, devices);
}

CommunicatorFactory send_messages(std::span<const int> nodes, int channel) {
  return [nodes, channel](RunControl& run, std::span<Device* const> devices,
                          std::span<const int> ranks, Transport* transport) {
    std::vector<int> of_members;
    for (const int rank : ranks) of_members.push_back(nodes[static_cast<std::size_t>(rank)]);
    std::vector<std::unique_ptr<Communicator>> made;
    made.push_back(make_message_communicator(run, *devices[0], *transport,
                                             {ranks.begin(), ranks.end()}, channel,
                                             {std::move(of_members)}));
    return made;
  };
}

}  // namespace

Communicators::Communicators(RunControl& run, std::span<const Member> members, Transport* transport,
                             std::span<const int> nodes, const CommunicatorFactory& make)
    : groups_(members.size()) {
  const std::size_t groups = members[0].place.groups.size();
  for (auto& of_member : groups_) of_member.resize(groups);
  for (std::size_t group = 0; group < groups; ++group) {
    if (make) {
      if (!share_group(members, group)) make_group(run, members, transport, make, group);
    } else if (transport == nullptr) {
      make_group(run, members, transport, meet_in_memory, group);
    } else {
      make_group(run, members, transport, send_messages(nodes, static_cast<int>(group)), group);
    }
  }
}

// A group of the same ranks as an earlier one has its communicators, as process groups in PyTorch:
// those of NCCL take hundreds of MiB each.
bool Communicators::share_group(std::span<const Member> members, std::size_t group) {
  for (std::size_t earlier = 0; earlier < group; ++earlier) {
    const auto is_same = [&](const Member& member) {
      const auto& groups = member.place.groups;
      return ranks_of(groups[earlier]) == ranks_of(groups[group]);
    };
    if (!std::ranges::all_of(members, is_same)) continue;
    for (GroupCommunicators& of_member : groups_) of_member[group] = of_member[earlier];
    return true;
  }
  return false;
}

// Once for each group that has members here.
void Communicators::make_group(RunControl& run, std::span<const Member> members,
                               Transport* transport, const CommunicatorFactory& make,
                               std::size_t group) {
  for (const Member& first : members) {
    if (groups_[static_cast<std::size_t>(&first - members.data())][group] != nullptr) continue;
    const std::vector<int> ranks = ranks_of(first.place.groups[group]);
    std::vector<Device*> devices;
    std::vector<Communicator**> places;
    for (std::size_t i = 0; i < members.size(); ++i) {
      if (ranks_of(members[i].place.groups[group]) != ranks) continue;
      devices.push_back(&members[i].device);
      places.push_back(&groups_[i][group]);
    }
    auto made = make(run, devices, ranks, transport);
    for (std::size_t i = 0; i < made.size(); ++i) {
      *places[i] = made[i].get();
      owned_.push_back(std::move(made[i]));
    }
  }
}

std::vector<const WaitSource*> Communicators::wait_sources() const {
  std::vector<const WaitSource*> sources;
  for (const auto& communicator : owned_) sources.push_back(communicator.get());
  return sources;
}

}  // namespace foreshard::executor

// The communicators of the ranks of this process, by group: the one place that decides of which
// kind they are. Ranks on the host that are threads meet in memory, and those that are processes
// send messages; what other devices need is made by a factory.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "executor/communication/communicator.hpp"
#include "executor/communication/transport.hpp"
#include "executor/device/device.hpp"
#include "models/sharding/places.hpp"

namespace foreshard::executor {

// One rank's, by group.
using GroupCommunicators = std::vector<Communicator*>;

// Makes the communicators of the members of one group that are in this process, in the order of
// their devices, on which it depends. `ranks`: the group's, by index. Where ranks are processes,
// all of them call it together, each for its group.
using CommunicatorFactory = std::function<std::vector<std::unique_ptr<Communicator>>(
    RunControl& run, std::span<Device* const> devices, std::span<const int> ranks,
    Transport* transport)>;

class Communicators {
 public:
  // A rank of this process.
  struct Member {
    Device& device;
    const RankPlace& place;
  };

  // `members`: all ranks in order, or, with a transport, the one that is this process. `nodes`: with a
  // transport, where each rank is. `make`: nothing, for those of the host. Devices, transport and run
  // outlive the collectives.
  Communicators(RunControl& run, std::span<const Member> members, Transport* transport,
                std::span<const int> nodes, const CommunicatorFactory& make = {});

  const GroupCommunicators& of(std::size_t member) const { return groups_[member]; }
  std::vector<const WaitSource*> wait_sources() const;

 private:
  bool share_group(std::span<const Member> members, std::size_t group);
  void make_group(RunControl& run, std::span<const Member> members, Transport* transport,
                  const CommunicatorFactory& make, std::size_t group);

  std::vector<std::unique_ptr<Communicator>> owned_;
  std::vector<GroupCommunicators> groups_;  // by member
};

}  // namespace foreshard::executor

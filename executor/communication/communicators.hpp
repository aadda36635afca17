// The communicators of the ranks of this process: the one place that decides of which kind they are.
// Ranks that are threads meet in memory; a rank that is a process sends messages.
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

// Makes one communicator for each member of a group whose ranks are threads of this process, by index.
using LocalCommunicatorFactory = std::function<std::vector<std::unique_ptr<Communicator>>(
    RunControl& run, std::span<Device* const> devices)>;

class Communicators {
 public:
  // A rank of this process.
  struct Member {
    Device& device;
    const RankPlace& place;
  };

  // `members`: all ranks in order, or, with a transport, the one that is this process. Devices,
  // transport and run outlive the collectives.
  Communicators(RunControl& run, std::span<const Member> members, Transport* transport,
                LocalCommunicatorFactory meet = {});

  const GroupCommunicators& of(std::size_t member) const { return groups_[member]; }
  std::vector<const WaitSource*> wait_sources() const;

 private:
  void meet_in_memory(RunControl& run, std::span<const Member> members, std::size_t group);
  void own(std::unique_ptr<Communicator> communicator, std::size_t member, std::size_t group);

  const LocalCommunicatorFactory meet_;
  std::vector<std::unique_ptr<Communicator>> owned_;
  std::vector<GroupCommunicators> groups_;  // by member
};

}  // namespace foreshard::executor

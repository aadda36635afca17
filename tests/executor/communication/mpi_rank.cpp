// One rank of a run under mpirun, started by mpi_test: checks the collectives, or steps until the
// fault that FORESHARD_FAULT orders. The way it ends is the way a training run ends.
#include <cstdio>
#include <numeric>

#include <gtest/gtest.h>

#include "executor/communication/message_communicator.hpp"
#include "executor/device/fault.hpp"
#include "tests/executor/communication/communicator_checks.hpp"

namespace foreshard::executor {
namespace {

void run_steps(Device& device, Communicator& world, const Fault& fault) {
  for (std::int64_t step = 1; step <= 5; ++step) {
    fault.maybe_fail(device.rank(), step);
    for (int i = 0; i < 10; ++i) world.barrier(Stream::compute, static_cast<Tag>(step));
    device.synchronize();
  }
}

void end_all(Transport& transport, const Failure& failure) {
  std::fprintf(stderr, "%s\n", failure.text().c_str());
  transport.abort(1);
}

// Longer than one message, to one rank only.
void check_long_gather(RunControl& run, Transport& transport) {
  const std::size_t length = Transport::kLongestMessage + 12'345;
  const std::string mine = transport.rank() == 1 ? std::string(length, 'x') + "end" : "short";
  const auto all = gather(run, transport, mine, 0, length + 3);
  ASSERT_EQ(all.empty(), transport.rank() != 0);
  if (all.empty()) return;
  EXPECT_EQ(all[1].size(), length + 3);
  EXPECT_EQ(all[1].find_first_not_of('x'), length);
  EXPECT_TRUE(all[1].ends_with("end"));
  EXPECT_EQ(all[2], "short");
}

// One rank fails where nobody catches it, while the others wait for it.
int run_unwinding() {
  const auto transport = load_mpi_transport(FORESHARD_BINARY_DIR "/bin");
  if ((*transport)->rank() == 1) throw std::runtime_error("out of paper");
  RunControl run((*transport)->size());
  exchange(run, **transport, "done");
  return 0;
}

int run_rank(bool checks) {
  auto transport = load_mpi_transport(FORESHARD_BINARY_DIR "/bin");
  if (!transport) {
    std::fprintf(stderr, "%s\n", transport.error().text().c_str());
    return 2;
  }
  const int rank = (*transport)->rank();
  RunControl run((*transport)->size());
  std::vector<int> ranks(static_cast<std::size_t>(run.ranks()));
  std::iota(ranks.begin(), ranks.end(), 0);
  try {
    Agreements agreements{OutOfMemoryAgreement(run.ranks()), LastStepAgreement(rank, run.ranks())};
    const auto heartbeat = make_heartbeat(run, agreements, **transport);
    std::unique_ptr<Communicator> world;  // goes after the device's streams
    CpuDevice device(run, rank, fsdp2_streams());
    world = make_message_communicator(run, device, **transport, ranks, 3);
    WatchdogOptions options;
    options.hang_timeout = Nanoseconds{checks ? 20'000'000'000 : 2'000'000'000};
    options.heartbeat = heartbeat.get();
    options.on_overdue = [&](const Failure& failure) { end_all(**transport, failure); };
    const Watchdog watchdog(run, {world.get()}, options);
    if (checks) {
      check_communicator(run, *world, device);
      check_long_gather(run, **transport);
      check_all_gather(*world, device, Stream::compute, 30'000'001);
      check_reductions<float>(*world, device, Stream::compute, 2'000'003, Reduction::average, 99);
    } else {
      run_steps(device, *world, fault_from_environment().value());
    }
    exchange(run, **transport, "done");
  } catch (const std::exception& error) {
    run.fail(rank, error.what());
  }
  if (const auto failure = run.failure()) end_all(**transport, *failure);
  return 0;
}

}  // namespace
}  // namespace foreshard::executor

int main(int argc, char** argv) {
  GTEST_FLAG_SET(throw_on_failure, true);
  testing::InitGoogleTest(&argc, argv);
  const std::string what = argc > 1 ? argv[1] : "";
  try {
    return what == "unwinds" ? foreshard::executor::run_unwinding()
                             : foreshard::executor::run_rank(what == "checks");
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}

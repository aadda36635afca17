#include "cli/train_processes.hpp"

#include <algorithm>
#include <span>

#include "executor/communication/launcher.hpp"
#include "executor/communication/meeting_point.hpp"
#include "executor/communication/tcp_transport.hpp"
#include "models/sharding/job.hpp"
#include "traces/processors.hpp"

namespace foreshard::cli {
namespace {

using executor::CommKind;
using executor::LaunchedRank;

Result<void> check_size(const Job& job, int processes) {
  if (processes == job.ranks) return {};
  return fail("", "--ranks",
              std::to_string(job.ranks) + " ranks were requested but " + std::to_string(processes) +
                  " processes were started; expected the same number, as in `mpirun -n " +
                  std::to_string(job.ranks) + " foreshard train ...`");
}

Result<std::unique_ptr<executor::Transport>> connect_by_mpi(const Job& job) {
  auto transport = executor::load_mpi_transport(executor::module_directory());
  if (!transport) return transport;
  if (auto ok = check_size(job, (*transport)->size()); !ok) return tl::unexpected(ok.error());
  return transport;
}

Result<std::unique_ptr<executor::Transport>> connect_by_tcp(
    const Job& job, const LaunchedRank& launched, const executor::Environment& environment,
    std::uint64_t job_hash, Nanoseconds hang_timeout) {
  if (auto ok = check_size(job, launched.size); !ok) return tl::unexpected(ok.error());
  const auto point = executor::meeting_point(launched, environment);
  if (!point) return tl::unexpected(point.error());
  return executor::connect_by_tcp({launched.rank,
                                   launched.local_size,
                                   *point,
                                   {job.ranks, job_hash, executor::build_of_this_program()}},
                                  hang_timeout);
}

}  // namespace

Result<Processes> join_processes(const Job& job, const std::string& comm, bool on_gpus,
                                 std::uint64_t job_hash, Nanoseconds hang_timeout) {
  const auto environment = executor::process_environment();
  const auto launched = executor::launched_rank(environment, comm);
  if (!launched) return tl::unexpected(launched.error());
  const auto choice = executor::choose_comm(comm, *launched, environment, on_gpus);
  if (!choice) return tl::unexpected(choice.error());
  Processes out;
  out.uses_nccl = choice->uses_nccl;
  if (choice->kind == CommKind::local) {
    out.ranks_here = job.ranks;
    out.cores = traces::cores();
    out.threads_per_rank = std::max(1, out.cores / job.ranks);
    return out;
  }
  auto transport = choice->kind == CommKind::mpi
                       ? connect_by_mpi(job)
                       : connect_by_tcp(job, **launched, environment, job_hash, hang_timeout);
  if (!transport) return tl::unexpected(transport.error());
  out.transport = std::move(*transport);
  std::vector<traces::Processors> all;
  executor::RunControl control(job.ranks);
  for (const std::string& text :
       executor::exchange(control, *out.transport, traces::to_text(traces::own_processors()))) {
    all.push_back(traces::processors_from_text(text));
  }
  const auto me = static_cast<std::size_t>(out.transport->rank());
  const auto here = [&](std::size_t ranks) {
    return static_cast<int>(
        std::ranges::count(std::span(all).first(ranks), all[me].node, &traces::Processors::node));
  };
  out.ranks_here = here(all.size());
  out.index_here = here(me);
  out.cores = traces::total_cores(all);
  out.threads_per_rank = traces::share_of_cores(all, me);
  return out;
}

}  // namespace foreshard::cli

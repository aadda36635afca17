#include "cli/processes.hpp"

#include <algorithm>
#include <span>

#include "executor/communication/launcher.hpp"
#include "executor/communication/meeting_point.hpp"
#include "executor/communication/tcp_transport.hpp"
#include "traces/processors.hpp"

namespace foreshard::cli {
namespace {

using executor::CommKind;
using executor::LaunchedRank;

Result<void> check_size(std::optional<int> ranks, int processes) {
  if (processes == ranks.value_or(processes)) return {};
  return fail("", "--ranks",
              std::to_string(*ranks) + " ranks were requested but " + std::to_string(processes) +
                  " processes were started; expected the same number, as in `mpirun -n " +
                  std::to_string(*ranks) + " foreshard train ...`");
}

Result<std::unique_ptr<executor::Transport>> connect_by_mpi(std::optional<int> ranks) {
  auto transport = executor::load_mpi_transport(executor::module_directory());
  if (!transport) return transport;
  if (auto ok = check_size(ranks, (*transport)->size()); !ok) return tl::unexpected(ok.error());
  return transport;
}

Result<std::unique_ptr<executor::Transport>> connect_by_tcp(
    std::optional<int> ranks, const LaunchedRank& launched,
    const executor::Environment& environment, std::uint64_t hash, Nanoseconds hang_timeout) {
  if (auto ok = check_size(ranks, launched.size); !ok) return tl::unexpected(ok.error());
  const auto point = executor::meeting_point(launched, environment);
  if (!point) return tl::unexpected(point.error());
  return executor::connect_by_tcp({launched.rank,
                                   launched.local_size,
                                   *point,
                                   {launched.size, hash, executor::build_of_this_program()}},
                                  hang_timeout);
}

}  // namespace

Result<Processes> join_processes(std::optional<int> ranks, const std::string& comm, bool on_gpus,
                                 std::uint64_t hash, Nanoseconds hang_timeout) {
  const auto environment = executor::process_environment();
  const auto launched = executor::launched_rank(environment, comm);
  if (!launched) return tl::unexpected(launched.error());
  const auto choice = executor::choose_comm(comm, *launched, environment, on_gpus);
  if (!choice) return tl::unexpected(choice.error());
  Processes out;
  out.uses_nccl = choice->uses_nccl;
  const bool is_alone = !ranks && *launched && (*launched)->size == 1;
  if (choice->kind == CommKind::local || is_alone) {
    out.ranks_here = ranks.value_or(1);
    out.cores = traces::cores();
    out.threads_per_rank = std::max(1, out.cores / out.ranks_here);
    return out;
  }
  auto transport = choice->kind == CommKind::mpi
                       ? connect_by_mpi(ranks)
                       : connect_by_tcp(ranks, **launched, environment, hash, hang_timeout);
  if (!transport) return tl::unexpected(transport.error());
  out.transport = std::move(*transport);
  std::vector<traces::Processors> all;
  executor::RunControl control(out.transport->size());
  for (const std::string& text :
       executor::exchange(control, *out.transport, traces::to_text(traces::own_processors()))) {
    all.push_back(traces::processors_from_text(text));
  }
  const auto me = static_cast<std::size_t>(out.transport->rank());
  for (const traces::Processors& of_rank : all) {
    const auto first = std::ranges::find(all, of_rank.node, &traces::Processors::node);
    out.nodes.push_back(static_cast<int>(first - all.begin()));
  }
  const auto here = [&](std::size_t count) {
    return static_cast<int>(std::ranges::count(std::span(out.nodes).first(count), out.nodes[me]));
  };
  out.ranks_here = here(all.size());
  out.index_here = here(me);
  out.cores = traces::total_cores(all);
  out.threads_per_rank = traces::share_of_cores(all, me);
  return out;
}

}  // namespace foreshard::cli

#include "cli/commands.hpp"

namespace foreshard::cli {

std::vector<std::unique_ptr<Command>> all_commands() {
  std::vector<std::unique_ptr<Command>> commands;
  for (const auto make :
       {make_predict, make_rehearse,   make_search,    make_collective, make_plan,    make_list,
        make_program, make_train,      make_calibrate, make_fit,        make_inspect, make_compare,
        make_query,   make_replay,     make_whatif,    make_profile,    make_import,  make_export,
        make_gui,     make_completion, make_manual}) {
    commands.push_back(make());
  }
  return commands;
}

}  // namespace foreshard::cli

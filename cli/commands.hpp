// Every command of the program. Each is made in a source file of its name; those that work on traces
// share trace_commands.cpp.
#pragma once

#include <memory>
#include <vector>

#include "cli/common/command.hpp"

namespace foreshard::cli {

std::unique_ptr<Command> make_predict();
std::unique_ptr<Command> make_rehearse();
std::unique_ptr<Command> make_search();
std::unique_ptr<Command> make_program();
std::unique_ptr<Command> make_plan();
std::unique_ptr<Command> make_list();
std::unique_ptr<Command> make_collective();
std::unique_ptr<Command> make_train();
std::unique_ptr<Command> make_calibrate();
std::unique_ptr<Command> make_fit();
std::unique_ptr<Command> make_inspect();
std::unique_ptr<Command> make_compare();
std::unique_ptr<Command> make_query();
std::unique_ptr<Command> make_export();
std::unique_ptr<Command> make_import();
std::unique_ptr<Command> make_profile();
std::unique_ptr<Command> make_replay();
std::unique_ptr<Command> make_whatif();
std::unique_ptr<Command> make_gui();
std::unique_ptr<Command> make_completion();
std::unique_ptr<Command> make_manual();

// In the order in which `foreshard --help` lists them.
std::vector<std::unique_ptr<Command>> all_commands();

}  // namespace foreshard::cli

// The subcommands, each in NAME_command.cpp: how its flags are read and what it does with them.
#pragma once

#include "cli/command.hpp"

namespace foreshard::cli {

void add_train_flags(CLI::App& app);
int run_train();
void add_fit_flags(CLI::App& app);
int run_fit();
void add_predict_flags(CLI::App& app);
int run_predict();
void add_compare_flags(CLI::App& app);
int run_compare();
void add_inspect_flags(CLI::App& app);
int run_inspect();
void add_program_flags(CLI::App& app);
int run_program();
void add_import_flags(CLI::App& app);
int run_import();
void add_export_flags(CLI::App& app);
int run_export();
void add_replay_flags(CLI::App& app);
int run_replay();

}  // namespace foreshard::cli

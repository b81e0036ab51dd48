// The commands of `tensorfleet`. Each adds itself to the program's command line and is run by its
// callback.
#pragma once

namespace CLI {
class App;
}

namespace tensorfleet::cli {

// Exit codes: 0 fine, 1 failed, 2 wrong use; `train` has more.
void AddServerCommand(CLI::App* app, int* exit_code);
void AddTrainCommand(CLI::App* app, int* exit_code);
// run, top and ui: programs of the operator's.
void AddSiblingCommands(CLI::App* app, int* exit_code);
void AddInspectCommand(CLI::App* app, int* exit_code);
void AddOpsCommand(CLI::App* app, int* exit_code);
void AddVersionCommand(CLI::App* app, int* exit_code);

}  // namespace tensorfleet::cli

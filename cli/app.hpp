// The command line itself.
#pragma once

#include <functional>
#include <memory>
#include <string>

namespace CLI {
class App;
}

namespace cornerturn::cli {

// The parsed command line: what to do once parsing has succeeded.
struct command_line {
  std::function<int()> action;
};

// Effect  the application with every subcommand; parsing it fills `chosen`
std::unique_ptr<CLI::App> make_app(command_line& chosen);

// Effect  the completion script for "bash", "zsh" or "fish", from the subcommands and options of `app`
std::string completion_script(const CLI::App& app, const std::string& shell);

// Effect  everything: parses, runs, prints a failure as one sentence on stderr
// Errors  returns an exit code, 0: done, 1: failure, 2: usage, 3: no such device
int run(int argc, const char* const* argv);

}  // namespace cornerturn::cli

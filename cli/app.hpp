// The application: its subcommands, completion scripts and entry point.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace cornerturn::cli {

// The result of parsing: the action to run.
struct command_line {
  std::function<int()> action;
  std::vector<std::string> words;  // as typed, for result files
};

// Effect  makes the application with every subcommand; its parse() fills `chosen`
std::unique_ptr<CLI::App> make_app(command_line& chosen);

// Effect  adds the subcommand `bench`
void add_bench(CLI::App& app, command_line& chosen);

// Effect  returns the completion script for "bash", "zsh" or "fish", from the subcommands and options of `app`
std::string completion_script(const CLI::App& app, const std::string& shell);

// Effect  parses the arguments and runs the command; prints a failure as one sentence on stderr
// Returns an exit code, 0: done, 1: failure, 2: usage, 3: no such device
int run(int argc, const char* const* argv);

}  // namespace cornerturn::cli

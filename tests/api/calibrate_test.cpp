// calibrate() with a program in place of the command. tests/python/calibrate_test.py runs the command itself.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "cornerturn/cornerturn.h"
#include "cornerturn/error.hpp"
#include "cornerturn/machine.hpp"
#include "kernels/machine/known.hpp"

namespace cornerturn::calibrate_test {
namespace {

struct machine_file {
  std::string name = ::testing::TempDir() + "calibrate_test_" + std::to_string(getpid()) + ".json";
  explicit machine_file(const std::string& text) { std::ofstream(name) << text; }
  ~machine_file() {
    std::remove(name.c_str());
    kernels::read_machines_again();
  }
};

// Prints `out` and `err`, and notes its arguments.
class fake_command {
 public:
  fake_command(const std::string& out, const std::string& err, int code) {
    std::ofstream script(name);
    script << "#!/bin/sh\nprintf '%s\\n' \"$@\" > " << name << ".said\ncat <<'END'\n"
           << out << "\nEND\ncat >&2 <<'END'\n"
           << err << "\nEND\nexit " << code << "\n";
    script.close();
    chmod(name.c_str(), 0700);
  }
  ~fake_command() {
    std::remove(name.c_str());
    std::remove((name + ".said").c_str());
  }
  [[nodiscard]] std::vector<std::string> said() const {
    std::vector<std::string> all;
    std::ifstream lines(name + ".said");
    for (std::string line; std::getline(lines, line);) all.push_back(line);
    return all;
  }
  const std::string name = ::testing::TempDir() + "fake_command_" + std::to_string(getpid());
};

std::pair<status, std::string> refusal_of(const calibrate_options& options) {
  try {
    static_cast<void>(calibrate(options));
  } catch (const error& refused) {
    return {refused.code(), refused.what()};
  }
  return {status::ok, ""};
}

TEST(calibrate, runs_the_command_and_loads_its_file) {
  std::string text = machine_text("cpu");
  const auto name = text.find("\"name\": \"") + 9;
  text.replace(name, text.find('"', name) - name, "own");
  const machine_file file(text);
  const std::string long_report(100000, ' ');
  const fake_command command(
      R"({"machine":"own","file":")" + file.name + R"(","fitted":80,"held_out":20,)" + long_report +
          R"("before":{"mean":1.25,"worst":3},"after":{"mean":1.125,"worst":2.5},"numbers":3,"changed":7})",
      std::string(100000, '-'), 0);
  const calibration made = calibrate({.minutes = 0.5, .threads = 2, .seed = 9, .command = command.name});
  EXPECT_EQ(command.said(), (std::vector<std::string>{"calibrate", "--json", "--device", "cpu", "--minutes", "0.5",
                                                      "--threads", "2", "--seed", "9", "--quiet"}));
  EXPECT_EQ(made.machine, "own");
  EXPECT_EQ(made.file, file.name);
  EXPECT_EQ(made.fitted, 80);
  EXPECT_EQ(made.held_out, 20);
  EXPECT_EQ(made.before.mean, 1.25);
  EXPECT_EQ(made.before.worst, 3);
  EXPECT_EQ(made.after.mean, 1.125);
  EXPECT_EQ(made.after.worst, 2.5);
  EXPECT_EQ(made.numbers, 3);
  EXPECT_EQ(made.changed, 7);
  EXPECT_EQ(machine_in_use("cpu").origin, file.name);
  cornerturn_calibrate_options options = CORNERTURN_CALIBRATE_OPTIONS_INIT;
  options.command = command.name.c_str();
  options.file = file.name.c_str();
  EXPECT_EQ(cornerturn_calibrate(&options), CORNERTURN_OK) << cornerturn_last_error();
  EXPECT_EQ(command.said()[10], "--output=" + file.name);
}

TEST(calibrate, failures_are_the_sentences_of_the_command) {
  using said = std::pair<status, std::string>;
  {
    const fake_command command("", "cornerturn: --minutes is -1, wanted more than 0\nTry `cornerturn --help'", 2);
    EXPECT_EQ(refusal_of({.minutes = -1, .command = command.name}),
              (said{status::invalid_argument, "--minutes is -1, wanted more than 0"}));
    cornerturn_calibrate_options options = CORNERTURN_CALIBRATE_OPTIONS_INIT;
    options.command = command.name.c_str();
    EXPECT_EQ(cornerturn_calibrate(&options), CORNERTURN_INVALID_ARGUMENT);
    options.quiet = 2;
    EXPECT_EQ(cornerturn_calibrate(&options), CORNERTURN_INVALID_ARGUMENT);
    EXPECT_NE(std::string(cornerturn_last_error()).find("options.quiet is 2"), std::string::npos);
  }
  {
    const fake_command command("", "", 3);
    EXPECT_EQ(refusal_of({.command = command.name}),
              (said{status::io_error, command.name + " calibrate ended with exit code 3"}));
  }
  {
    const fake_command command("no report", "", 0);
    EXPECT_EQ(refusal_of({.command = command.name}).first, status::io_error);
  }
  EXPECT_EQ(refusal_of({.command = "/no/such/command"}),
            (said{status::io_error, "the command \"/no/such/command\" cannot be run: No such file or directory"}));
  EXPECT_EQ(refusal_of({.command = "no-such-command"}).first, status::io_error);
}

}  // namespace
}  // namespace cornerturn::calibrate_test

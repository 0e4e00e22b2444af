// calibrate() of machine.hpp runs the command `cornerturn calibrate`: the command has the benchmark, the library has none.
#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <string>
#include <vector>

#include "api/guard.hpp"
#include "base/files.hpp"
#include "base/json.hpp"
#include "cornerturn/error.hpp"
#include "cornerturn/machine.hpp"

namespace cornerturn {
namespace {

constexpr int usage_error = 2;  // the command's exit code for options that are not valid
constexpr int not_started =
    127;  // the exit code of a process whose program was not found, if posix_spawn cannot say so

[[noreturn]] void fail(const std::string& command, int error_number) {
  throw error(status::io_error, "the command \"" + command + "\" cannot be run: " + base::error_text(error_number));
}

struct pipe_ends {
  base::descriptor read, write;
};

pipe_ends make_pipe(const std::string& command) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) fail(command, errno);
  return {base::descriptor(ends[0]), base::descriptor(ends[1])};
}

// The streams of a new process: its stdin is empty.
class spawn_actions {
 public:
  spawn_actions() noexcept { ::posix_spawn_file_actions_init(&actions_); }
  ~spawn_actions() { ::posix_spawn_file_actions_destroy(&actions_); }
  spawn_actions(const spawn_actions&) = delete;
  spawn_actions& operator=(const spawn_actions&) = delete;
  void connect(const pipe_ends& to, int stream) noexcept {
    ::posix_spawn_file_actions_adddup2(&actions_, to.write.get(), stream);
  }
  void close_input() noexcept { ::posix_spawn_file_actions_addopen(&actions_, STDIN_FILENO, "/dev/null", O_RDONLY, 0); }
  [[nodiscard]] const posix_spawn_file_actions_t* get() const noexcept { return &actions_; }

 private:
  posix_spawn_file_actions_t actions_;
};

// Reads both streams to their ends: a process that writes much to one of them does not block.
void read_all(const base::descriptor& out, std::string& out_text, const base::descriptor& err, std::string& err_text) {
  std::array<pollfd, 2> waiting = {{{out.get(), POLLIN, 0}, {err.get(), POLLIN, 0}}};
  std::string* const texts[] = {&out_text, &err_text};
  while (waiting[0].fd >= 0 || waiting[1].fd >= 0) {
    if (::poll(waiting.data(), waiting.size(), -1) < 0 && errno != EINTR) return;
    for (int k = 0; k < 2; ++k) {
      if (waiting[k].fd < 0 || waiting[k].revents == 0) continue;
      char bytes[4096];
      const ssize_t count = ::read(waiting[k].fd, bytes, sizeof(bytes));
      if (count > 0) texts[k]->append(bytes, static_cast<std::size_t>(count));
      if (count == 0 || (count < 0 && errno != EINTR)) waiting[k].fd = -1;
    }
  }
}

struct ended {
  int exit_code = 0;
  std::string out, err;
};

// Effect  runs the words as a command. Its stderr is read too if it is quiet
ended run(std::vector<std::string> words, bool quiet) {
  const std::string command = words[0];
  // A program with the rights of another user has no PATH: its caller could name any command.
  if (command.find('/') == std::string::npos && base::environment("PATH").empty()) fail(command, ENOENT);
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  pipe_ends out = make_pipe(command), err = make_pipe(command);
  spawn_actions actions;
  actions.close_input();
  actions.connect(out, STDOUT_FILENO);
  if (quiet) actions.connect(err, STDERR_FILENO);
  pid_t child = 0;
  if (const int fault = ::posix_spawnp(&child, command.c_str(), actions.get(), nullptr, arguments.data(), environ);
      fault != 0) {
    fail(command, fault);
  }
  out.write = base::descriptor();
  err.write = base::descriptor();
  ended made;
  read_all(out.read, made.out, err.read, made.err);
  int state = 0;
  while (::waitpid(child, &state, 0) < 0 && errno == EINTR) {
  }
  made.exit_code = WIFEXITED(state) ? WEXITSTATUS(state) : 128 + WTERMSIG(state);
  if (made.exit_code == not_started) fail(command, ENOENT);
  return made;
}

std::string text_of(double number) {
  std::array<char, 32> digits;
  return {digits.data(), std::to_chars(digits.data(), digits.data() + digits.size(), number).ptr};
}

// The sentence that the command printed, without its own name and without its hint at --help.
std::string sentence_of(const ended& ran, const std::string& command) {
  std::string text = ran.err.substr(0, ran.err.find("\nTry `"));
  const std::string name = "cornerturn: ";
  if (text.compare(0, name.size(), name) == 0) text.erase(0, name.size());
  while (!text.empty() && text.back() == '\n') text.pop_back();
  for (char& letter : text) letter = letter == '\n' ? ' ' : letter;
  return text.empty() ? command + " calibrate ended with exit code " + std::to_string(ran.exit_code) : text;
}

calibration report_of(const std::string& text) {
  const base::json_value all = base::read_json(text);
  const auto member = [](const base::json_value& of, const char* name) -> const base::json_value& {
    const base::json_value* found = of.find(name);
    if (found == nullptr) throw base::json_error(std::string("has no \"") + name + '"');
    return *found;
  };
  const auto regret = [&](const char* name) {
    const base::json_value& both = member(all, name);
    return calibration::regret{member(both, "mean").number, member(both, "worst").number};
  };
  const auto count = [&](const char* name) { return static_cast<std::int64_t>(member(all, name).number); };
  return {member(all, "machine").text,
          member(all, "file").text,
          count("fitted"),
          count("held_out"),
          regret("before"),
          regret("after"),
          count("numbers"),
          count("changed")};
}

}  // namespace

calibration calibrate(const calibrate_options& options) {
  return api::guarded([&] {
    std::vector<std::string> words = {options.command, "calibrate", "--json", "--device", options.device};
    for (const auto& [name, value] : {std::pair{"--minutes", text_of(options.minutes)},
                                      {"--threads", std::to_string(options.threads)},
                                      {"--seed", std::to_string(options.seed)}}) {
      words.emplace_back(name);
      words.push_back(value);
    }
    if (!options.file.empty()) words.push_back("--output=" + options.file);
    if (options.quiet) words.emplace_back("--quiet");
    const ended ran = run(std::move(words), options.quiet);
    if (ran.exit_code != 0) {
      throw error(ran.exit_code == usage_error ? status::invalid_argument : status::io_error,
                  sentence_of(ran, options.command));
    }
    calibration made;
    try {
      made = report_of(ran.out);
    } catch (const base::json_error& wrong) {
      throw error(status::io_error, "the report of \"" + options.command + "\" " + wrong.what());
    }
    if (!options.file.empty()) made.file = options.file;
    load_machine(made.file);
    return made;
  });
}

}  // namespace cornerturn

// Options of the command line. Each value is parsed here, so that every command gives it one meaning, and every error
// names the option, the value found and the value wanted.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "output_file.hpp"

namespace cornerturn::cli {

// A device, as --device names it.
struct device_choice {
  std::string kind = "auto";  // "auto", "cpu", "cuda", "hip"
  int ordinal = -1;           // of "cuda:1"; -1: none was named

  [[nodiscard]] int gpu() const { return ordinal < 0 ? 0 : ordinal; }
};

// Effect  "cuda:1" -> {"cuda", 1}; nothing if the text is none of `kinds` and no cuda:N
[[nodiscard]] std::optional<device_choice> parse_device(const std::string& text, const std::vector<std::string>& kinds);

// Takes one value: true if it is good.
using value_reader = std::function<bool(const std::string&)>;

// Effect  adds an option or a positional that takes one value. A bad value is refused with: NAME is "VALUE", wanted WANTED
CLI::Option* add_value(CLI::App& command, const std::string& names, const std::string& type, const std::string& about,
                       const std::string& wanted, value_reader read);

// Effect  adds an option whose value is a list with commas, and that may be given again: read() gets one item at a time
CLI::Option* add_items(CLI::App& command, const std::string& names, const std::string& type, const std::string& about,
                       const std::string& wanted, value_reader read);

// Any text; an option or a positional of the type FILE refuses the empty one.
inline constexpr const char* name_of_a_file = "the name of a file";
CLI::Option* add_text(CLI::App& command, const std::string& names, const std::string& type, const std::string& about,
                      std::string& text);
CLI::Option* add_flag(CLI::App& command, const std::string& name, const std::string& about, bool& flag);

// An integer; the default is not printed, so `about` ends with it.
template <class Integer>
CLI::Option* add_integer(CLI::App& command, const std::string& names, const std::string& about, Integer& number,
                         std::int64_t least, std::int64_t most);
CLI::Option* add_integers(CLI::App& command, const std::string& names, const std::string& about,
                          std::function<void(std::int64_t)> take, std::int64_t least, std::int64_t most);

// One of a few words; the type in --help lists them, and the completion scripts read it: on|off
CLI::Option* add_choice(CLI::App& command, const std::string& names, const std::string& about,
                        const std::vector<std::string>& choices, std::string& word);

// A number of bytes: 4096, 64K, 1.5GiB
CLI::Option* add_size(CLI::App& command, const std::string& names, const std::string& about, std::int64_t& bytes,
                      std::int64_t least, std::int64_t most);

CLI::Option* add_axes(CLI::App& command, std::optional<std::vector<int>>& axes);
CLI::Option* add_shape(CLI::App& command, const std::string& names, const std::string& about,
                       std::vector<std::int64_t>& shape);
// `names` without dashes is a positional that takes all words that are left.
CLI::Option* add_shapes(CLI::App& command, const std::string& names, const std::string& about,
                        std::vector<std::vector<std::int64_t>>& shapes);
CLI::Option* add_threads(CLI::App& command, int& threads);
CLI::Option* add_device(CLI::App& command, device_choice& device, const std::vector<std::string>& kinds,
                        const std::string& about);
CLI::Option* add_json(CLI::App& command, bool& json);

// A file that the command writes.
struct output_choice {
  std::string path;  // empty: none
  output_rules rules;
};
CLI::Option* add_output(CLI::App& command, output_choice& output, const std::string& about);
CLI::Option* add_force(CLI::App& command, bool& force);

}  // namespace cornerturn::cli

#include "options.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>

#include "text.hpp"

namespace cornerturn::cli {
namespace {

// "--shape,shape" -> "--shape"
std::string first_name(const std::string& names) {
  std::string name = names.substr(0, names.find(','));
  if (name.size() == 2 && name[0] == '-' && names.size() > 3) name = names.substr(3);  // "-o,--output" -> "--output"
  return name;
}

[[noreturn]] void refuse(const std::string& names, const std::string& value, const std::string& wanted) {
  const char* const why = value.empty() && wanted == name_of_a_file ? " an empty name," : "";
  throw CLI::ValidationError(fmt::format("{} is \"{}\",{} wanted {}", first_name(names), value, why, wanted));
}

template <class Number>
bool read_number(const std::string& text, Number& number) {
  const char* const end = text.data() + text.size();
  const auto [next, fault] = std::from_chars(text.data(), end, number);
  return fault == std::errc{} && next == end;
}

std::string range_text(std::int64_t least, std::int64_t most) {
  return most >= std::int64_t{1} << 46 ? fmt::format("an integer of {} or more", least)
                                       : fmt::format("an integer from {} to {}", least, most);
}

std::string alternatives(const std::vector<std::string>& words) {
  std::string text;
  for (std::size_t k = 0; k < words.size(); ++k) {
    text += fmt::format("{}{}", k == 0 ? "" : k + 1 < words.size() ? ", " : " or ", words[k]);
  }
  return text;
}

}  // namespace

std::optional<device_choice> parse_device(const std::string& text, const std::vector<std::string>& kinds) {
  device_choice device{text.substr(0, text.find(':')), -1};
  if (std::ranges::find(kinds, device.kind) == kinds.end()) return std::nullopt;
  if (device.kind == text) return device;
  constexpr int most_gpus = 1024;
  const bool is_numbered = device.kind == "cuda" && read_number(text.substr(5), device.ordinal);
  if (!is_numbered || device.ordinal < 0 || device.ordinal >= most_gpus) return std::nullopt;
  return device;
}

CLI::Option* add_value(CLI::App& command, const std::string& names, const std::string& type, const std::string& about,
                       const std::string& wanted, value_reader read) {
  const auto take = [names, wanted, read = std::move(read)](const CLI::results_t& values) {
    if (!read(values.back())) refuse(names, values.back(), wanted);
    return true;
  };
  CLI::Option* const option = command.add_option(names, CLI::callback_t(take), about);
  return option->type_name(type)->expected(1);
}

CLI::Option* add_items(CLI::App& command, const std::string& names, const std::string& type, const std::string& about,
                       const std::string& wanted, value_reader read) {
  const auto take = [names, wanted, read = std::move(read)](const CLI::results_t& values) {
    for (const std::string& value : values) {
      for (const std::string& item : CLI::detail::split(value, ',')) {
        if (!read(item)) refuse(names, value, wanted);
      }
    }
    return true;
  };
  CLI::Option* const option = command.add_option(names, CLI::callback_t(take), about);
  // allow_extra_args(false): one word for each --name. The next word may be a positional.
  return option->type_name(type)->expected(1, CLI::detail::expected_max_vector_size)->allow_extra_args(false);
}

CLI::Option* add_text(CLI::App& command, const std::string& names, const std::string& type, const std::string& about,
                      std::string& text) {
  const bool is_file = type == "FILE" || names == "FILE";
  return add_value(command, names, type, about, is_file ? name_of_a_file : "a word",
                   [&text, is_file](const std::string& value) {
                     text = value;
                     return !is_file || !value.empty();
                   });
}

CLI::Option* add_flag(CLI::App& command, const std::string& name, const std::string& about, bool& flag) {
  return command.add_flag(name, flag, about)->disable_flag_override();
}

template <class Integer>
CLI::Option* add_integer(CLI::App& command, const std::string& names, const std::string& about, Integer& number,
                         std::int64_t least, std::int64_t most) {
  return add_value(command, names, "N", about, range_text(least, most), [=, &number](const std::string& value) {
    std::int64_t read = 0;
    if (!read_number(value, read) || read < least || read > most) return false;
    number = static_cast<Integer>(read);
    return true;
  });
}
template CLI::Option* add_integer(CLI::App&, const std::string&, const std::string&, int&, std::int64_t, std::int64_t);
template CLI::Option* add_integer(CLI::App&, const std::string&, const std::string&, std::int64_t&, std::int64_t,
                                  std::int64_t);
template CLI::Option* add_integer(CLI::App&, const std::string&, const std::string&, std::uint64_t&, std::int64_t,
                                  std::int64_t);

CLI::Option* add_integers(CLI::App& command, const std::string& names, const std::string& about,
                          std::function<void(std::int64_t)> take, std::int64_t least, std::int64_t most) {
  const std::string wanted = range_text(least, most) + ", or a list with commas";
  return add_items(command, names, "N,...", about, wanted, [=](const std::string& value) {
    std::int64_t read = 0;
    if (!read_number(value, read) || read < least || read > most) return false;
    take(read);
    return true;
  });
}

CLI::Option* add_choice(CLI::App& command, const std::string& names, const std::string& about,
                        const std::vector<std::string>& choices, std::string& word) {
  return add_value(command, names, fmt::format("{}", fmt::join(choices, "|")), about, alternatives(choices),
                   [&word, choices](const std::string& value) {
                     word = value;
                     return std::ranges::find(choices, value) != choices.end();
                   });
}

CLI::Option* add_size(CLI::App& command, const std::string& names, const std::string& about, std::int64_t& bytes,
                      std::int64_t least, std::int64_t most) {
  const std::string wanted =
      fmt::format("a number of bytes from {} to {}, such as 4096, 64K or 1GiB", least, bytes_text(most));
  return add_value(command, names, "SIZE", about, wanted, [=, &bytes](const std::string& value) {
    const auto read = parse_size(value);
    bytes = read.value_or(0);
    return read && *read >= least && *read <= most;
  });
}

CLI::Option* add_axes(CLI::App& command, std::optional<std::vector<int>>& axes) {
  return add_value(command, "--axes", "LIST",
                   "Axis k of the output is axis LIST[k] of the input, as in numpy.transpose: 2,0,1. Default: reversed "
                   "order",
                   "integers with commas, such as 2,0,1", [&axes](const std::string& value) {
                     axes = parse_axes(value);
                     return axes.has_value();
                   });
}

CLI::Option* add_shape(CLI::App& command, const std::string& names, const std::string& about,
                       std::vector<std::int64_t>& shape) {
  return add_value(command, names, "SHAPE", about, "extents with x between them, such as 4096x2048",
                   [&shape](const std::string& value) {
                     shape = parse_shape(value).value_or(std::vector<std::int64_t>{});
                     return !shape.empty();
                   });
}

CLI::Option* add_shapes(CLI::App& command, const std::string& names, const std::string& about,
                        std::vector<std::vector<std::int64_t>>& shapes) {
  CLI::Option* const option = add_items(command, names, "SHAPE", about,
                                        "extents with x between them, such as 4096x2048 (and -o before a result file)",
                                        [&shapes](const std::string& value) {
                                          const auto shape = parse_shape(value);
                                          if (shape) shapes.push_back(*shape);
                                          return shape.has_value();
                                        });
  return names.front() == '-' ? option : option->type_name("")->allow_extra_args(true);
}

CLI::Option* add_threads(CLI::App& command, int& threads) {
  return add_integer(
      command, "--threads",
      "Threads of the CPU. Default: one for each core that this process may use, or OMP_NUM_THREADS if that is smaller",
      threads, 1, 4096);
}

CLI::Option* add_device(CLI::App& command, device_choice& device, const std::vector<std::string>& kinds,
                        const std::string& about) {
  std::vector<std::string> shown = kinds, wanted = kinds;
  for (std::string& one : shown) one += one == "cuda" ? "[:N]" : "";
  if (std::ranges::find(kinds, "cuda") != kinds.end()) wanted.emplace_back("cuda:N");
  return add_value(command, "--device", fmt::format("{}", fmt::join(shown, "|")), about, alternatives(wanted),
                   [&device, kinds](const std::string& value) {
                     const auto read = parse_device(value, kinds);
                     device = read.value_or(device_choice{});
                     return read.has_value();
                   });
}

CLI::Option* add_json(CLI::App& command, bool& json) {
  return add_flag(command, "--json", "Print one JSON value on stdout", json);
}

CLI::Option* add_force(CLI::App& command, bool& force) {
  return add_flag(command, "--force", "Replace a file that is read-only or belongs to another user", force);
}

CLI::Option* add_output(CLI::App& command, output_choice& output, const std::string& about) {
  CLI::Option* const option = add_text(command, "-o,--output", "FILE", about, output.path);
  add_force(command, output.rules.force);
  return option;
}

}  // namespace cornerturn::cli

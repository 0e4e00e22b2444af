// Completion scripts from the subcommands and options of the application. A new option needs no change here.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <vector>

#include "app.hpp"

namespace cornerturn::cli {
namespace {

struct option_words {
  std::string name;  // "--device"; empty for a positional
  std::string about;
  bool takes_value = false;
  bool is_file = false;
  std::vector<std::string> choices;
};

struct command_words {
  std::string name;
  std::string about;
  std::vector<option_words> options;
};

// Reads the choices of an option from its type in --help: "auto|cpu|cuda[:N]" -> auto, cpu, cuda
std::vector<std::string> choices_of(const CLI::Option& option) {
  const std::string type = option.get_type_name();
  if (type.find('|') == std::string::npos) return {};
  std::vector<std::string> choices = CLI::detail::split(type, '|');
  for (std::string& one : choices) one.resize(std::min(one.find('['), one.size()));
  return choices;
}

std::vector<command_words> walk(const CLI::App& app) {
  std::vector<command_words> commands;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    if (command->get_group().empty()) continue;  // hidden
    command_words words{command->get_name(), command->get_description(), {}};
    for (const CLI::Option* option : command->get_options()) {
      option_words one;
      one.about = option->get_description();
      if (!option->get_positional()) one.name = "--" + option->get_lnames().front();
      one.takes_value = option->get_items_expected_max() > 0;
      one.is_file = option->get_type_name() == "FILE";
      one.choices = choices_of(*option);
      words.options.push_back(std::move(one));
    }
    commands.push_back(std::move(words));
  }
  return commands;
}

// Single quotes: valid for both sh and fish.
std::string in_quotes(const std::string& text) {
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

std::string bash(const std::vector<command_words>& commands) {
  std::string names = "--help --version";
  std::string cases;
  for (const command_words& command : commands) {
    names += " " + command.name;
    std::string flags;
    std::string words;
    std::string values;
    for (const option_words& option : command.options) {
      const std::string choices = fmt::format("{}", fmt::join(option.choices, " "));
      if (option.name.empty()) {
        words += (words.empty() ? "" : " ") + choices;
        continue;
      }
      flags += (flags.empty() ? "" : " ") + option.name;
      if (option.takes_value) values += fmt::format("        {}) words=\"{}\"; flags= ;;\n", option.name, choices);
    }
    cases += fmt::format("    {})\n      flags=\"{}\" words=\"{}\"\n", command.name, flags, words);
    if (!values.empty()) cases += fmt::format("      case \"$previous\" in\n{}      esac\n", values);
    cases += "      ;;\n";
  }
  return fmt::format(R"(# bash completion of cornerturn
_cornerturn() {{
  local current="${{COMP_WORDS[COMP_CWORD]}}" previous="${{COMP_WORDS[COMP_CWORD-1]}}" flags= words=
  COMPREPLY=()
  if [[ $COMP_CWORD -eq 1 ]]; then
    COMPREPLY=($(compgen -W "{}" -- "$current"))
    return
  fi
  case "${{COMP_WORDS[1]}}" in
{}  esac
  if [[ $current == -* ]]; then
    COMPREPLY=($(compgen -W "$flags" -- "$current"))
  elif [[ -n $words ]]; then
    COMPREPLY=($(compgen -W "$words" -- "$current"))
  fi
}}
complete -o default -F _cornerturn cornerturn
)",
                     names, cases);
}

// Escapes the characters [ ] : which have a meaning in _arguments specifications.
std::string zsh_text(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '[' || c == ']' || c == ':') out += '\\';
    out += c;
  }
  return out;
}

std::string zsh(const std::vector<command_words>& commands) {
  std::string names;
  std::string cases;
  for (const command_words& command : commands) {
    names += fmt::format("    {}\n", in_quotes(command.name + ":" + zsh_text(command.about)));
    std::string lines;
    int position = 1;
    for (const option_words& option : command.options) {
      const std::string value = !option.choices.empty() ? fmt::format("({})", fmt::join(option.choices, " "))
                                : option.is_file        ? std::string("_files")
                                                        : std::string(" ");
      std::string specification;
      if (option.name.empty()) {
        specification = fmt::format("{}:{}:{}", position++, zsh_text(option.about), value);
      } else {
        specification = fmt::format("{}[{}]", option.name, zsh_text(option.about));
        if (option.takes_value) specification += fmt::format(":value:{}", value);
      }
      lines += fmt::format(" \\\n        {}", in_quotes(specification));
    }
    cases += lines.empty() ? fmt::format("    {}) _files ;;\n", command.name)
                           : fmt::format("    {})\n      _arguments{}\n      ;;\n", command.name, lines);
  }
  return fmt::format(R"(#compdef cornerturn
_cornerturn() {{
  local -a commands
  commands=(
{}  )
  if (( CURRENT == 2 )); then
    _describe command commands
    return
  fi
  local command=$words[2]
  shift words
  (( CURRENT-- ))
  case $command in
{}  esac
}}
if [[ $funcstack[1] == _cornerturn ]]; then
  _cornerturn "$@"
else
  compdef _cornerturn cornerturn
fi
)",
                     names, cases);
}

std::string fish(const std::vector<command_words>& commands) {
  std::string text = "# fish completion of cornerturn\n";
  const auto add = [&text](const std::string& rest) { text += "complete -c cornerturn " + rest + "\n"; };
  add("-f -n __fish_use_subcommand -l help");
  add("-f -n __fish_use_subcommand -l version");
  for (const command_words& command : commands) {
    add(fmt::format("-f -n __fish_use_subcommand -a {} -d {}", command.name, in_quotes(command.about)));
  }
  for (const command_words& command : commands) {
    const std::string seen = fmt::format("-n '__fish_seen_subcommand_from {}'", command.name);
    for (const option_words& option : command.options) {
      const std::string choices = option.choices.empty() ? "" : fmt::format(" -a '{}'", fmt::join(option.choices, " "));
      if (option.name.empty()) {
        if (!choices.empty()) add(fmt::format("-f {}{}", seen, choices));
        continue;
      }
      add(fmt::format("{} -l {}{}{} -d {}", seen, option.name.substr(2),
                      !option.takes_value ? ""
                      : option.is_file    ? " -r -F"
                                          : " -x",
                      choices, in_quotes(option.about)));
    }
  }
  return text;
}

}  // namespace

std::string completion_script(const CLI::App& app, const std::string& shell) {
  const std::vector<command_words> commands = walk(app);
  return shell == "bash" ? bash(commands) : shell == "zsh" ? zsh(commands) : fish(commands);
}

}  // namespace cornerturn::cli

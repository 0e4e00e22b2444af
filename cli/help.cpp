#include "help.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <string_view>
#include <utility>

#include "text.hpp"

namespace cornerturn::cli {
namespace {

constexpr std::size_t columns = 80;
constexpr std::size_t about_column = 28;

// One entry: its name, then the text in its own column. A long name gets a line of its own.
std::string entry(const std::string& name, const std::string& about) {
  std::string line = "  " + name;
  if (line.size() + 2 > about_column) {
    line += '\n' + std::string(about_column, ' ');
  } else {
    line.resize(about_column, ' ');
  }
  return line + wrapped(about, columns - about_column, about_column) + '\n';
}

class format final : public CLI::Formatter {
 public:
  std::string make_option(const CLI::Option* option, bool is_positional) const override {
    std::string name = make_option_name(option, is_positional);
    for (std::size_t comma = name.find(','); comma != std::string::npos; comma = name.find(',', comma + 2)) {
      name.replace(comma, 1, ", ");
    }
    if (option->get_type_size() != 0 && !option->get_type_name().empty()) name += " " + option->get_type_name();
    if (option->get_expected_max() > 1 && !name.ends_with("...")) name += is_positional ? "..." : " ...";
    return entry(name, option->get_description());
  }

  std::string make_subcommand(const CLI::App* command) const override {
    return entry(command->get_name(), command->get_description());
  }

  // Not Formatter::make_help, whose headings and blank lines differ between the versions of CLI11.
  std::string make_help(const CLI::App* app, std::string name, CLI::AppFormatMode) const override {
    const auto is_shown = [](const auto* one) { return !one->get_group().empty(); };
    const auto positionals = app->get_options([&](auto* one) { return is_shown(one) && one->get_positional(); });
    const auto options = app->get_options([&](auto* one) { return is_shown(one) && one->nonpositional(); });
    const auto commands = app->get_subcommands(is_shown);

    std::string text = app->get_description() + "\nUsage: " + name + " [OPTIONS]";
    for (const CLI::Option* one : positionals) text += ' ' + make_option_usage(one);
    if (!commands.empty()) text += " SUBCOMMAND";
    text += '\n';
    const auto add_section = [&](std::string_view heading, const auto& list, const auto& entry_of) {
      if (!list.empty()) text += fmt::format("\n{}:\n", heading);
      for (const auto* one : list) text += entry_of(one);
    };
    add_section("Positionals", positionals, [&](const CLI::Option* one) { return make_option(one, true); });
    add_section("Options", options, [&](const CLI::Option* one) { return make_option(one, false); });
    add_section("Subcommands", commands, [&](const CLI::App* one) { return make_subcommand(one); });
    const std::string footer = make_footer(app);
    return footer.empty() ? text : text + '\n' + footer;
  }

  std::string make_footer(const CLI::App* app) const override {
    if (app->get_footer().empty()) return {};
    std::string text;
    for (const std::string& paragraph : CLI::detail::split(app->get_footer(), '\n')) {
      text += wrapped(paragraph, columns, 0) + '\n';
    }
    return text;
  }
};

// "cornerturn transpose", or "cornerturn"
std::string full_name(const CLI::App& app, const CLI::App& command) {
  return &app == &command ? app.get_name() : app.get_name() + " " + command.get_name();
}

std::string usage_of(const CLI::App& app, const CLI::App& command) {
  std::string text = full_name(app, command) + " [OPTIONS]";
  for (const CLI::Option* option : command.get_options()) {
    if (option->get_positional()) {
      const std::string name = option->get_name(true, false);
      text += option->get_required() ? " " + name : " [" + name + "]";
    } else if (option->get_required()) {
      text += " " + option->get_name() + " " + option->get_type_name();
    }
  }
  return text;
}

std::vector<std::string> option_names(const CLI::App& command) {
  std::vector<std::string> names;
  for (const CLI::Option* option : command.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  return names;
}

std::vector<std::string> command_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    if (!command->get_group().empty()) names.push_back(command->get_name());
  }
  return names;
}

std::string unknown_option(const CLI::App& app, const CLI::App& command, const std::string& word) {
  const std::string name = word.substr(0, word.find('='));
  std::vector<std::string> names = option_names(command);
  std::string sentence = fmt::format("{} is no option of `{}`", name, full_name(app, command));
  std::optional<std::string> meant = closest(name, names);
  if (name.size() == 2) {  // -V: the first letter of a long option
    meant.reset();
    for (const std::string& one : names) {
      if (!meant && std::tolower(one[2]) == std::tolower(name[1])) meant = one;
    }
  }
  if (meant) return sentence + fmt::format("; did you mean {}?", *meant);
  const bool is_file_name = name.find('.') != std::string::npos;
  return is_file_name ? sentence + fmt::format("; write ./{} for a file of that name", name) : sentence;
}

std::string unknown_command(const CLI::App& app, const std::string& word) {
  std::vector<std::string> names = command_names(app);
  for (const char* option : {"help", "version"}) names.emplace_back(option);
  std::optional<std::string> meant = closest(word, names);
  if (meant == "help" || meant == "version") meant = "--" + *meant;
  return fmt::format("\"{}\" is no command; {}", word,
                     meant ? fmt::format("did you mean {}?", *meant)
                           : fmt::format("wanted one of {}", fmt::join(command_names(app), ", ")));
}

}  // namespace

std::shared_ptr<CLI::Formatter> help_format() { return std::make_shared<format>(); }

std::string wrapped(const std::string& text, std::size_t width, std::size_t indent) {
  std::string out;
  std::size_t used = 0;
  for (std::size_t at = 0; at < text.size();) {
    std::size_t end = std::min(text.find(' ', at), text.size());
    while (end < text.size() && std::ranges::count(text.substr(at, end - at), '`') % 2 != 0) {  // inside of `bench -o`
      end = std::min(text.find(' ', end + 1), text.size());
    }
    const std::string word = text.substr(at, end - at);
    if (used > 0 && used + 1 + word.size() > width) {
      out += '\n' + std::string(indent, ' ');
      used = 0;
    }
    if (used > 0) out += ' ';
    out += word;
    used += word.size() + (used > 0 ? 1 : 0);
    at = std::min(text.find_first_not_of(' ', end), text.size());
  }
  return out;
}

std::optional<std::string> axes_with_spaces(std::span<const std::string> words) {
  const auto is_axis = [](const std::string& word) {
    const bool negative = word.starts_with('-');
    const std::string_view digits = std::string_view(word).substr(negative ? 1 : 0);
    return !digits.empty() && digits.size() <= 2 && digits.find_first_not_of("0123456789") == std::string_view::npos;
  };
  for (std::size_t k = 0; k + 2 < words.size(); ++k) {
    if (words[k] == "--axes" && is_axis(words[k + 1]) && is_axis(words[k + 2])) {
      return fmt::format("--axes is \"{}\" and \"{}\" follows, wanted one word with commas, such as 2,0,1",
                         words[k + 1], words[k + 2]);
    }
  }
  return std::nullopt;
}

std::string usage_sentence(const CLI::App& app, const CLI::ParseError& fault) {
  const auto chosen = app.get_subcommands();
  const CLI::App& command = chosen.empty() ? app : *chosen.front();
  const auto is_option = [](const std::string& word) { return word.size() > 1 && word.front() == '-'; };
  for (const std::string& word : app.remaining()) {
    if (is_option(word) && !chosen.empty()) {
      return fmt::format("{} precedes the command, wanted `{} [OPTIONS]`", word, full_name(app, command));
    }
    return is_option(word) ? unknown_option(app, app, word) : unknown_command(app, word);
  }
  for (const std::string& word : command.remaining()) {
    if (is_option(word)) return unknown_option(app, command, word);
  }
  const std::string said = fault.what();
  std::string name = said.substr(0, said.find_first_of(": "));  // CLI11's message begins with the option
  if (const auto names = option_names(command); std::ranges::find(names, "--" + name) != names.end())
    name = "--" + name;
  const std::string usage = usage_of(app, command);
  if (!command.remaining().empty()) {
    const std::string word = command.remaining().front();
    const bool is_number = word.find_first_not_of("0123456789,-") == std::string::npos;
    const bool writes =
        command.get_option_no_throw("--json") != nullptr && command.get_option_no_throw("--output") != nullptr;
    return fmt::format("\"{}\" is one argument too many, wanted `{}`{}", word, usage,
                       is_number ? "; a list is one word with commas, such as 2,0,1"
                       : writes  ? "; -o FILE writes a file, --json prints on stdout"
                                 : "");
  }
  if (fault.get_name() == "RequiredError") {
    if (chosen.empty())
      return fmt::format("no command is given, wanted one of {}", fmt::join(command_names(app), ", "));
    return fmt::format("{} is missing, wanted `{}`", name, usage);
  }
  if (fault.get_name() == "ExcludesError") {
    const std::string other = said.substr(said.rfind(' ') + 1);
    return fmt::format("{} and {} are both given, wanted one of them", name, other);
  }
  if (fault.get_name() == "ArgumentMismatch") {
    if (said.find("override") != std::string::npos) {
      return fmt::format("{} has a value, wanted none", name);
    }
    if (said.find("t most") != std::string::npos || said.find("At Most") != std::string::npos ||
        said.find("exactly") != std::string::npos) {
      return fmt::format("{} is given more than once, wanted it once", name);
    }
    return fmt::format("{} has no value, wanted one after it", name);
  }
  return said;
}

}  // namespace cornerturn::cli

// The text of --help in 80 columns, and the sentence for a command line that CLI11 refuses.
#pragma once

#include <CLI/CLI.hpp>
#include <memory>
#include <optional>
#include <span>
#include <string>

namespace cornerturn::cli {

[[nodiscard]] std::shared_ptr<CLI::Formatter> help_format();

// Effect  breaks lines between words, at most `width` characters each; every line but the first begins with `indent` spaces.
//         Words in a pair of backticks stay on one line
[[nodiscard]] std::string wrapped(const std::string& text, std::size_t width, std::size_t indent);

// Effect  returns a sentence: the word that is wrong, what was meant perhaps, and what is wanted
[[nodiscard]] std::string usage_sentence(const CLI::App& app, const CLI::ParseError& fault);

// Effect  returns a sentence if --axes has several words, `--axes 2 0 1`: CLI11 would take the later ones for files or shapes
[[nodiscard]] std::optional<std::string> axes_with_spaces(std::span<const std::string> words);

}  // namespace cornerturn::cli

// The text of --help in 80 columns, and the sentence for a command line that CLI11 refuses.
#pragma once

#include <CLI/CLI.hpp>
#include <memory>
#include <string>

namespace cornerturn::cli {

[[nodiscard]] std::shared_ptr<CLI::Formatter> help_format();

// Effect  breaks lines between words, at most `width` characters each; every line but the first begins with `indent` spaces
[[nodiscard]] std::string wrapped(const std::string& text, std::size_t width, std::size_t indent);

// Effect  returns a sentence: the word that is wrong, what was meant perhaps, and what is wanted
[[nodiscard]] std::string usage_sentence(const CLI::App& app, const CLI::ParseError& fault);

}  // namespace cornerturn::cli

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "explain_kernel.hpp"
#include "text.hpp"

namespace cornerturn::cli {
namespace {

constexpr int cell_side = 16, margin = 24, gap = 40, line_height = 20;
constexpr int most_cells = 32;          // rows and columns of a map; a larger tile repeats itself
constexpr std::size_t most_drawn = 64;  // squares of 4 bytes

// Light and dark by what the reader's system prefers; the page round the figure need not know.
constexpr const char* style =
    "text{font:13px system-ui,sans-serif;fill:#1d2530}.t{font-size:16px;font-weight:600}.q{fill:#5b6675}"
    ".n{font:8px ui-monospace,monospace;text-anchor:middle;fill:#0008}.w{fill:#000;font-weight:700}"
    ".b{fill:#fff}.u{fill:#2f6fde}.e{fill:#e6e9ee}.m{stroke:#111;stroke-width:1.6}"
    "@media(prefers-color-scheme:dark){text{fill:#e7ebf0}.q{fill:#9aa5b3}.b{fill:#14181f}.u{fill:#6ea0ff}"
    ".e{fill:#2b323c}.n{fill:#000a}.w{fill:#000}.m{stroke:#fff}}";

std::string xml_escaped(const std::string& text) {
  std::string made;
  for (const char letter : text) made += letter == '<' ? "&lt;" : letter == '&' ? "&amp;" : std::string(1, letter);
  return made;
}

std::string text_at(int x, int y, const char* kind, const std::string& text) {
  return fmt::format("<text x='{}' y='{}' class='{}'>{}</text>\n", x, y, kind, xml_escaped(text));
}

// A square for each 4 bytes of a sector or cache line, filled if the warp uses them.
std::string strip_at(int x, int y, const sector_strip& strip, const model::architecture& machine) {
  constexpr int square = 9;
  const int squares = machine.rules.line_bytes / 4;
  std::string out = text_at(x, y + 12, "q", strip.title);
  const std::size_t shown = std::min(strip.lines.size(), most_drawn / static_cast<std::size_t>(squares));
  for (std::size_t k = 0; k < shown; ++k) {
    for (int s = 0; s < squares; ++s) {
      out += fmt::format("<rect x='{}' y='{}' width='8' height='14' class='{}'/>",
                         x + 130 + static_cast<int>(k) * (squares * square + 6) + s * square, y,
                         (strip.lines[k] >> s & 1) != 0 ? "u" : "e");
    }
  }
  out += '\n';
  const int end = x + 130 + static_cast<int>(shown) * (squares * square + 6) + 6;
  const std::string more = strip.lines.size() > shown ? fmt::format("+ {} more; ", strip.lines.size() - shown) : "";
  return out + text_at(end, y + 12, "q",
                       fmt::format("{}{} {}, {:.4g} % useful", more, strip.lines.size(),
                                   strip.lines.size() == 1 ? words_of(machine).line : words_of(machine).lines,
                                   100 * strip.useful));
}

// Each bank's cell, plain and marked: b0 ... b31, w0 ... w31.
std::string cells() {
  std::string out = "<defs>\n";
  for (const bool marked : {false, true}) {
    for (int bank = 0; bank < model::banks; ++bank) {
      out += fmt::format("<g id='{}{}'><rect width='{}' height='{}' fill='hsl({} {}% {}%)'{}/>", marked ? 'w' : 'b',
                         bank, cell_side - 1, cell_side - 1, bank * 45 / 4, marked ? 85 : 55, marked ? 62 : 80,
                         marked ? " class='m'" : "");
      out += fmt::format("<text x='{}' y='11' class='n{}'>{}</text></g>\n", cell_side / 2, marked ? " w" : "", bank);
    }
  }
  return out + "</defs>\n";
}

std::string map_at(int x, int y, const bank_map& map, int rows, int cols) {
  std::string out = text_at(x, y, "", map.title);
  for (int row = 0; row < rows; ++row) {
    out += fmt::format("<g transform='translate({} {})'>", x, y + 10 + row * cell_side);
    for (int col = 0; col < cols; ++col) {
      const std::size_t at = map.at(row, col);
      out += fmt::format("<use href='#{}{}' x='{}'/>", map.marked[at] ? 'w' : 'b', map.bank[at], col * cell_side);
    }
    out += "</g>\n";
  }
  return out;
}

}  // namespace

std::string svg_of(const kernel_picture& picture) {
  const ladder::description& rung = *picture.rung;
  const bool amd = picture.machine->maker == model::vendor::amd;
  const std::string where = amd ? fmt::format(", on {} ({})", picture.machine->name, picture.machine->product) : "";
  std::string body;
  int y = margin + 6;
  body += text_at(margin, y, "t", picture.name);
  y += line_height;
  body += text_at(margin, y, "q",
                  fmt::format("{}, {}{}", ladder::text_of(picture.shape), elements_text(rung.word_bytes), where));
  y += line_height;
  for (const sector_strip& strip : picture.strips) {
    body += strip_at(margin, y - 6, strip, *picture.machine);
    y += line_height + 4;
  }
  if (picture.strips.empty()) {
    body += text_at(margin, y + 6, "q", "The tensor memory accelerator fetches and sends whole tiles.");
    y += line_height + 4;
  }
  int width = 2 * margin + 2 * most_cells * cell_side + gap;
  y += 10;
  if (!picture.maps.empty()) {
    body += cells();
    const int rows = std::min(picture.maps[0].rows, most_cells), cols = std::min(picture.maps[0].cols, most_cells);
    body += text_at(margin, y, "q",
                    fmt::format("The bank of each element of the tile ({} x {} of {} x {}); framed: the elements {}",
                                rows, cols, rung.tile_rows, rung.tile_cols, picture.marked));
    y += line_height + 4;
    int x = margin;
    for (const bank_map& map : picture.maps) {
      body += map_at(x, y, map, rows, cols);
      x += cols * cell_side + gap;
    }
    width = std::max(width, x - gap + margin);
    y += rows * cell_side + line_height + 14;
  }
  std::vector<std::string> sentences = picture.verdict;
  if (std::string doubt = reservation(*picture.machine); !doubt.empty()) sentences.push_back(std::move(doubt));
  for (const std::string& sentence : sentences) {
    body += text_at(margin, y, "", sentence);
    y += line_height;
  }
  return fmt::format(
      "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {} {}' role='img' aria-label='{}'>\n"
      "<style>{}</style>\n<rect width='100%' height='100%' class='b'/>\n{}</svg>\n",
      width, y + margin - line_height, picture.name, style, body);
}

}  // namespace cornerturn::cli

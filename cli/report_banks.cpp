// Bank maps of four rungs, from the index maps of the kernels.
#include <fmt/format.h>

#include "explain_kernel.hpp"
#include "report.hpp"

namespace cornerturn::cli {
namespace {

constexpr int cell = 16;
constexpr const char* shown[] = {"20_load_conflicts", "30_padded", "35_swizzled", "50_vector_swizzled"};

// One symbol per bank: b0 ... b31 plain, w0 ... w31 framed for elements that a warp accesses. All maps share them.
std::string symbols() {
  std::string out = "<svg class=\"symbols\" aria-hidden=\"true\"><defs>\n";
  for (const bool want : {false, true}) {
    for (int bank = 0; bank < model::banks; ++bank) {
      out +=
          fmt::format("<g id=\"{}{}\"><rect width=\"15\" height=\"15\" fill=\"hsl({} {}% {}%)\"{}/>", want ? 'w' : 'b',
                      bank, bank * 45 / 4, want ? 85 : 55, want ? 62 : 80, want ? " class=\"frame\"" : "");
      out += fmt::format("<text x=\"8\" y=\"11\" class=\"bank{}\">{}</text></g>\n", want ? " want" : "", bank);
    }
  }
  return out + "</defs></svg>\n";
}

std::string map_svg(const bank_map& map, const std::string& label) {
  std::string out = fmt::format("<svg viewBox=\"-1 -1 {} {}\" role=\"img\" aria-label=\"{}\">\n", map.cols * cell + 1,
                                map.rows * cell + 1, escaped(label));
  for (int row = 0; row < map.rows; ++row) {
    out += fmt::format("<g transform=\"translate(0 {})\">", row * cell);
    for (int col = 0; col < map.cols; ++col) {
      const std::size_t at = map.at(row, col);
      out += fmt::format("<use href=\"#{}{}\" x=\"{}\"/>", map.want[at] ? 'w' : 'b', map.bank[at], col * cell);
    }
    out += "</g>\n";
  }
  return out + "</svg>\n";
}

}  // namespace

std::string banks_section(const model::architecture& machine) {
  std::string body = symbols() + "<div class=\"banks\">\n";
  for (const char* name : shown) {
    const ladder::description& rung = *ladder::find_rung(name, 4);
    const kernel_picture picture = picture_of(rung, machine, {2048, 2048});
    const std::string counts = fmt::format("{:.0f} conflicts for each shared load, {:.0f} for each shared store",
                                           picture.counts.shared_load.conflicts_per_request(),
                                           picture.counts.shared_store.conflicts_per_request());
    body += fmt::format("<figure>\n{}<figcaption><b>{}</b>{}. Framed: elements that {}.</figcaption>\n</figure>\n",
                        map_svg(picture.maps.back(), fmt::format("banks of {}: {}", name, counts)), name, counts,
                        picture.wanted_by);
  }
  return section(
      "Bank maps",
      "A tile of 32 x 32 elements of 4 bytes in a GPU's shared memory. The number is the bank of an element. A "
      "bank serves one word per cycle, so framed cells of one colour are served one after another. The model "
      "computes these maps; they are equal on every machine.",
      body + "</div>\n");
}

}  // namespace cornerturn::cli

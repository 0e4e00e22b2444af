// Bank maps of four rungs, from the index maps of the kernels.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "explain_kernel.hpp"
#include "report.hpp"
#include "text.hpp"

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
          fmt::format("<rect id=\"{}{}\" width=\"15\" height=\"15\" fill=\"hsl({} {}% {}%)\"{}/>\n", want ? 'w' : 'b',
                      bank, bank * 45 / 4, want ? 85 : 55, want ? 62 : 80, want ? " class=\"frame\"" : "");
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
      out += fmt::format("<use href=\"#{}{}\" x=\"{}\"/>", map.marked[at] ? 'w' : 'b', map.bank[at], col * cell);
    }
    out += "</g>\n";
  }
  return out + "</svg>\n";
}

std::string framed_banks(const bank_map& map) {
  std::set<int> banks;
  std::size_t framed = 0;
  for (std::size_t at = 0; at < map.bank.size(); ++at) {
    if (!map.marked[at]) continue;
    banks.insert(map.bank[at]);
    ++framed;
  }
  return fmt::format("{} elements in {}", framed, count_text(banks.size(), "bank"));
}

}  // namespace

part banks_part(const report& all) {
  const bool on_gpu = std::ranges::any_of(all.benches, [](const bench_run& run) { return !run.arch.empty(); }) ||
                      std::ranges::any_of(all.ladders, [](const ladder_run& run) { return run.where.threads == 0; });
  part made{
      "banks", "Bank maps",
      "A tile of 32 x 32 elements of 4 bytes in a GPU's shared memory. The colour is the bank of an element. A bank "
      "serves 4 bytes a cycle, so framed elements of one bank are served one after another. The model computes "
      "these maps; <code>cornerturn explain RUNG</code> prints their numbers.",
      "", true};
  if (!on_gpu) return made;
  made.body = symbols() + "<div class=\"banks\">\n";
  for (const char* name : shown) {
    const ladder::description& rung = *ladder::find_rung(name, 4);
    const kernel_picture picture = picture_of(rung, architecture_of(all), {2048, 2048});
    const bank_map& map = picture.maps.back();
    const std::string counts = fmt::format("{:.0f} conflicts for each shared load, {:.0f} for each shared store",
                                           picture.counts.shared_load.conflicts_per_request(),
                                           picture.counts.shared_store.conflicts_per_request());
    made.body += fmt::format("<figure>\n{}<figcaption><b>{}</b>{}. Framed: {} {}.</figcaption>\n</figure>\n",
                             map_svg(map, fmt::format("banks of {}: {}", name, counts)), name_html(name), counts,
                             framed_banks(map), picture.marked);
  }
  made.body += "</div>\n";
  return made;
}

}  // namespace cornerturn::cli

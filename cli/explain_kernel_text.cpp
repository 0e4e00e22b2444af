#include <fmt/format.h>

#include <algorithm>

#include "explain_kernel.hpp"
#include "text.hpp"

namespace cornerturn::cli {
namespace {

constexpr int most_rows = 8, most_cols = 32;  // of a bank map, in a terminal
constexpr int most_squares = 32;              // of 4 bytes, in the picture of a request

// Banks round the wheel of xterm's 6 x 6 x 6 cube, so that neighbours look alike and the same bank looks the same.
int colour_of(int bank) {
  constexpr int wheel[] = {196, 202, 208, 214, 220, 226, 190, 154, 118, 82,  46,  47,  48,  49,  50,  51,
                           45,  39,  33,  27,  21,  57,  93,  129, 165, 201, 200, 199, 198, 197, 161, 125};
  return wheel[bank];
}

void add_map(std::string& out, const bank_map& map, bool colours) {
  const int rows = std::min(map.rows, most_rows), cols = std::min(map.cols, most_cols);
  out += fmt::format("  {}{}\n", map.title,
                     rows < map.rows || cols < map.cols
                         ? fmt::format(" ({} of {} rows, {} of {} columns)", rows, map.rows, cols, map.cols)
                         : "");
  for (int row = 0; row < rows; ++row) {
    out += "  ";
    for (int col = 0; col < cols; ++col) {
      const int bank = map.bank[map.at(row, col)];
      const bool marked = map.marked[map.at(row, col)];
      if (colours) {
        out += marked ? fmt::format("\x1b[48;5;{}m\x1b[30m{:3}\x1b[0m", colour_of(bank), bank)
                      : fmt::format("\x1b[38;5;{}m{:3}\x1b[0m", colour_of(bank), bank);
      } else {
        out += fmt::format("{}{:2}", marked ? '*' : ' ', bank);
      }
    }
    out += '\n';
  }
}

void add_strip(std::string& out, const sector_strip& strip, const model::architecture& machine) {
  out += fmt::format("  {:<18}", strip.title);
  const int squares = machine.rules.line_bytes / 4;
  const std::size_t listed = std::min<std::size_t>(strip.lines.size(), most_squares / squares);
  for (std::size_t k = 0; k < listed; ++k) {
    for (int square = 0; square < squares; ++square) out += (strip.lines[k] >> square & 1) != 0 ? "█" : "·";
    out += ' ';
  }
  const std::size_t more = strip.lines.size() - listed;
  const vocabulary& named = words_of(machine);
  out += fmt::format("{:<12} {:2} {}, {:.4g} % of {} bytes useful\n", more > 0 ? fmt::format("+ {} more", more) : "",
                     strip.lines.size(), strip.lines.size() == 1 ? named.line : named.lines, 100 * strip.useful,
                     strip.lines.size() == 1 ? "its" : "their");
}

std::string percent(double share) { return fmt::format("{:.0f} %", 100 * share); }

// In the words of the machine's vendor.
std::string limit_of(const model::residency& resident, const model::architecture& machine) {
  const vocabulary& words = words_of(machine);
  const std::string_view limit = resident.limit;
  if (limit == "shared memory") return words.shared_memory;
  if (limit == "registers") return words.registers;
  if (limit == "blocks") return fmt::format("{}s", words.block);
  if (limit == "threads" && machine.maker == model::vendor::amd) return "wavefronts";
  return std::string(limit);
}

}  // namespace

void add_global(std::string& out, const char* name, const model::global_count& count) {
  if (count.requests == 0) return;
  out += fmt::format("  {:<20}{:>12}{:>14}{:>13.2f}{:>8.1f} %\n", name, count.requests, count.lines,
                     count.lines_per_request(), 100 * count.useful());
}

void add_shared(std::string& out, const char* name, const model::shared_count& count) {
  if (count.requests == 0) return;
  out += fmt::format("  {:<20}{:>12}{:>14}{:>12}{:>11.2f}\n", name, count.requests, count.cycles, count.conflicts,
                     count.conflicts_per_request());
}

std::string text_of(const kernel_picture& picture, bool colours) {
  const ladder::description& rung = *picture.rung;
  const model::architecture& machine = *picture.machine;
  const model::traffic& t = picture.counts;
  std::string out = fmt::format("{}: {}, {}, on {} ({})\n", picture.name, ladder::text_of(picture.shape),
                                elements_text(rung.word_bytes), machine.name, machine.product);
  if (picture.name != rung.rung) out += fmt::format("{} of the ladder is this kernel.\n", rung.rung);
  const vocabulary& words = words_of(machine);
  const bool amd = machine.maker == model::vendor::amd;
  out += fmt::format("\nGlobal memory, the first requests of a {}{}: {}s of {} bytes. A square is 4 bytes; █ is used\n",
                     words.warp, amd ? fmt::format(" of {} lanes", machine.rules.lanes) : "", words.line,
                     machine.rules.line_bytes);
  for (const sector_strip& strip : picture.strips) add_strip(out, strip, machine);
  if (rung.tensor_load) out += "  load              the tensor memory accelerator fetches whole tiles\n";
  if (rung.tensor_store) out += "  store             the tensor memory accelerator sends whole tiles\n";
  if (!picture.maps.empty()) {
    out += fmt::format("\nThe bank of each element of the tile in {}; {} {}\n", words.shared_memory,
                       colours ? "highlighted: the elements" : "* marks the elements", picture.marked);
    for (const bank_map& map : picture.maps) add_map(out, map, colours);
  }
  if (t.load.requests + t.async_load.requests + t.store.requests > 0) {
    out += fmt::format("\n  {:<20}{:>12}{:>14}{:>13}{:>9}\n", "global", "requests", words.lines, "a request", "useful");
  }
  add_global(out, "load", t.load);
  add_global(out, "asynchronous load", t.async_load);
  add_global(out, "store", t.store);
  if (t.shared_load.requests + t.shared_store.requests + t.async_store.requests > 0) {
    out += fmt::format("\n  {:<20}{:>12}{:>14}{:>12}{:>11}\n", amd ? "LDS" : "shared", "requests",
                       amd ? "cycles" : "wavefronts", "conflicts", "a request");
    add_shared(out, "store", t.shared_store);
    add_shared(out, "asynchronous store", t.async_store);
    add_shared(out, "load", t.shared_load);
  }
  out += fmt::format(
      "\n  A {} has {} threads, {} of {} and {}{} {} a thread. {} {}{} a {}:\n"
      "  occupancy {}, limited by {}. {} in flight; a busy DRAM needs {}.\n",
      words.block, rung.threads, bytes_text(rung.shared_bytes), words.shared_memory, amd ? "" : "at most ",
      ladder::registers_of(rung, machine), words.registers, picture.resident.blocks, words.block,
      picture.resident.blocks == 1 ? " fits" : "s fit", words.multiprocessor, percent(picture.resident.occupancy),
      limit_of(picture.resident, machine), bytes_text(static_cast<std::int64_t>(picture.in_flight)),
      bytes_text(static_cast<std::int64_t>(model::needed_in_flight(machine))));
  out += fmt::format("  Loading and storing each byte once takes {:.3g} us at {:.0f} GB/s.\n\n",
                     picture.floor_seconds * 1e6, machine.dram_gigabytes_per_second);
  for (const std::string& sentence : picture.verdict) out += sentence + '\n';
  if (const std::string doubt = reservation(machine); !doubt.empty()) out += doubt + '\n';
  return out;
}

std::string comparison_of(const model::architecture& machine, const ladder::matrix_shape& shape, int word_bytes) {
  const bool amd = machine.maker == model::vendor::amd;
  std::string out = fmt::format(
      "{}, {}, on {} ({}). Averages of a request: {} and their useful bytes, bank conflicts.\n", ladder::text_of(shape),
      elements_text(word_bytes), machine.name, machine.product, amd ? "cache lines" : "sectors");
  if (amd) {
    out += fmt::format("A wavefront has {} lanes, a cache line {} bytes. {}\n", machine.rules.lanes,
                       machine.rules.line_bytes, reservation(machine));
  }
  out += '\n';
  out += fmt::format("{:<20}{:>14}{:>16}{:>14}{:>13}{:>11}\n", "rung", "load", "store", "conflicts", "conflicts",
                     "occupancy");
  out += fmt::format("{:<20}{:>14}{:>16}{:>14}{:>13}{:>11}\n", "", amd ? "lines" : "sectors", amd ? "lines" : "sectors",
                     amd ? "LDS store" : "shared store", amd ? "LDS load" : "shared load", "");
  const auto global = [](const model::global_count& count, bool by_tensor) {
    if (by_tensor) return std::string("TMA");
    return fmt::format("{:.1f} {:>5.1f} %", count.lines_per_request(), 100 * count.useful());
  };
  const auto shared = [](const model::shared_count& count) {
    return count.requests == 0 ? std::string("-") : fmt::format("{:.1f}", count.conflicts_per_request());
  };
  for (const ladder::description& rung : ladder::rungs()) {
    if (rung.word_bytes != word_bytes) continue;
    if (const std::string why = ladder::refusal(rung, machine, shape); !why.empty()) {
      out += fmt::format("{:<20}  {}\n", rung.rung, why);
      continue;
    }
    const model::traffic t = ladder::predict(rung, machine, shape);
    const bool async = t.async_load.requests > 0;
    out += fmt::format("{:<20}{:>14}{:>16}{:>14}{:>13}{:>11}\n", rung.rung,
                       global(async ? t.async_load : t.load, rung.tensor_load), global(t.store, rung.tensor_store),
                       shared(async ? t.async_store : t.shared_store), shared(t.shared_load),
                       percent(ladder::residency(rung, machine).occupancy));
  }
  return out;
}

}  // namespace cornerturn::cli

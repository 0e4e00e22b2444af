#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <map>
#include <utility>

#include "explain_kernel.hpp"
#include "text.hpp"

namespace cornerturn::cli {
namespace {

using model::operation;

bool is_shared(operation what) {
  return what == operation::shared_load || what == operation::shared_store || what == operation::async_store;
}

const char* name_of(operation what, bool amd = false) {
  if (amd && what == operation::shared_load) return "LDS load";
  if (amd && what == operation::shared_store) return "LDS store";
  switch (what) {
    case operation::global_load:
      return "load";
    case operation::global_store:
      return "store";
    case operation::async_load:
      return "asynchronous load";
    case operation::async_store:
      return "asynchronous shared store";
    case operation::shared_load:
      return "shared load";
    case operation::shared_store:
      return "shared store";
  }
  return "";
}

// The first tile, as a whole one: the kernel's full tile size, even if the matrix is smaller.
model::tile_part whole_tile(const model::program& kernel, const ladder::matrix_shape& shape, operation what) {
  const std::int64_t line = what == operation::global_store && kernel.turns ? shape.rows : shape.cols;
  return {kernel.tile_rows, kernel.tile_cols, 0, line * kernel.word_bytes};
}

// The part of the first tile that is inside the matrix. A copy sees the array as one long row.
model::tile_part first_tile(const model::program& kernel, ladder::matrix_shape shape, operation what) {
  if (!kernel.turns) shape = {1, shape.rows * shape.cols * shape.batch};
  model::tile_part made = whole_tile(kernel, shape, what);
  made.rows = static_cast<int>(std::min<std::int64_t>(made.rows, shape.rows));
  made.cols = static_cast<int>(std::min<std::int64_t>(made.cols, shape.cols));
  return made;
}

sector_strip strip_of(const model::warp_access& access, operation what, int line_bytes) {
  std::map<std::int64_t, std::uint32_t> touched;
  const int squares = line_bytes / 4;
  for (int lane = 0; lane < model::most_lanes; ++lane) {
    if ((access.active >> lane & 1) == 0) continue;
    const std::int64_t at = access.address[static_cast<std::size_t>(lane)];
    for (std::int64_t square = at / 4; square <= (at + access.lane_bytes - 1) / 4; ++square) {
      touched[square / squares] |= std::uint32_t{1} << square % squares;
    }
  }
  sector_strip made{name_of(what), {}, 0};
  for (const auto& [line, bits] : touched) made.lines.push_back(bits);
  if (!touched.empty()) made.useful = model::used_bytes(access) / (static_cast<double>(touched.size()) * line_bytes);
  return made;
}

// The lanes of the phase that takes the most wavefronts.
model::warp_access worst_phase(const model::warp_access& access, const model::memory_rules& rules) {
  model::warp_access worst;
  int most = -1;
  for (const model::lane_mask lanes : model::phases_of(access.lane_bytes, access.stores, rules)) {
    model::warp_access phase = access;
    phase.active &= lanes;
    const int taken = model::shared_cycles(phase, rules).taken;
    if (taken > most) most = taken, worst = phase;
  }
  return worst;
}

template <class Place>
bank_map map_of(std::string title, const model::program& kernel, const Place& place) {
  bank_map made{std::move(title), kernel.tile_rows, kernel.tile_cols, {}, {}};
  for (int row = 0; row < made.rows; ++row) {
    for (int col = 0; col < made.cols; ++col) {
      made.bank.push_back(place(row, col) / model::bank_bytes % model::banks);
    }
  }
  made.marked.assign(made.bank.size(), false);
  return made;
}

// Maps of the tile, with marks on the elements of the worst access of warp 0.
void add_maps(kernel_picture& made, const model::program& kernel) {
  if (made.rung->place == nullptr) return;
  made.maps.push_back(map_of("without padding or XOR", kernel, made.rung->plain_place));
  bank_map own = map_of(made.name, kernel, made.rung->place);
  if (own.bank == made.maps[0].bank) made.maps.clear();
  made.maps.push_back(std::move(own));

  // Of the accesses with the most conflicts, the one that would have the most if the tile were plain.
  const model::memory_rules& rules = made.machine->rules;
  const auto conflicts_of = [&](const model::instruction& one, const model::tile_part& tile) {
    return model::shared_cycles(access_of(kernel, one, 0, tile, rules), rules).conflicts;
  };
  const model::instruction* worst = nullptr;
  std::pair most{-1, -1};
  for (const model::instruction& one : kernel.instructions) {
    if (!is_shared(one.what)) continue;
    model::instruction plain = one;
    for (model::lane& lane : plain.lanes) lane.shared = made.rung->plain_place(lane.row, lane.col);
    const model::tile_part tile = whole_tile(kernel, made.shape, one.what);
    const std::pair conflicts{conflicts_of(one, tile), conflicts_of(plain, tile)};
    if (conflicts > most) most = conflicts, worst = &one;
  }
  if (worst == nullptr) return;
  const model::warp_access phase =
      worst_phase(access_of(kernel, *worst, 0, whole_tile(kernel, made.shape, worst->what), rules), rules);
  const int lanes = std::popcount(phase.active);
  const bool amd = made.machine->maker == model::vendor::amd;
  made.marked =
      fmt::format("that {} lanes access together in {} {}", lanes, amd ? "an" : "a", name_of(worst->what, amd));
  for (int row = 0; row < kernel.tile_rows; ++row) {
    for (int col = 0; col < kernel.tile_cols; ++col) {
      const int address = made.rung->place(row, col);
      for (int lane = 0; lane < model::most_lanes; ++lane) {
        const std::int64_t from = phase.address[static_cast<std::size_t>(lane)];
        if ((phase.active >> lane & 1) == 0 || address < from || address >= from + phase.lane_bytes) continue;
        for (bank_map& map : made.maps) map.marked[map.at(row, col)] = true;
      }
    }
  }
}

// A rung whose addresses are faultless and that is still slower than the copy. On an H200 (2026-11-23, float32, 8192 x 8192)
// 30_padded has 0.81 of the copy; 16 bytes a lane, 45_vector_padded, 0.84; three times the bytes in flight by TMA,
// 85_tma_store, 0.89; both and tile rows of 256 bytes, 90_register_block, 0.97.
void add_bounds(kernel_picture& made, const model::program& kernel) {
  const model::traffic& t = made.counts;
  const vocabulary& words = words_of(*made.machine);
  const auto say = [&](std::string sentence) { made.verdict.push_back(std::move(sentence)); };
  const bool amd = made.machine->maker == model::vendor::amd;
  const double wide = 16.0 * made.machine->rules.lanes;
  const auto bytes_of = [](double bytes, std::int64_t requests) {
    return requests > 0 ? bytes / static_cast<double>(requests) : 1e9;
  };
  const double moved =
      2.0 * static_cast<double>(made.shape.rows * made.shape.cols * made.shape.batch) * made.rung->word_bytes;
  const double global = bytes_of(static_cast<double>(t.load.bytes + t.async_load.bytes + t.store.bytes),
                                 t.load.requests + t.async_load.requests + t.store.requests);
  const double shared = bytes_of(moved, t.shared_load.requests + t.shared_store.requests + t.async_store.requests);
  const double needed = 2 * model::needed_in_flight(*made.machine);
  const int row = std::min(kernel.tile_rows, kernel.tile_cols) * kernel.word_bytes;
  constexpr int good_row = 256;
  std::vector<std::string> bounds;
  if (made.rung->place != nullptr && made.in_flight < needed) {
    bounds.push_back(fmt::format(
        "While a {} stores, it loads nothing: about half of {} is in flight, and a busy DRAM needs {}.", words.block,
        bytes_text(static_cast<std::int64_t>(made.in_flight)), bytes_text(static_cast<std::int64_t>(needed / 2))));
  }
  if (const double least = std::min(global, shared); least < 0.75 * wide) {
    bounds.push_back(
        fmt::format("{} requests have {:.0f} bytes on average. 16 bytes a lane would be {:.0f}: there are {:.2g} times "
                    "too many requests.",
                    global <= shared ? "Global"
                    : amd            ? "LDS"
                                     : "Shared",
                    least, wide, wide / least));
  }
  if (row < good_row) {
    bounds.push_back(fmt::format("A row of a tile has {} bytes. DRAM is faster with rows of {} bytes.", row, good_row));
  }
  const std::string good =
      fmt::format("The {} are well used, and {} has no bank conflicts", words.lines, words.shared_memory);
  if (bounds.empty()) return say(good + ": only DRAM limits this kernel.");
  say(good + ". It is still slower than the copy:");
  for (std::string& one : bounds) say(std::move(one));
}

void add_verdict(kernel_picture& made, const model::program& kernel) {
  const model::traffic& t = made.counts;
  const vocabulary& words = words_of(*made.machine);
  const auto say = [&](std::string sentence) { made.verdict.push_back(std::move(sentence)); };
  const auto global = [&](const model::global_count& count, const char* what) {
    if (count.requests == 0 || count.useful() > 0.9) return;
    say(fmt::format("{} use {:.1f} % of the bytes of their {}: {:.1f} times the necessary traffic.", what,
                    100 * count.useful(), words.lines, 1 / count.useful()));
  };
  global(t.load, "Loads");
  global(t.async_load, "Asynchronous loads");
  global(t.store, "Stores");
  const bool amd = made.machine->maker == model::vendor::amd;
  const auto shared = [&](const model::shared_count& count, const char* what) {
    const double more = count.conflicts_per_request();
    if (more < 0.05) return;
    const double cycles = static_cast<double>(count.cycles) / static_cast<double>(count.requests);
    say(fmt::format("Bank conflicts: {} takes {:.1f} {} instead of {:.1f}.", what, cycles,
                    amd ? "cycles" : "wavefronts", cycles - more));
  };
  shared(t.shared_load, amd ? "an LDS load" : "a shared load");
  shared(t.shared_store, amd ? "an LDS store" : "a shared store");
  shared(t.async_store, "an asynchronous shared store");
  const double needed = model::needed_in_flight(*made.machine);
  if (made.resident.blocks == 0) {
    say(fmt::format("A {} does not fit a {} of {}: {}.", words.block, words.multiprocessor, made.machine->name,
                    made.resident.limit));
  } else if (made.in_flight < needed) {
    say(fmt::format("Only {} are in flight. A busy DRAM needs {}, its bandwidth times its latency.",
                    bytes_text(static_cast<std::int64_t>(made.in_flight)),
                    bytes_text(static_cast<std::int64_t>(needed))));
  }
  if (!made.verdict.empty()) return;
  if (!made.rung->is_copy) return add_bounds(made, kernel);
  if (made.rung->shared_bytes > 0) {
    return say(fmt::format("The copy of rung 00, through {}: whole {}, and no bank conflicts.", words.shared_memory,
                           words.lines));
  }
  say(fmt::format("Each byte is loaded once and stored once, in whole {}: no rung can be faster.", words.lines));
}

}  // namespace

const vocabulary& words_of(const model::architecture& machine) {
  static constexpr vocabulary nvidia{"warp",   "block",   "multiprocessor", "shared memory",
                                     "sector", "sectors", "registers"};
  static constexpr vocabulary cdna{"wavefront",  "workgroup",   "compute unit", "LDS",
                                   "cache line", "cache lines", "VGPRs"};
  static constexpr vocabulary rdna{"wavefront",   "workgroup", "workgroup processor", "LDS", "cache line",
                                   "cache lines", "VGPRs"};
  if (machine.maker == model::vendor::nvidia) return nvidia;
  return machine.rules.lanes == 64 ? cdna : rdna;
}

std::string reservation(const model::architecture& machine) {
  if (machine.counted) return {};
  return fmt::format("The counts for {} have not been compared with a profiler yet.", machine.name);
}

kernel_picture picture_of(const ladder::description& rung, const model::architecture& machine,
                          const ladder::matrix_shape& shape, std::string name) {
  kernel_picture made;
  made.name = name.empty() ? std::string(rung.rung) : std::move(name);
  made.rung = &rung;
  made.machine = &machine;
  made.shape = shape;
  made.counts = ladder::predict(rung, machine, shape);
  made.resident = ladder::residency(rung, machine);
  made.floor_seconds = model::dram_floor(machine, shape.rows * shape.cols * shape.batch * rung.word_bytes);
  made.in_flight = static_cast<double>(made.resident.blocks) * rung.bytes_in_flight * machine.multiprocessors;
  const model::program kernel = ladder::program_on(rung, machine, shape);
  for (const operation what : {operation::global_load, operation::async_load, operation::global_store}) {
    for (const model::instruction& one : kernel.instructions) {
      if (one.what != what) continue;
      const model::warp_access access = access_of(kernel, one, 0, first_tile(kernel, shape, what), machine.rules);
      if (access.active == 0) continue;  // a copy of whole pieces in an array that has none
      made.strips.push_back(strip_of(access, what, machine.rules.line_bytes));
      break;
    }
  }
  add_maps(made, kernel);
  add_verdict(made, kernel);
  return made;
}

}  // namespace cornerturn::cli

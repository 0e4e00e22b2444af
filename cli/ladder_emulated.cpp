// `cornerturn ladder --device emulated`: runs the text of the rungs, or of a file, without a GPU.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "commands.hpp"
#include "ladder_options.hpp"
#include "print.hpp"
#include "text.hpp"

namespace cornerturn::cli {
namespace {

double per_request(std::int64_t count, std::int64_t requests) {
  return static_cast<double>(count) / static_cast<double>(requests);
}

void print_checked(const ladder::emulated_rung& rung) {
  if (rung.checked.size() == 1) {
    print_safe("{}: every element is right.", ladder::text_of(rung.checked.front()));
  } else {
    print_safe("{} shapes with every kind of edge: every element is right.", rung.checked.size());
  }
  print_safe(" No race, no access outside of an array.\n");
}

void print_counts(const ladder::emulated_rung& rung) {
  std::size_t width = 4;
  for (const ladder::counted_line& one : rung.lines) width = std::max(width, one.where.size());
  print_safe("\nAll requests of {}; per request: sectors of 32 bytes, or wavefronts of shared memory\n",
             ladder::text_of(rung.counted_shape));
  print_safe("  {:<{}}  {:<14} {:>8} {:>8} {:>10} {:>8} {:>9}\n", "line", width, "access", "requests", "sectors",
             "wavefronts", "useful", "conflicts");
  for (const ladder::counted_line& one : rung.lines) {
    const double each = per_request(one.lines, one.requests);
    if (one.is_shared) {
      print_safe("  {:<{}}  {:<14} {:>8} {:>8} {:>10.1f} {:>8} {:>9.1f}\n", one.where, width, one.what, one.requests,
                 "", each, "", per_request(one.conflicts, one.requests));
    } else {
      print_safe("  {:<{}}  {:<14} {:>8} {:>8.1f} {:>10} {:>6.1f} %\n", one.where, width, one.what, one.requests, each,
                 "", 100 * per_request(one.bytes, 32 * one.lines));
    }
  }
}

// The maps that decide the addresses, if the file defines any.
void print_maps(const ladder::emulated_rung& rung) {
  if (!rung.maps.empty()) print_safe("The addresses come from {}.\n", fmt::join(rung.maps, ", "));
}

// Names each access that is slow.
void print_verdict(const ladder::emulated_rung& rung) {
  bool is_clean = true;
  for (const ladder::counted_line& one : rung.lines) {
    if (one.is_shared && one.conflicts > 0) {
      print_safe("{}Bank conflicts at {}: a {} takes {:.1f} wavefronts more than it needs.\n", is_clean ? "\n" : "",
                 one.where, one.what, per_request(one.conflicts, one.requests));
      is_clean = false;
    } else if (!one.is_shared && one.bytes * 10 < one.lines * 32 * 9) {
      print_safe("{}Not coalesced at {}: a {} uses {:.1f} % of the bytes of its sectors.\n", is_clean ? "\n" : "",
                 one.where, one.what, 100 * per_request(one.bytes, 32 * one.lines));
      is_clean = false;
    }
  }
  if (!is_clean) return print_maps(rung);
  print_safe("\nEvery access to global memory is coalesced, and shared memory has no bank conflicts.\n");
}

void print_fault(const ladder::emulated_rung& rung) {
  const ladder::emulated_fault& fault = rung.faults.front();
  print_safe("FAULT on {}: {}\n", ladder::text_of(fault.shape), fault.what);
  for (const ladder::emulated_place& one : fault.places) print_safe("  {}: {}\n", one.where, one.what);
  print_maps(rung);
}

int run_one(const ladder_options& options, const std::filesystem::path& file, std::string_view rung,
            const std::vector<ladder::matrix_shape>& shapes) {
  const ladder::emulated_rung made = ladder::emulate(file, rung, options.element_bytes, shapes);
  print_safe("{}: {}, tiles of {}x{}, blocks of {} threads, {} bytes of shared memory\n", made.name,
             elements_text(options.element_bytes), made.tile_rows, made.tile_cols, made.threads, made.shared_bytes);
  if (!made.faults.empty()) {
    print_fault(made);
    return exit_failure;
  }
  print_checked(made);
  print_counts(made);
  print_verdict(made);
  return exit_ok;
}

struct sums {
  std::int64_t requests = 0, lines = 0, bytes = 0, conflicts = 0;
};

std::string text_of_global(const sums& all) {
  if (all.requests == 0) return "-";
  return fmt::format("{:.1f} {:.1f} %", per_request(all.lines, all.requests),
                     100 * per_request(all.bytes, 32 * all.lines));
}
std::string text_of_shared(const sums& all) {
  return all.requests == 0 ? "-" : fmt::format("{:.1f}", per_request(all.conflicts, all.requests));
}

// One line for each rung of the ladder.
int run_all(const ladder_options& options, const std::vector<ladder::matrix_shape>& shapes) {
  int code = exit_ok;
  bool has_head = false;  // a build without the emulator prints none
  for (const ladder::description& one : ladder::rungs()) {
    const bool takes = std::ranges::all_of(shapes, [&](const auto& shape) { return one.takes(shape); });
    if (one.word_bytes != options.element_bytes || !takes) continue;
    const auto made = ladder::emulate(ladder::file_of_rung(one.rung), one.rung, options.element_bytes, shapes);
    if (!has_head) {
      print_safe("{:<20} {:>7} {:>14} {:>14} {:>13} {:>12}\n", "rung", "shapes", "load", "store", "conflicts",
                 "conflicts");
      print_safe("{:<20} {:>7} {:>14} {:>14} {:>13} {:>12}\n", "", "right", "sectors", "sectors", "shared store",
                 "shared load");
      has_head = true;
    }
    if (!made.faults.empty()) {
      print_safe("{}: ", one.rung);
      print_fault(made);
      code = exit_failure;
      continue;
    }
    sums load, store, shared_load, shared_store;
    for (const ladder::counted_line& line : made.lines) {
      const std::string_view what = line.what;
      const bool loads = what.ends_with("load") || (what.starts_with("copy") && !line.is_shared);
      sums& to = line.is_shared ? (loads ? shared_load : shared_store) : (loads ? load : store);
      to.requests += line.requests, to.lines += line.lines, to.bytes += line.bytes, to.conflicts += line.conflicts;
    }
    print_safe("{:<20} {:>7} {:>14} {:>14} {:>13} {:>12}\n", one.rung, made.checked.size(),
               one.tensor_load ? "TMA" : text_of_global(load), one.tensor_store ? "TMA" : text_of_global(store),
               one.tensor_load && !one.tensor_store ? "-" : text_of_shared(shared_store), text_of_shared(shared_load));
    std::fflush(stdout);
  }
  return code;
}

}  // namespace

int run_emulated_ladder(const ladder_options& options) {
  std::vector<ladder::matrix_shape> shapes;
  for (const auto& shape : options.shapes) shapes.push_back(ladder_shape(shape));
  try {
    if (!options.file.empty()) return run_one(options, options.file, "", shapes);
    if (options.rung.empty()) return run_all(options, shapes);
    const ladder::description* const rung = ladder::find_rung(options.rung, options.element_bytes);
    if (rung == nullptr) throw no_such_rung(options.rung, ladder::rungs(), options.element_bytes);
    return run_one(options, ladder::file_of_rung(rung->rung), rung->rung, shapes);
  } catch (const ladder::no_emulator& fault) {
    throw failure(fault.what(), exit_no_device);
  } catch (const ladder::not_compiled& fault) {
    print_safe(stderr, "{}", fault.what());
    throw failure("the file does not compile; the compiler's messages are above");
  } catch (const std::invalid_argument& fault) {
    throw failure(fault.what(), exit_usage);
  }
}

}  // namespace cornerturn::cli

// `cornerturn explain KERNEL`: what a rung of the ladder asks of memory, and why. No GPU, no data.
#include "explain_kernel.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <nlohmann/json.hpp>

#include "commands.hpp"
#include "cornerturn/system.hpp"
#include "print.hpp"
#include "text.hpp"
#include "trace/trace.hpp"

namespace cornerturn::cli {
namespace {

const model::architecture& architecture_of(const std::string& name) {
  if (const auto* const found = model::find_architecture(name)) return *found;
  std::string known;
  for (const model::architecture& one : model::architectures()) known += fmt::format(" {}", one.name);
  throw failure(fmt::format("--arch is \"{}\", wanted one of{}", name, known), exit_usage);
}

ladder::matrix_shape matrix_of(const std::vector<std::int64_t>& shape) {
  if (shape.empty()) return {2048, 2048};
  const std::string named = shape_text(shape);
  if (shape.size() > 3) {
    throw failure(fmt::format("--shape is {}, wanted a matrix, RxC, or a batch of them, BxRxC, for a rung", named),
                  exit_usage);
  }
  const auto at_end = [&](std::size_t k) { return shape[shape.size() - k]; };
  const ladder::matrix_shape made{shape.size() < 2 ? 1 : at_end(2), at_end(1), shape.size() < 3 ? 1 : shape[0]};
  std::int64_t bytes = 8;
  for (const std::int64_t extent : shape) {
    if (extent < 1) throw failure(fmt::format("--shape is {}, wanted extents of 1 or more", named), exit_usage);
    if (__builtin_mul_overflow(bytes, extent, &bytes) || bytes > std::int64_t{1} << 60) {
      throw failure(fmt::format("--shape is {}, wanted a matrix of up to 2^60 bytes", named), exit_usage);
    }
  }
  return made;
}

std::int64_t bytes_of(const explain_options& options) { return options.element_bytes > 0 ? options.element_bytes : 4; }

// The library's own kernels are known by their names too: gpu_tile_b4_64x64_r4_xor is 90_register_block of 4 bytes.
const ladder::description* production_rung(const std::string& name) {
  for (const int word_bytes : {1, 2, 4, 8}) {
    const ladder::description* const rung = ladder::find_rung("90_register_block", word_bytes);
    const std::string row =
        fmt::format("gpu_tile_b{}_{}x{}_r{}_xor", word_bytes, rung->tile_rows, rung->tile_cols, 16 / word_bytes);
    if (name == row) return rung;
  }
  return nullptr;
}

// Axes, leading dimensions and elements that a rung knows nothing of.
bool takes_a_problem(const explain_options& options) {
  const std::int64_t bytes = options.element_bytes;
  return options.axes || options.src_ld != 0 || options.dst_ld != 0 || options.matrix.size() > 2 ||
         (bytes != 0 && options.kernel.find(fmt::format("_b{}_", bytes)) == std::string::npos);
}

const ladder::description& rung_of(const explain_options& options) {
  if (const auto* const found = production_rung(options.kernel)) return *found;
  const int word_bytes = bytes_of(options) > 8 ? 0 : static_cast<int>(bytes_of(options));
  if (const auto* const found = ladder::find_rung(options.kernel, word_bytes)) return *found;
  std::string sizes;
  std::vector<std::string> known;
  for (const auto table : {ladder::rungs(), ladder::tile_size_rungs(), ladder::cute_rungs()}) {
    for (const ladder::description& one : table) {
      if (one.rung == options.kernel || std::string(one.rung).substr(3) == options.kernel) {
        sizes += fmt::format("{}{}", sizes.empty() ? "" : ", ", one.word_bytes);
      }
      if (one.word_bytes == 4) known.emplace_back(one.rung);
    }
  }
  if (!sizes.empty()) {
    throw failure(fmt::format("{} moves elements of {} bytes, not {}", options.kernel, sizes, bytes_of(options)),
                  exit_usage);
  }
  for (const kernel_info& one : kernel_list()) known.push_back(one.name);
  for (const std::string_view one : trace::rows()) known.emplace_back(one);
  auto meant = closest(options.kernel, known);
  if (const auto shape = meant_shape(options.kernel)) meant = shape_text(*shape);
  throw failure(
      fmt::format("\"{}\" is no kernel; {}", options.kernel,
                  meant ? fmt::format("did you mean {}?", *meant)
                        : std::string("wanted a shape such as 4096x2048, a name that `cornerturn kernels` lists, "
                                      "or a rung that `cornerturn explain --all` lists")),
      exit_usage);
}

bool colours_wanted() {
  const std::string terminal = base::environment("TERM");
  return isatty(STDOUT_FILENO) == 1 && !terminal.empty() && terminal != "dumb" && base::environment("NO_COLOR").empty();
}

nlohmann::ordered_json picture_json(const kernel_picture& picture) {
  const model::traffic& t = picture.counts;
  const bool amd = picture.machine->maker == model::vendor::amd;
  return {
      {"kernel", picture.name},
      {"rung", picture.rung->rung},
      {"shape", {picture.shape.batch, picture.shape.rows, picture.shape.cols}},
      {"element_bytes", picture.rung->word_bytes},
      {"architecture", picture.machine->name},
      {"load", json_of(t.load, amd)},
      {"async_load", json_of(t.async_load, amd)},
      {"store", json_of(t.store, amd)},
      {"shared_store", json_of(t.shared_store)},
      {"async_shared_store", json_of(t.async_store)},
      {"shared_load", json_of(t.shared_load)},
      {"occupancy", picture.resident.occupancy},
      {"blocks_per_multiprocessor", picture.resident.blocks},
      {"limited_by", picture.resident.limit},
      {"bytes_in_flight", picture.in_flight},
      {"dram_floor_seconds", picture.floor_seconds},
      {"verdict", picture.verdict},
      {"lanes", picture.machine->rules.lanes},
      {"line_bytes", picture.machine->rules.line_bytes},
      {"held_against_a_profiler", picture.machine->counted},
  };
}

// One entry for each rung: its picture, or the reason why it does not run.
nlohmann::ordered_json json_of_all(const model::architecture& machine, const ladder::matrix_shape& shape,
                                   int word_bytes) {
  auto all = nlohmann::ordered_json::array();
  for (const ladder::description& rung : ladder::rungs()) {
    if (rung.word_bytes != word_bytes) continue;
    const std::string why = ladder::refusal(rung, machine, shape);
    all.push_back(why.empty() ? picture_json(picture_of(rung, machine, shape))
                              : nlohmann::ordered_json{{"kernel", rung.rung}, {"refusal", why}});
  }
  return all;
}

}  // namespace

nlohmann::ordered_json json_of(const model::global_count& count, bool amd) {
  return {{"requests", count.requests},
          {amd ? "lines" : "sectors", count.lines},
          {amd ? "lines_per_request" : "sectors_per_request", count.lines_per_request()},
          {"useful", count.useful()}};
}
nlohmann::ordered_json json_of(const model::shared_count& count) {
  return {{"requests", count.requests}, {"wavefronts", count.cycles}, {"conflicts", count.conflicts}};
}

int run_explain_kernel(const explain_options& options) {
  const model::architecture& machine = architecture_of(options.arch);
  if (is_cpu_row(options.kernel)) {
    if (!options.svg.empty())
      throw failure("--svg is given with a CPU kernel, wanted a rung of the ladder", exit_usage);
    print_safe("{}", cpu_row_text(options));
    return exit_ok;
  }
  if (is_row(options.kernel) && (production_rung(options.kernel) == nullptr || takes_a_problem(options))) {
    if (!options.svg.empty()) throw failure("--svg is given with a GPU row, wanted a rung of the ladder", exit_usage);
    print_safe("{}", row_text(options, machine));
    return exit_ok;
  }
  const ladder::matrix_shape shape = matrix_of(options.matrix);
  if (options.axes || options.src_ld != 0 || options.dst_ld != 0) {
    throw failure(
        "--axes, --src-ld or --dst-ld is given with a rung, wanted a shape or a row with it: a rung transposes "
        "a packed matrix",
        exit_usage);
  }
  if (options.all) {
    const std::int64_t bytes = bytes_of(options);
    if (bytes != 1 && bytes != 2 && bytes != 4 && bytes != 8) {
      throw failure(fmt::format("--bytes is {}, wanted 1, 2, 4 or 8 for the rungs", bytes), exit_usage);
    }
    if (options.json) {
      print_safe("{}\n", json_of_all(machine, shape, static_cast<int>(bytes)).dump(-1, ' ', true));
    } else {
      print_safe("{}", comparison_of(machine, shape, static_cast<int>(bytes)));
    }
    return exit_ok;
  }
  const ladder::description& rung = rung_of(options);
  const std::string name = is_row(options.kernel) ? options.kernel : rung.rung;
  if (const std::string why = ladder::refusal(rung, machine, shape); !why.empty()) {
    const bool any_shape = rung.takes(shape);
    throw failure(fmt::format("{} is not for {}: it {}", name, any_shape ? machine.name : ladder::text_of(shape), why));
  }
  const kernel_picture picture = picture_of(rung, machine, shape, name);
  if (!options.svg.empty()) write_whole(options.svg, svg_of(picture));
  if (options.json) {
    print_safe("{}\n", picture_json(picture).dump(-1, ' ', true));
  } else {
    std::fputs(text_of(picture, colours_wanted()).c_str(), stdout);
  }
  return exit_ok;
}

}  // namespace cornerturn::cli

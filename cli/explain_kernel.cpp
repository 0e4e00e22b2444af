// `cornerturn explain KERNEL`: what a rung of the ladder asks of memory, and why. No GPU, no data.
#include "explain_kernel.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>

#include "commands.hpp"
#include "text.hpp"

namespace cornerturn::cli {
namespace {

const model::architecture& architecture_of(const std::string& name) {
  if (const auto* const found = model::find_architecture(name)) return *found;
  std::string known;
  for (const model::architecture& one : model::architectures()) known += fmt::format(" {}", one.name);
  throw failure(fmt::format("\"{}\" is no architecture that the model knows; it knows{}", name, known), exit_usage);
}

ladder::matrix_shape matrix_of(const std::vector<std::int64_t>& shape) {
  if (shape.empty()) return {2048, 2048};
  if (shape.size() > 3) throw failure("a rung moves a matrix, RxC, or a batch of them, BxRxC", exit_usage);
  const auto at_end = [&](std::size_t k) { return shape[shape.size() - k]; };
  const ladder::matrix_shape made{shape.size() < 2 ? 1 : at_end(2), at_end(1), shape.size() < 3 ? 1 : shape[0]};
  std::int64_t bytes = 8;
  for (const std::int64_t extent : shape) {
    if (extent < 1) throw failure("the model counts matrices of at least one element", exit_usage);
    if (__builtin_mul_overflow(bytes, extent, &bytes) || bytes > std::int64_t{1} << 60) {
      throw failure("the model counts matrices of up to 2^60 bytes", exit_usage);
    }
  }
  return made;
}

// The library's own kernels are known by their names too: cuda_tile_b4_64x64_r4_xor is 90_register_block of 4 bytes.
const ladder::description* production_rung(const std::string& name) {
  for (const int word_bytes : {1, 2, 4, 8}) {
    const ladder::description* const rung = ladder::find_rung("90_register_block", word_bytes);
    if (name.rfind(fmt::format("cuda_tile_b{}_{}x{}_", word_bytes, rung->tile_rows, rung->tile_cols), 0) == 0)
      return rung;
  }
  return nullptr;
}

// Axes, leading dimensions and elements that a rung knows nothing of.
bool takes_a_problem(const explain_options& options) {
  const std::int64_t bytes = options.element_bytes;
  return options.axes || options.src_ld != 0 || options.dst_ld != 0 || options.matrix.size() > 2 ||
         options.kernel.find(fmt::format("_b{}_", bytes)) == std::string::npos;
}

const ladder::description& rung_of(const explain_options& options) {
  if (const auto* const found = production_rung(options.kernel)) return *found;
  const int word_bytes = options.element_bytes > 8 ? 0 : static_cast<int>(options.element_bytes);
  if (const auto* const found = ladder::find_rung(options.kernel, word_bytes)) return *found;
  std::string known, sizes;
  for (const auto table : {ladder::rungs(), ladder::tile_size_rungs(), ladder::cute_rungs()}) {
    for (const ladder::description& one : table) {
      if (one.rung == options.kernel || std::string(one.rung).substr(3) == options.kernel) {
        sizes += fmt::format("{}{}", sizes.empty() ? "" : ", ", one.word_bytes);
      }
      if (one.word_bytes == 4) known += fmt::format("\n  {}", one.rung);
    }
  }
  if (!sizes.empty()) {
    throw failure(fmt::format("{} moves elements of {} bytes, not {}", options.kernel, sizes, options.element_bytes),
                  exit_usage);
  }
  throw failure(fmt::format("\"{}\" is neither a shape such as 4096x2048 nor a GPU row of `cornerturn kernels` nor a "
                            "rung; the rungs are{}",
                            options.kernel, known),
                exit_usage);
}

bool colours_wanted() {
  const char* const none = std::getenv("NO_COLOR");
  const char* const terminal = std::getenv("TERM");
  const bool dumb = terminal == nullptr || std::string_view(terminal) == "dumb";
  return isatty(STDOUT_FILENO) == 1 && !dumb && (none == nullptr || *none == '\0');
}

std::string json_text(const kernel_picture& picture) {
  const model::traffic& t = picture.counts;
  const bool amd = picture.machine->maker == model::vendor::amd;
  const nlohmann::ordered_json report = {
      {"kernel", picture.rung->rung},
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
  return report.dump() + "\n";
}

void write_file(const std::string& name, const std::string& text) {
  std::ofstream file(name, std::ios::binary);
  file << text;
  if (!file.flush()) throw failure(fmt::format("cannot write {}: {}", name, error_text(errno)));
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
  if (is_row(options.kernel) && (production_rung(options.kernel) == nullptr || takes_a_problem(options))) {
    if (!options.svg.empty()) throw failure("--svg draws a rung of the ladder", exit_usage);
    fmt::print("{}", row_text(options, machine));
    return exit_ok;
  }
  const ladder::matrix_shape shape = matrix_of(options.matrix);
  if (options.axes || options.src_ld != 0 || options.dst_ld != 0) {
    throw failure("a rung transposes a packed matrix: --axes, --src-ld and --dst-ld belong to a SHAPE", exit_usage);
  }
  if (options.all) {
    const std::int64_t bytes = options.element_bytes;
    if (bytes != 1 && bytes != 2 && bytes != 4 && bytes != 8) {
      throw failure(fmt::format("the rungs move elements of 1, 2, 4 or 8 bytes, not {}", bytes), exit_usage);
    }
    fmt::print("{}", comparison_of(machine, shape, static_cast<int>(bytes)));
    return exit_ok;
  }
  const ladder::description& rung = rung_of(options);
  if (const std::string why = ladder::refusal(rung, machine, shape); !why.empty()) {
    const bool any_shape = rung.takes(shape);
    throw failure(
        fmt::format("{} is not for {}: it {}", rung.rung, any_shape ? machine.name : ladder::text_of(shape), why));
  }
  const kernel_picture picture = picture_of(rung, machine, shape);
  if (!options.svg.empty()) write_file(options.svg, svg_of(picture));
  if (options.json) {
    fmt::print("{}", json_text(picture));
  } else {
    fmt::print("{}", text_of(picture, colours_wanted()));
  }
  return exit_ok;
}

}  // namespace cornerturn::cli

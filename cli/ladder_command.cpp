// `cornerturn ladder`: the teaching rungs on this machine's GPU, as a table.
#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <iostream>

#include "commands.hpp"
#include "ladder/ladder.hpp"
#include "text.hpp"

namespace cornerturn::cli {
namespace {

std::vector<ladder::matrix_shape> shapes_of(const ladder_options& options) {
  if (options.shapes.empty()) return {{8192, 8192}, {16384, 16384}};
  std::vector<ladder::matrix_shape> made;
  for (const auto& shape : options.shapes) {
    const bool empty = std::ranges::any_of(shape, [](std::int64_t extent) { return extent < 1; });
    if (empty || (shape.size() != 2 && shape.size() != 3)) {
      throw failure(fmt::format("{}: a rung moves a matrix, RxC, or a batch of them, BxRxC", shape_text(shape)),
                    exit_usage);
    }
    const std::size_t last = shape.size() - 1;
    made.push_back({shape[last - 1], shape[last], last == 2 ? shape[0] : 1});
  }
  return made;
}

}  // namespace

int run_ladder(const ladder_options& options) {
  const auto shapes = shapes_of(options);
  if (const std::string why = ladder::absence(); !why.empty()) {
    throw failure(why + ". `cornerturn explain --all` compares the rungs without a GPU", exit_no_device);
  }
  if (options.check) return ladder::check_rungs(std::cout) == 0 ? exit_ok : exit_failure;
  std::vector<ladder::timing> times;
  for (const ladder::matrix_shape& shape : shapes) {
    const auto more = ladder::time_rungs(shape, options.element_bytes, options.repetitions);
    times.insert(times.end(), more.begin(), more.end());
  }
  ladder::print_table(std::cout, times);
  std::cout.flush();
  if (options.json.empty()) return exit_ok;
  std::ofstream file(options.json);
  ladder::write_json(file, times);
  if (!file.flush()) throw failure(fmt::format("cannot write {}", options.json));
  return exit_ok;
}

}  // namespace cornerturn::cli

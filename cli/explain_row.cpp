// `cornerturn explain ROW`: what a GPU row of the engine asks of memory for a problem, counted by the emulator. No GPU.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>

#include "commands.hpp"
#include "cornerturn/error.hpp"
#include "cornerturn/plan.hpp"
#include "explain_kernel.hpp"
#include "text.hpp"
#include "trace/trace.hpp"

namespace cornerturn::cli {
namespace {

problem problem_of(const explain_options& options, const std::vector<std::int64_t>& shape,
                   const std::vector<int>& axes) {
  if (options.src_ld == 0 && options.dst_ld == 0) {
    return trace::problem_for(options.kernel, shape, axes, options.element_bytes);
  }
  if (shape.size() != 2 || axes != std::vector<int>{1, 0}) {
    throw failure("--src-ld and --dst-ld belong to the transposition of a matrix, RxC", exit_usage);
  }
  return transpose_problem(shape[0], shape[1], options.element_bytes, options.src_ld, options.dst_ld);
}

std::int64_t sum_of(const trace::row_count& counted, std::int64_t trace::launch_count::*field) {
  std::int64_t all = 0;
  for (const trace::launch_count& one : counted.launches) all += one.*field;
  return all;
}

std::string arithmetic_text(const problem& what) {
  if (what.math.src == element_type::bits) return {};
  return fmt::format(", {} times 2 to {}", name(what.math.src), name(what.math.dst));
}

}  // namespace

bool is_row(const std::string& name) {
  const auto rows = trace::rows();
  return std::find(rows.begin(), rows.end(), name) != rows.end();
}

std::string row_text(const explain_options& options, const model::architecture& machine) {
  if (machine.maker != model::vendor::nvidia) {
    throw failure(fmt::format("{} is a CUDA row, and {} is no GPU of NVIDIA", options.kernel, machine.name),
                  exit_usage);
  }
  if (!trace::can_count()) {
    throw failure("this build cannot count a row: it needs g++, and no sanitizer", exit_usage);
  }
  const std::vector<std::int64_t> shape =
      options.matrix.empty() ? std::vector<std::int64_t>{2048, 2048} : options.matrix;
  const std::string named = shape_text(shape);
  const std::vector<int> axes = resolve_axes(options.axes, static_cast<int>(shape.size()), named);
  problem what;
  trace::row_count counted;
  try {
    what = problem_of(options, shape, axes);
    counted = trace::count(what, options.kernel, machine);
  } catch (const error& fault) {
    throw failure(fmt::format("{}, elements of {} bytes: {}", named, options.element_bytes, fault.what()), exit_usage);
  }
  const model::traffic t = counted.sum();
  const std::int64_t blocks = sum_of(counted, &trace::launch_count::blocks);
  const std::int64_t emulated = sum_of(counted, &trace::launch_count::counted_blocks);
  const std::int64_t atomics = sum_of(counted, &trace::launch_count::atomics);
  if (options.json) {
    const nlohmann::ordered_json report = {
        {"kernel", options.kernel},
        {"shape", shape},
        {"axes", axes},
        {"element_bytes", options.element_bytes},
        {"in_place", what.in_place},
        {"architecture", machine.name},
        {"launches", counted.launches.size()},
        {"blocks", blocks},
        {"emulated_blocks", emulated},
        {"scaled", counted.is_scaled()},
        {"has_flags", counted.has_flags()},
        {"load", json_of(t.load, false)},
        {"async_load", json_of(t.async_load, false)},
        {"store", json_of(t.store, false)},
        {"shared_store", json_of(t.shared_store)},
        {"async_shared_store", json_of(t.async_store)},
        {"shared_load", json_of(t.shared_load)},
        {"atomic_requests", atomics},
    };
    return report.dump() + "\n";
  }
  std::string out = fmt::format("{}: {}, axes {}, elements of {} bytes{}{}, on {} ({})\n", options.kernel, named,
                                fmt::join(axes, ","), options.element_bytes, what.in_place ? ", in place" : "",
                                arithmetic_text(what), machine.name, machine.product);
  if (t.load.requests + t.async_load.requests + t.store.requests > 0) {
    out += fmt::format("\n  {:<20}{:>12}{:>14}{:>10}{:>11}\n", "global", "requests", "sectors", "each", "useful");
  }
  add_global(out, "load", t.load);
  add_global(out, "asynchronous load", t.async_load);
  add_global(out, "store", t.store);
  if (atomics > 0) out += fmt::format("  {:<20}{:>12}\n", "atomic", atomics);
  if (t.shared_load.requests + t.shared_store.requests + t.async_store.requests > 0) {
    out += fmt::format("\n  {:<20}{:>12}{:>14}{:>12}{:>10}\n", "shared", "requests", "wavefronts", "conflicts", "each");
  }
  add_shared(out, "store", t.shared_store);
  add_shared(out, "asynchronous store", t.async_store);
  add_shared(out, "load", t.shared_load);
  out += fmt::format("\nCounted by running the kernel's text on this computer: {}.\n",
                     counted.is_scaled() ? fmt::format("{} of {} blocks, scaled to all", emulated, blocks)
                     : blocks == 1       ? std::string("its one block")
                                         : fmt::format("all {} blocks", blocks));
  if (counted.launches.size() != 1) out += fmt::format("The plan starts {} kernels.\n", counted.launches.size());
  if (counted.has_flags()) {
    out += "Blocks wait for each other: on a GPU they load flags again and again, here once.\n";
  }
  return out;
}

}  // namespace cornerturn::cli

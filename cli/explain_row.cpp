// `cornerturn explain ROW`: what a GPU row of the engine asks of memory for a problem, counted by the emulator; no GPU.
// For a row of the CPU: its plan.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "commands.hpp"
#include "cornerturn/error.hpp"
#include "cornerturn/plan.hpp"
#include "cornerturn/system.hpp"
#include "explain_kernel.hpp"
#include "fold.hpp"
#include "text.hpp"
#include "trace/trace.hpp"

namespace cornerturn::cli {
namespace {

// The problem for which the row is counted or planned.
struct row_problem {
  trace::row_case posed;
  std::vector<std::int64_t> shape;
  std::vector<int> axes;
  std::string named;  // for sentences: "2x64x128, axes 0,2,1"
};

// The element bytes of --bytes, or those in the row's name: gpu_gather_b4.
std::int64_t element_bytes_of(const explain_options& options) {
  if (options.element_bytes > 0) return options.element_bytes;
  std::int64_t bytes = 0;
  const std::string& name = options.kernel;
  for (auto at = name.find("_b"); at != std::string::npos && bytes == 0; at = name.find("_b", at + 1)) {
    for (std::size_t k = at + 2; k < name.size() && name[k] >= '0' && name[k] <= '9'; ++k) {
      bytes = 10 * bytes + (name[k] - '0');
    }
  }
  return bytes > 0 ? bytes : 4;
}

// True if the user says nothing about the problem, so that it may be any that the row accepts.
bool is_free(const explain_options& options) {
  return options.matrix.empty() && !options.axes && options.src_ld == 0 && options.dst_ld == 0 &&
         options.element_bytes == 0;
}

std::string named_of(const std::vector<std::int64_t>& shape, const std::vector<int>& axes) {
  return fmt::format("{}, axes {}", shape_text(shape), axes_text(axes));
}

row_problem posed_by(const explain_options& options) {
  row_problem made;
  made.shape = options.matrix.empty() ? std::vector<std::int64_t>{2048, 2048} : options.matrix;
  made.axes = resolve_axes(options.axes, static_cast<int>(made.shape.size()), shape_text(made.shape), exit_usage);
  made.named = named_of(made.shape, made.axes);
  made.posed.row = options.kernel;
  return made;
}

problem problem_of(const explain_options& options, const row_problem& asked) {
  const std::int64_t bytes = element_bytes_of(options);
  if (options.src_ld == 0 && options.dst_ld == 0) {
    const array_axes array = folded({asked.shape, asked.axes});
    return trace::problem_for(options.kernel, array.shape, array.axes, bytes);
  }
  if (asked.shape.size() != 2 || asked.axes != std::vector<int>{1, 0}) {
    throw failure(fmt::format("{}: --src-ld or --dst-ld is set, wanted a matrix, RxC, with axes 1,0", asked.named),
                  exit_usage);
  }
  return transpose_problem(asked.shape[0], asked.shape[1], bytes, options.src_ld, options.dst_ld);
}

// The first problem of the tests' list that starts the row: "2x500x300/0,2,1+ld"
row_problem free_problem(const trace::named_case& first) {
  row_problem made{first, {}, {}, first.text};
  const auto slash = made.named.find('/');
  const auto end = std::min(made.named.find_first_not_of("0123456789,", slash + 1), made.named.size());
  made.shape = *parse_shape(std::string_view(made.named).substr(0, slash));
  made.axes = *parse_axes(std::string_view(made.named).substr(slash + 1, end - slash - 1));
  made.named = named_of(made.shape, made.axes);
  return made;
}

// Blocks that wait for each other all run: of so many, for minutes.
bool is_slow(const trace::row_case& posed, const model::architecture& machine) {
  constexpr std::int64_t quick_blocks = 2000;
  const auto all = trace::plan_of(posed, machine);
  return std::ranges::any_of(
      all, [](const trace::planned_launch& one) { return one.has_flags && one.blocks > quick_blocks; });
}

// Of a row that nothing is counted for.
std::string note_text(const explain_options& options, const std::string& reason) {
  std::string note;
  for (const kernel_info& one : kernel_list()) {
    if (one.name == options.kernel) note = one.note;
  }
  if (options.json) {
    return nlohmann::ordered_json{{"kernel", options.kernel}, {"note", note}, {"not_counted", reason}}.dump() + "\n";
  }
  return fmt::format("{}{}{}\nNot counted: {}.\n", options.kernel, note.empty() ? "" : ": ", note, reason);
}

std::int64_t sum_of(const trace::row_count& counted, std::int64_t trace::launch_count::*field) {
  std::int64_t all = 0;
  for (const trace::launch_count& one : counted.launches) all += one.*field;
  return all;
}

// Padding, shifted arrays, a batch: what a shape does not say.
std::string extras_text(const trace::row_case& posed) {
  std::string text;
  const problem& what = posed.what;
  if (what.in_place) text += posed.row.empty() ? ", a part of a transposition in place" : ", in place";
  if (posed.items > 0) text += fmt::format(", a batch of {}", posed.items);
  if (posed.src_shift > 0) text += fmt::format(", src {} bytes past an aligned address", posed.src_shift);
  if (posed.dst_shift > 0) text += fmt::format(", dst {} bytes past one", posed.dst_shift);
  if (what.rank == 2 && posed.items == 0) {
    const auto& [outer, inner] = std::pair(what.axes[0], what.axes[1]);
    const std::int64_t src_ld = std::max(outer.src_stride, inner.src_stride),
                       dst_ld = std::max(outer.dst_stride, inner.dst_stride);
    const std::int64_t src_packed = outer.src_stride == 1 ? outer.extent : inner.extent;
    const std::int64_t dst_packed = outer.dst_stride == 1 ? outer.extent : inner.extent;
    if (src_ld > src_packed) text += fmt::format(", src leading dimension {}", src_ld);
    if (dst_ld > dst_packed) text += fmt::format(", dst leading dimension {}", dst_ld);
  }
  return text;
}

std::string arithmetic_text(const problem& what) {
  if (what.math.src == element_type::bits) return {};
  return fmt::format(", {}{} to {}", name(what.math.src), what.math.alpha.re == 1 ? "" : " times 2",
                     name(what.math.dst));
}

}  // namespace

bool is_row(const std::string& name) {
  const auto rows = trace::rows();
  return std::find(rows.begin(), rows.end(), name) != rows.end();
}

std::string row_text(const explain_options& options, const model::architecture& machine) {
  if (machine.maker != model::vendor::nvidia) {
    throw failure(fmt::format("--arch is {}, wanted a GPU of NVIDIA for {}", machine.name, options.kernel), exit_usage);
  }
  if (!trace::can_count()) {
    throw failure(
        "this build cannot count a row. Wanted: a build by g++ without sanitizers and without "
        "-DCORNERTURN_COUNT_ROWS=OFF",
        exit_usage);
  }
  const auto known = is_free(options) ? trace::cases_for(options.kernel, 1, machine) : std::vector<trace::named_case>{};
  if (is_free(options) && known.empty()) {
    return note_text(options, fmt::format("no problem is known that starts this row on {}", machine.name));
  }
  row_problem asked = known.empty() ? posed_by(options) : free_problem(known.front());
  if (!known.empty() && is_slow(asked.posed, machine)) {
    return note_text(options, fmt::format("its blocks wait for each other, so {} takes minutes", asked.named));
  }
  trace::row_count counted;
  try {
    if (!is_free(options)) asked.posed.what = problem_of(options, asked);
    counted = trace::count(asked.posed, machine);
  } catch (const error& fault) {
    throw failure(fmt::format("{}, {}: {}", asked.named, elements_text(element_bytes_of(options)), fault.what()),
                  exit_usage);
  }
  const problem& what = asked.posed.what;
  const model::traffic t = counted.sum();
  const std::int64_t blocks = sum_of(counted, &trace::launch_count::blocks);
  const std::int64_t emulated = sum_of(counted, &trace::launch_count::counted_blocks);
  const std::int64_t atomics = sum_of(counted, &trace::launch_count::atomics);
  if (options.json) {
    const nlohmann::ordered_json report = {
        {"kernel", options.kernel},
        {"shape", asked.shape},
        {"axes", asked.axes},
        {"element_bytes", what.element_bytes},
        {"in_place", what.in_place},
        {"batch", asked.posed.items},
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
  std::string out =
      fmt::format("{}: {}, {}{}{}, on {} ({})\n", options.kernel, asked.named, elements_text(what.element_bytes),
                  extras_text(asked.posed), arithmetic_text(what), machine.name, machine.product);
  if (t.load.requests + t.async_load.requests + t.store.requests > 0) {
    out += fmt::format("\n  {:<20}{:>12}{:>14}{:>13}{:>9}\n", "global", "requests", "sectors", "a request", "useful");
  }
  add_global(out, "load", t.load);
  add_global(out, "asynchronous load", t.async_load);
  add_global(out, "store", t.store);
  if (atomics > 0) out += fmt::format("  {:<20}{:>12}\n", "atomic", atomics);
  if (t.shared_load.requests + t.shared_store.requests + t.async_store.requests > 0) {
    out += fmt::format("\n  {:<20}{:>12}{:>14}{:>12}{:>11}\n", "shared", "requests", "wavefronts", "conflicts",
                       "a request");
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

namespace {

const kernel_info* cpu_row(const std::string& name) {
  static const std::vector<kernel_info> rows = kernel_list();
  const auto found = std::ranges::find_if(rows, [&](const kernel_info& one) { return one.name == name; });
  return found == rows.end() || found->backend != "cpu" ? nullptr : &*found;
}

// The plans that the shape allows: a plain one, one in place, of every second element of src, and arithmetic.
std::vector<problem> ways_of(const std::vector<std::int64_t>& shape, const std::vector<int>& axes, std::int64_t bytes) {
  const array_axes array = folded({shape, axes});
  std::vector<problem> made(3, permute_problem(array.shape, array.axes, bytes));
  const problem plain = made.front();
  made[1].in_place = true;
  for (axis& one : made[2].axes) one.src_stride *= 2;
  for (const arithmetic& math : trace::math_of(bytes)) {
    made.push_back(plain);
    made.back().math = math;
  }
  return made;
}

}  // namespace

bool is_cpu_row(const std::string& name) { return cpu_row(name) != nullptr; }

std::string cpu_row_text(const explain_options& options) {
  const kernel_info& row = *cpu_row(options.kernel);
  const plan_options how{device::cpu, options.threads, {}, row.name.c_str()};
  std::vector<row_problem> tried;
  tried.push_back(posed_by(options));
  if (is_free(options)) {  // a shape for each family
    for (const auto& [shape, axes] :
         std::initializer_list<std::pair<std::vector<std::int64_t>, std::vector<int>>>{{{64, 64}, {1, 0}},
                                                                                       {{3000, 8, 8}, {0, 2, 1}},
                                                                                       {{3000, 64, 16}, {0, 2, 1}},
                                                                                       {{3000, 16, 64}, {0, 2, 1}},
                                                                                       {{30000, 4, 4}, {0, 2, 1}},
                                                                                       {{64, 48, 5}, {2, 1, 0}},
                                                                                       {{16, 32, 24, 48}, {3, 1, 2, 0}},
                                                                                       {{64, 64, 4, 3}, {1, 3, 0, 2}},
                                                                                       {{1000000, 4}, {1, 0}},
                                                                                       {{4, 1000000}, {1, 0}},
                                                                                       {{1000, 3000}, {1, 0}},
                                                                                       {{64, 96, 512}, {1, 0, 2}},
                                                                                       {{1000000}, {0}},
                                                                                       {{64, 48, 80}, {2, 1, 0}}}) {
      tried.push_back({{}, shape, axes, named_of(shape, axes)});
    }
  }
  std::string refusal;
  for (const row_problem& one : tried) {
    const std::vector<problem> ways = ways_of(one.shape, one.axes, element_bytes_of(options));
    for (const problem& what : ways) {
      const bool is_view = &what == &ways[2];
      try {
        const plan chosen(what, how);
        if (options.json) {
          const nlohmann::ordered_json report = {{"kernel", row.name},
                                                 {"family", row.family},
                                                 {"note", row.note},
                                                 {"shape", one.shape},
                                                 {"axes", one.axes},
                                                 {"element_bytes", what.element_bytes},
                                                 {"in_place", what.in_place},
                                                 {"src_step", is_view ? 2 : 1},
                                                 {"threads", chosen.threads()},
                                                 {"explain", chosen.explain()}};
          return report.dump() + "\n";
        }
        return fmt::format("{}: {}\n{}, {}{}{}{}, on this machine's CPU\n\n{}\n", row.name, row.note, one.named,
                           elements_text(what.element_bytes), what.in_place ? ", in place" : "",
                           is_view ? ", every second one of src" : "", arithmetic_text(what), chosen.explain());
      } catch (const error& fault) {
        if (refusal.empty()) refusal = fault.what();
      }
    }
  }
  throw failure(fmt::format("{}, {}: {}", tried.front().named, elements_text(element_bytes_of(options)), refusal),
                exit_usage);
}

}  // namespace cornerturn::cli

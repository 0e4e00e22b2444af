// `cornerturn explain`: prints the kernel for a problem and the reason for it. It accesses no data.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "commands.hpp"
#include "cornerturn/plan.hpp"
#include "text.hpp"

namespace cornerturn::cli {

int run_explain(const explain_options& options) {
  const std::string shape = shape_text(options.shape);
  const std::vector<int> axes = resolve_axes(options.axes, static_cast<int>(options.shape.size()), shape);
  problem what;
  if (options.src_ld != 0 || options.dst_ld != 0) {
    if (options.shape.size() != 2 || axes != std::vector<int>{1, 0}) {
      throw failure(fmt::format("{}: --src-ld or --dst-ld is set, wanted a matrix, RxC, with axes 1,0", shape),
                    exit_usage);
    }
    what = transpose_problem(options.shape[0], options.shape[1], options.element_bytes, options.src_ld, options.dst_ld);
  } else {
    what = permute_problem(options.shape, axes, options.element_bytes);
  }
  if (!options.machine.empty()) {
    fmt::print("{}", explain(what, offer_options{.machine = options.machine, .threads = options.threads}));
    return exit_ok;
  }
  plan_options how;
  how.threads = options.threads;
  const plan chosen(what, how);
  if (options.json) {
    const nlohmann::ordered_json report = {
        {"shape", options.shape},
        {"axes", axes},
        {"element_bytes", options.element_bytes},
        {"src_ld", options.src_ld},
        {"dst_ld", options.dst_ld},
        {"kernel", chosen.kernel()},
        {"threads", chosen.threads()},
        {"bytes_moved", chosen.bytes_moved()},
        {"workspace_bytes", chosen.workspace_bytes()},
        {"explain", chosen.explain()},
    };
    fmt::print("{}\n", report.dump());
    return exit_ok;
  }
  std::string text = chosen.explain();
  while (!text.empty() && text.back() == '\n') text.pop_back();
  fmt::print("{}\n", text);
  return exit_ok;
}

}  // namespace cornerturn::cli

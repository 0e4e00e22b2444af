// `cornerturn explain`: prints the kernel for a problem and the reason for it. It accesses no data.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "commands.hpp"
#include "cornerturn/error.hpp"
#include "cornerturn/plan.hpp"
#include "fold.hpp"
#include "print.hpp"
#include "text.hpp"

namespace cornerturn::cli {

namespace {

int explain_shape(const explain_options& options) {
  const std::string shape = shape_text(options.shape);
  const std::vector<int> axes = resolve_axes(options.axes, static_cast<int>(options.shape.size()), shape, exit_usage);
  const std::int64_t bytes = options.element_bytes > 0 ? options.element_bytes : 4;
  problem what;
  if (options.src_ld != 0 || options.dst_ld != 0) {
    if (options.shape.size() != 2 || axes != std::vector<int>{1, 0}) {
      throw failure(fmt::format("{}: --src-ld or --dst-ld is set, wanted a matrix, RxC, with axes 1,0", shape),
                    exit_usage);
    }
    what = transpose_problem(options.shape[0], options.shape[1], bytes, options.src_ld, options.dst_ld);
  } else {
    const array_axes array = folded({options.shape, axes});
    what = permute_problem(array.shape, array.axes, bytes);
  }
  nlohmann::ordered_json report = {{"shape", options.shape},
                                   {"axes", axes},
                                   {"element_bytes", bytes},
                                   {"src_ld", options.src_ld},
                                   {"dst_ld", options.dst_ld}};
  if (!options.machine.empty()) {
    const offer_options on{.machine = options.machine, .threads = options.threads};
    const std::string text = explain(what, on);
    if (!options.json) {
      print_safe("{}", text);
      return exit_ok;
    }
    report["machine"] = options.machine;
    report["offers"] = nlohmann::ordered_json::array();
    for (const plan_offer& one : offers(what, on)) {
      report["offers"].push_back(
          {{"kernel", one.kernel}, {"time", one.time}, {"bound", one.bound}, {"reason", one.reason}});
    }
    report["explain"] = text;
    print_safe("{}\n", report.dump(-1, ' ', true));
    return exit_ok;
  }
  plan_options how;
  how.threads = options.threads;
  const plan chosen(what, how);
  if (options.json) {
    report["kernel"] = chosen.kernel();
    report["threads"] = chosen.threads();
    report["bytes_moved"] = chosen.bytes_moved();
    report["workspace_bytes"] = chosen.workspace_bytes();
    report["explain"] = chosen.explain();
    print_safe("{}\n", report.dump(-1, ' ', true));
    return exit_ok;
  }
  std::string text = chosen.explain();
  while (!text.empty() && text.back() == '\n') text.pop_back();
  print_safe("{}\n", text);
  return exit_ok;
}

}  // namespace

int run_explain(const explain_options& options) {
  try {
    return explain_shape(options);
  } catch (const error& fault) {
    if (fault.code() == status::no_device) throw;
    throw failure(fault.what(), exit_usage);  // the problem comes from the command line
  }
}

}  // namespace cornerturn::cli

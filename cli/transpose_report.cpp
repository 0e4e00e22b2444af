#include "transpose_report.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <nlohmann/json.hpp>

#include "print.hpp"
#include "text.hpp"

namespace cornerturn::cli {
namespace {

void print_json(const transpose_options& options, const outcome& result, double rate) {
  const nlohmann::ordered_json report = {
      {"input", options.input},
      {"output", options.output},
      {"input_shape", result.in.shape},
      {"output_shape", result.out.shape},
      {"axes", result.axes},
      {"dtype", npy_dtype_name(result.in)},
      {"itemsize", result.in.itemsize},
      {"input_fortran_order", result.in.fortran_order},
      {"output_fortran_order", result.out.fortran_order},
      {"metadata_only", options.metadata_only},
      {"bytes", result.in.data_bytes},
      {"seconds", result.seconds},
      {"gb_s", rate},
      {"kernel", result.moved.kernel},
      {"threads", result.moved.threads},
      {"verified", options.verify},
      {"verified_bytes", result.verified_bytes},
      {"verify_seconds", result.verify_seconds},
      {"sync_seconds", result.sync_seconds},
  };
  // File names and dtypes may have any encoding, but JSON is UTF-8.
  print_safe("{}\n", report.dump(-1, ' ', true, nlohmann::json::error_handler_t::replace));
}

void print_lines(bool to_stream, const transpose_options& options, const outcome& result, double rate) {
  std::FILE* const to = to_stream ? stderr : stdout;
  print_safe(to, "{} {} -> {} {}, {}, {}\n", options.input, shape_text(result.in.shape), options.output,
             shape_text(result.out.shape), npy_dtype_name(result.in), bytes_text(result.in.data_bytes));
  std::string how = options.metadata_only ? "data copied unchanged, header only"
                    : result.moved.kernel.empty()
                        ? "no data to copy"
                        : fmt::format("{}, {} thread{}", result.moved.kernel, result.moved.threads,
                                      result.moved.threads == 1 ? "" : "s");
  if (options.verify) {
    const bool is_all = result.verified_bytes == result.in.data_bytes;
    how += is_all ? ", verified" : fmt::format(", a sample of {} verified", bytes_text(result.verified_bytes));
  }
  if (result.sync_seconds >= 0.01 && !to_stream)
    how += fmt::format(", on the disk {} later", seconds_text(result.sync_seconds));
  print_safe(to, "{}, {:.2f} GB/s read + written, {}\n", seconds_text(result.seconds), rate, how);
}

}  // namespace

void print_plan(const transpose_options& options, const outcome& result, const transfer_plan& made) {
  const memory_limit& memory = made.memory;
  const file_plan& plan = made.boxes;
  if (options.json) {
    nlohmann::ordered_json report = {
        {"input", options.input},  {"output", options.output},          {"bytes", result.in.data_bytes},
        {"memory", memory.bytes},  {"in_memory", result.in_memory},     {"scratch_bytes", plan.scratch_bytes},
        {"seconds", plan.seconds}, {"measured_disk", made.is_measured}, {"passes", nlohmann::ordered_json::array()}};
    for (const file_pass& one : plan.passes) {
      report["passes"].push_back({{"extents", one.extents},
                                  {"axes", one.axes},
                                  {"element_bytes", one.element_bytes},
                                  {"box", one.box},
                                  {"boxes", one.boxes},
                                  {"box_bytes", one.box_bytes},
                                  {"read_run_bytes", one.read_run_bytes},
                                  {"write_run_bytes", one.write_run_bytes},
                                  {"bytes", one.bytes},
                                  {"seconds", one.seconds}});
    }
    print_safe("{}\n", report.dump(-1, ' ', true, nlohmann::json::error_handler_t::replace));
    return;
  }
  print_safe("{} {} -> {} {}, {}, {}\n", options.input, shape_text(result.in.shape), options.output,
             shape_text(result.out.shape), npy_dtype_name(result.in), bytes_text(result.in.data_bytes));
  if (result.in_memory) {
    print_safe("{} of memory: the input fits and is mapped; it is read once and written once\n",
               bytes_text(memory.bytes));
  } else {
    print_safe("{} of memory, {} of it in buffers\n{}", bytes_text(memory.bytes), bytes_text(plan.memory_bytes),
               plan_text(plan));
  }
  print_safe("predicted: {}{}; nothing was written\n", seconds_text(plan.seconds),
             made.is_measured ? "" : " on a disk of 1 GB/s (`cornerturn roof --disk FOLDER` measures yours)");
}

void print_summary(const transpose_options& options, const outcome& result, bool to_stdout) {
  const double rate = 2 * static_cast<double>(result.in.data_bytes) / result.seconds * 1e-9;
  if (options.json) {
    print_json(options, result, rate);
  } else if (!options.quiet) {
    print_lines(to_stdout, options, result, rate);
  }
}

}  // namespace cornerturn::cli

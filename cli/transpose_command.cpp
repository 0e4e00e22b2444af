// `cornerturn transpose`: 1. read the header  2. make the header of the output  3. write a file without a name
// 4. verify it  5. publish it under its name  6. print a summary.
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "boxes.hpp"
#include "commands.hpp"
#include "file_move.hpp"
#include "mapped_file.hpp"
#include "npy.hpp"
#include "output_file.hpp"
#include "print.hpp"
#include "progress.hpp"
#include "streams.hpp"
#include "text.hpp"
#include "verify.hpp"
#include "workers.hpp"

namespace cornerturn::cli {
namespace {

struct outcome {
  npy_header in;
  npy_header out;
  std::vector<int> axes;
  move_report moved;
  double seconds = 0;  // from opening the input to the last byte written
  double verify_seconds = 0;
  double sync_seconds = 0;
};

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

npy_header read_header(const mapped_file& file, const std::string& path) {
  try {
    return parse_npy_header(file.bytes(), file.size());
  } catch (const npy_error& fault) {
    throw failure(fmt::format("{}: {}", path, fault.what()));
  }
}

// Returns the order for unchanged data bytes. Axes with extents above 1 must stay in order or be reversed.
// Reversed axes exchange C order and Fortran order.
bool order_of_same_bytes(const npy_header& in, std::span<const int> axes, const std::string& path) {
  if (in.data_bytes == 0) return in.fortran_order;
  std::vector<int> long_axes;
  for (const int k : axes) {
    if (in.shape[static_cast<std::size_t>(k)] > 1) long_axes.push_back(k);
  }
  if (std::is_sorted(long_axes.begin(), long_axes.end())) return in.fortran_order;
  if (std::is_sorted(long_axes.rbegin(), long_axes.rend())) return !in.fortran_order;
  throw failure(
      fmt::format("{}: --metadata-only cannot express axes {} of shape {}: a header can only express C or Fortran "
                  "order, wanted axes in order or all reversed (axes of extent 1 may be anywhere)",
                  path, axes_text(axes), tuple_text(in.shape)));
}

void verify_output(const mapped_file& input, const output_file& file, outcome& result, const transpose_options& options,
                   int threads) {
  const auto start = std::chrono::steady_clock::now();
  const mapped_file written(file.descriptor(), options.output);
  const npy_header out = read_header(written, options.output);
  if (out.shape != result.out.shape || out.descr != result.in.descr) {
    throw failure(fmt::format("{}: verification failed: the header is {} {}, wanted {} {}; the output was removed",
                              options.output, tuple_text(out.shape), out.descr, tuple_text(result.out.shape),
                              result.in.descr));
  }
  progress_bar bar("verifying", result.in.data_bytes, !options.json && !options.quiet);
  const auto difference = find_difference(result.in, input.bytes().data() + result.in.data_offset, out,
                                          written.bytes().data() + out.data_offset, result.axes, threads,
                                          [&](std::int64_t done) { bar.show(done); });
  if (difference) {
    throw failure(
        fmt::format("{}: verification failed: the element at {} differs from the input; the output was removed",
                    options.output, tuple_text(*difference)));
  }
  result.verify_seconds = seconds_since(start);
}

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
  if (options.verify) how += ", verified";
  if (result.sync_seconds >= 0.01 && !to_stream)
    how += fmt::format(", on the disk {} later", seconds_text(result.sync_seconds));
  print_safe(to, "{}, {:.2f} GB/s read + written, {}\n", seconds_text(result.seconds), rate, how);
}

}  // namespace

int run_transpose(const transpose_options& options) {
  require_device(options.device);
  if (options.device.kind == "cuda") {
    throw failure("--device is cuda, but this version transposes files on the CPU only, wanted auto or cpu",
                  exit_no_device);
  }
  const auto start = std::chrono::steady_clock::now();
  const int threads = threads_for(options.threads);

  // 1
  const mapped_file input(options.input);
  report_vanished_pages(options.input);
  outcome result;
  result.in = read_header(input, options.input);
  const int rank = static_cast<int>(result.in.shape.size());
  result.axes = resolve_axes(options.axes, rank, options.input);

  // 2
  struct stat about {};
  const int stream = descriptor_named(options.output, STDOUT_FILENO);  // a shell's `> FILE` can be the input too
  if ((stream >= 0 ? fstat(stream, &about) : stat(options.output.c_str(), &about)) == 0 && S_ISREG(about.st_mode) &&
      input.is_same_file(about.st_dev, about.st_ino)) {
    throw failure(
        fmt::format("{}: is the same file as the input {}, wanted another file: the command does not work in "
                    "place",
                    options.output, options.input));
  }
  result.out = result.in;
  for (std::size_t k = 0; k < result.out.shape.size(); ++k) {
    result.out.shape[k] = result.in.shape[static_cast<std::size_t>(result.axes[k])];
  }
  result.out.fortran_order = options.metadata_only && order_of_same_bytes(result.in, result.axes, options.input);
  const std::string header = npy_header_bytes(result.out);
  const auto data_offset = static_cast<std::int64_t>(header.size());
  const std::byte* const data = input.bytes().data() + result.in.data_offset;
  const bool moves = !options.metadata_only && result.in.data_bytes > 0;
  problem what;
  if (moves) {
    try {
      what = file_problem(result.in.shape, result.in.fortran_order, result.axes, result.in.itemsize);
    } catch (const failure& fault) {
      throw failure(fmt::format("{}: {}", options.input, fault.what()));
    }
  }

  // 3
  output_file output(options.output, data_offset + result.in.data_bytes,
                     {.force = options.force, .sync = !options.no_sync});
  if (output.is_stdout() && options.json) {
    throw failure("--json and OUT both write to stdout, wanted another OUT", exit_usage);
  }
  output.write_at(header, 0);
  {
    progress_bar bar("writing", result.in.data_bytes, !options.json && !options.quiet);
    const auto show = [&bar](std::int64_t done) { bar.show(done); };
    if (moves) {
      result.moved = move_to_file(what, data, output, data_offset, threads, show);
    } else {
      copy_to_file(data, result.in.data_bytes, output, data_offset, show);
      result.moved.threads = 1;
    }
  }
  result.seconds = seconds_since(start);

  // 4, 5
  if (options.verify) verify_output(input, output, result, options, threads);
  const auto written = std::chrono::steady_clock::now();
  output.publish();
  result.sync_seconds = options.no_sync ? 0 : seconds_since(written);

  // 6
  const double rate = 2 * static_cast<double>(result.in.data_bytes) / result.seconds * 1e-9;
  if (options.json) {
    print_json(options, result, rate);
  } else if (!options.quiet) {
    print_lines(output.is_stdout(), options, result, rate);
  }
  return exit_ok;
}

}  // namespace cornerturn::cli

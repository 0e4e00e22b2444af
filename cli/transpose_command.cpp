// `cornerturn transpose`: 1. read the header  2. make the header of the output  3. plan the boxes  4. write a file without a name
// 5. verify it  6. publish it under its name  7. print a summary.
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <optional>

#include "commands.hpp"
#include "cornerturn/error.hpp"
#include "disk.hpp"
#include "mapped_file.hpp"
#include "npy.hpp"
#include "output_file.hpp"
#include "print.hpp"
#include "progress.hpp"
#include "resume.hpp"
#include "streams.hpp"
#include "text.hpp"
#include "transfer.hpp"
#include "transpose_headers.hpp"
#include "transpose_report.hpp"
#include "verify.hpp"
#include "workers.hpp"

namespace cornerturn::cli {
namespace {

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// An input or an output that is mapped whole needs some memory for the boxes, too.
constexpr std::int64_t boxes_beside_a_map = 64 << 20;
// Without --threads, so that all machines have the same boxes.
constexpr int threads_of_a_part = 4;

[[noreturn]] void refuse_difference(const std::string& path, const std::vector<std::int64_t>& index) {
  throw failure(fmt::format("{}: verification failed: the element at {} differs from the input; the output was removed",
                            path, tuple_text(index)));
}

// A transpose of the files: data bytes from `src` to `dst`, with the order and the axes of the two headers.
stored_array array_of(const outcome& result, const transpose_options& options) {
  if (options.metadata_only || result.in.data_bytes == 0) return {{result.in.data_bytes}, {0}, 1};
  stored_array what{result.in.shape, result.axes, result.in.itemsize};
  what.src_fortran_order = result.in.fortran_order;
  what.dst_fortran_order = result.out.fortran_order;
  return what;
}

// One line that names this transpose, for its journal. A file that was changed or replaced has another time or number.
std::string identity_of(const mapped_file& input, const outcome& result, const transpose_options& options) {
  const struct stat& about = input.about();
  return base::printable(fmt::format("input {}:{} of {} bytes, changed {}.{:09}; {} {} {} at {}, axes {}, to {} at {}",
                                     about.st_dev, about.st_ino, about.st_size, about.st_mtim.tv_sec,
                                     about.st_mtim.tv_nsec, shape_text(result.in.shape), result.in.descr,
                                     result.in.fortran_order ? "F" : "C", result.in.data_offset, axes_text(result.axes),
                                     options.metadata_only ? "a header" : options.order, result.out.data_offset));
}

// True if OUT.part is kept: one process, several, or the one that publishes the work of several.
bool is_kept(const transpose_options& options) { return options.resume || options.parts > 0 || options.finish > 0; }
int parts_of(const transpose_options& options) { return std::max({options.parts, options.finish, 1}); }

// The shell's `> FILE` can be the input too.
void refuse_same_file(const mapped_file& input, const transpose_options& options) {
  struct stat about {};
  const int stream = descriptor_named(options.output, STDOUT_FILENO);
  if ((stream >= 0 ? fstat(stream, &about) : stat(options.output.c_str(), &about)) == 0 && S_ISREG(about.st_mode) &&
      input.is_same_file(about.st_dev, about.st_ino)) {
    throw failure(
        fmt::format("{}: is the same file as the input {}, wanted another file: the command does not work in "
                    "place",
                    options.output, options.input));
  }
}

// 3
transfer_plan plan_transfer(const mapped_file& input, outcome& result, const transpose_options& options) {
  transfer_plan made{memory_limit_of(options.memory), array_of(result, options), {}, {}};
  const bool fits = result.in.data_bytes + boxes_beside_a_map <= made.memory.bytes;
  if (input.is_stream() && options.memory > 0 && !fits) {
    throw failure(fmt::format("{}: is a stream, which is held in memory: --memory is {}, wanted at least {}, or a file",
                              options.input, bytes_text(made.memory.bytes),
                              bytes_text(result.in.data_bytes + boxes_beside_a_map)));
  }
  if (input.is_stream() && is_kept(options)) {
    throw failure(fmt::format("{}: is a stream, wanted a file with --resume, --part or --finish", options.input));
  }
  result.in_memory = !is_kept(options) && (input.is_stream() || fits);
  made.how.memory_bytes = made.memory.buffers;
  made.how.threads = options.threads;
  if (options.parts > 0 || options.finish > 0) {
    // The program itself takes a little more or less on each machine, but all of them need the same boxes.
    made.how.memory_bytes = made.memory.bytes / 2;
    if (made.how.threads == 0) made.how.threads = threads_of_a_part;
    if (made.how.memory_bytes > made.memory.buffers) {
      throw failure(fmt::format("--memory is {}, wanted at least {} with --part and --finish",
                                bytes_text(made.memory.bytes),
                                bytes_text(2 * (made.memory.bytes - made.memory.buffers))));
    }
  }
  // The boxes of a journal must not depend on a measurement.
  if (const auto disk = is_kept(options) ? std::nullopt : remembered_disk(options.output); disk) {
    made.how.disk = *disk;
    made.is_measured = true;
  }
  try {
    made.boxes = plan_stored(made.what, made.how);
  } catch (const error& fault) {
    throw failure(fmt::format("{}: {}", options.input, fault.what()));
  }
  return made;
}

// 4. Writes the output, or this process's part of it.
void write_data(const mapped_file& input, const output_file& output, outcome& result, const transfer_plan& plan,
                const transpose_options& options) {
  file_options how = plan.how;
  file_plan boxes = plan.boxes;
  std::optional<resumed_run> kept;
  if (is_kept(options)) {
    const share mine{std::max(options.part, 1), parts_of(options)};
    kept.emplace(output, options.output, mine,
                 journal_begin{identity_of(input, result, options), how.memory_bytes, boxes.threads});
    how.memory_bytes = kept->begin().memory_bytes;
    how.threads = kept->begin().threads;
    boxes = plan_stored(plan.what, how);
    kept->connect(how, boxes, result.out.data_offset);
  }
  base::descriptor scratch_file;
  std::unique_ptr<byte_store> scratch;
  if (!result.in_memory && boxes.scratch_bytes > 0) {
    scratch_file = kept ? kept->open_scratch(how, boxes) : output.scratch(boxes.scratch_bytes);
    scratch = file_store(scratch_file.get(), 0, "the scratch file");
    how.scratch = scratch.get();
    if (!options.quiet) {
      print_safe(stderr,
                 "cornerturn: {} is little for this array, so it is written twice: first to a scratch file of {}{}\n",
                 bytes_text(plan.memory.bytes), bytes_text(boxes.scratch_bytes),
                 how.is_scratch_written ? ", which an earlier run has written" : "");
    }
  }
  if (result.in_memory) input.prefetch();
  progress_bar bar("writing", result.in.data_bytes, !options.json && !options.quiet);
  how.progress = [&bar](std::int64_t done) { bar.show(done); };
  input_store src(input, result.in.data_offset, result.in_memory, options.input);
  output_store dst(output, result.out.data_offset);
  result.moved = transpose_stored(src, dst, plan.what, how);
  if (options.metadata_only) result.moved.kernel.clear();
  if (kept) kept->finish();
}

// 5. Every element is compared, or a sample. A side that fits in memory is mapped, and boxes of the other one are read.
void verify_output(const mapped_file& input, const output_file& file, outcome& result, const transpose_options& options,
                   const transfer_plan& plan) {
  const auto start = std::chrono::steady_clock::now();
  const mapped_file written(file.descriptor(), options.output);
  result.verified_bytes = options.sample > 0 ? std::min(options.sample, result.in.data_bytes) : result.in.data_bytes;
  progress_bar bar("verifying", result.verified_bytes, !options.json && !options.quiet);
  const std::int64_t data_offset = result.out.data_offset;
  if (data_offset > 0) {
    const npy_header out = read_header(written, options.output);
    if (out.shape != result.out.shape || out.descr != result.in.descr) {
      throw failure(fmt::format("{}: verification failed: the header is {} {}, wanted {} {}; the output was removed",
                                options.output, tuple_text(out.shape), out.descr, tuple_text(result.out.shape),
                                result.in.descr));
    }
  }
  const bool fit_both = result.in_memory && 2 * result.in.data_bytes + boxes_beside_a_map <= plan.memory.bytes;
  input_store src(input, result.in.data_offset, result.in_memory, options.input);
  input_store dst(written, data_offset, fit_both, options.output);
  const auto difference =
      find_difference(result.in, src, result.out, dst, result.axes,
                      {.memory_bytes = result.in_memory ? boxes_beside_a_map / 2 : plan.how.memory_bytes,
                       .threads = threads_for(options.threads),
                       .sample_bytes = options.sample,
                       .progress = [&](std::int64_t done) { bar.show(done); }});
  if (difference) refuse_difference(options.output, *difference);
  result.verify_seconds = seconds_since(start);
}

}  // namespace

int run_transpose(const transpose_options& options) {
  require_device(options.device);
  if (options.device.kind == "cuda") {
    throw failure("--device is cuda, but this version transposes files on the CPU only, wanted auto or cpu",
                  exit_no_device);
  }
  const auto start = std::chrono::steady_clock::now();

  // 1
  const mapped_file input(options.input);
  report_vanished_pages(options.input);
  outcome result;
  result.in = input_header(input, options);
  result.axes = resolve_axes(options.axes, static_cast<int>(result.in.shape.size()), options.input);

  // 2, 3
  refuse_same_file(input, options);
  std::string header;
  result.out = output_header(result.in, result.axes, options, header);
  const transfer_plan plan = plan_transfer(input, result, options);
  if (options.dry_run) {
    print_plan(options, result, plan);
    return exit_ok;
  }

  // 4
  output_file output(options.output, result.out.data_offset + result.in.data_bytes,
                     {.force = options.force, .sync = !options.no_sync, .kept = is_kept(options) ? part_suffix : ""});
  if (output.is_stdout() && options.json) {
    throw failure("--json and OUT both write to stdout, wanted another OUT", exit_usage);
  }
  if (options.finish > 0 && output.is_new()) {
    output.remove_beside(part_suffix);
    throw failure(fmt::format("{}{}: is missing, so there is nothing to publish; wanted all parts first",
                              options.output, part_suffix));
  }
  output.write_at(header, 0);
  if (options.finish > 0) {
    check_parts(output, options.output, options.finish,
                {identity_of(input, result, options), plan.how.memory_bytes, plan.boxes.threads}, plan.boxes,
                result.out.data_offset);
  } else {
    write_data(input, output, result, plan, options);
  }
  const auto forget = [&](bool failed) {
    if (is_kept(options)) remove_parts(output, parts_of(options), failed);
  };
  if (!input.is_stream() && input.has_changed()) {
    forget(true);
    throw failure(fmt::format("{}: the file changed during the transpose; there is no output", options.input));
  }
  result.seconds = seconds_since(start);
  if (options.parts > 0) {
    if (!options.quiet) {
      print_safe("part {} of {} of {} is written; --finish {} publishes all parts\n", options.part, options.parts,
                 options.output, options.parts);
    }
    return exit_ok;
  }

  // 5, 6
  if (options.verify) {
    try {
      verify_output(input, output, result, options, plan);
    } catch (...) {
      forget(true);
      throw;
    }
  }
  const auto written = std::chrono::steady_clock::now();
  output.publish();
  forget(false);
  result.sync_seconds = options.no_sync ? 0 : seconds_since(written);

  // 7
  print_summary(options, result, output.is_stdout());
  return exit_ok;
}

}  // namespace cornerturn::cli

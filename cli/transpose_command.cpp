// `cornerturn transpose`: 1. read the header  2. make the header of the output  3. plan the boxes  4. write a file without a name
// 5. verify it  6. publish it under its name  7. print a summary.
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <chrono>
#include <cstdio>
#include <nlohmann/json.hpp>
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
#include "verify.hpp"
#include "workers.hpp"

namespace cornerturn::cli {
namespace {

struct outcome {
  npy_header in;
  npy_header out;
  std::vector<int> axes;
  file_report moved;
  bool in_memory = false;  // the input is mapped and fits
  double seconds = 0;      // from opening the input to the last byte written
  double verify_seconds = 0;
  double sync_seconds = 0;
};

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// An input or an output that is mapped whole needs some memory for the boxes, too.
constexpr std::int64_t boxes_beside_a_map = 64 << 20;
// Without --threads, so that all machines have the same boxes.
constexpr int threads_of_a_part = 4;

npy_header read_header(const mapped_file& file, const std::string& path) {
  try {
    return parse_npy_header(file.bytes(), file.size());
  } catch (const npy_error& fault) {
    throw failure(fmt::format("{}: {}", path, fault.what()));
  }
}

// The header of an input without one: the names of numpy's numbers, or a dtype text such as <f4.
npy_header raw_header(const mapped_file& file, const transpose_options& options) {
  static constexpr std::array<std::pair<std::string_view, std::string_view>, 14> names{{{"bool", "|b1"},
                                                                                        {"int8", "|i1"},
                                                                                        {"uint8", "|u1"},
                                                                                        {"int16", "<i2"},
                                                                                        {"uint16", "<u2"},
                                                                                        {"int32", "<i4"},
                                                                                        {"uint32", "<u4"},
                                                                                        {"int64", "<i8"},
                                                                                        {"uint64", "<u8"},
                                                                                        {"float16", "<f2"},
                                                                                        {"float32", "<f4"},
                                                                                        {"float64", "<f8"},
                                                                                        {"complex64", "<c8"},
                                                                                        {"complex128", "<c16"}}};
  std::string descr = options.raw_dtype;
  for (const auto& [name, code] : names) {
    if (name == descr) descr = code;
  }
  if (descr.size() > 1 && std::isalpha(static_cast<unsigned char>(descr[0])) != 0) {
    descr.insert(0, descr.substr(1) == "1" ? "|" : "<");  // u1, f4
  }
  npy_header header;
  header.descr = fmt::format("'{}'", descr);
  try {
    header.itemsize = npy_itemsize(header.descr);
  } catch (const npy_error& fault) {
    throw failure(fmt::format("--dtype is \"{}\", wanted a name such as float32, or a text such as <f4: {}",
                              options.raw_dtype, fault.what()),
                  exit_usage);
  }
  header.shape = options.raw_shape;
  header.data_offset = options.raw_offset;
  header.data_bytes = header.itemsize;
  std::int64_t end = 0;
  bool fits = true;
  for (const std::int64_t extent : header.shape) {
    fits = fits && !__builtin_mul_overflow(header.data_bytes, extent, &header.data_bytes);
  }
  fits = fits && !__builtin_add_overflow(header.data_bytes, header.data_offset, &end);
  if (!fits || end > file.size()) {
    throw failure(fmt::format("{}: has {}, but --offset {} and --shape {} of {} end {}", options.input,
                              bytes_text(file.size()), options.raw_offset, shape_text(header.shape), options.raw_dtype,
                              fits ? "at byte " + std::to_string(end) : "behind 2^63 bytes"));
  }
  return header;
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

// A file without a name beside the output, for the tiles of two passes.
std::unique_ptr<byte_store> scratch_for(const output_file& output, const file_plan& plan, base::descriptor& file) {
  if (plan.scratch_bytes == 0) return nullptr;
  file = output.scratch(plan.scratch_bytes);
  return file_store(file.get(), 0, "the scratch file");
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

void print_plan(const transpose_options& options, const outcome& result, const memory_limit& memory,
                const file_plan& plan, bool is_measured) {
  if (options.json) {
    nlohmann::ordered_json report = {
        {"input", options.input},  {"output", options.output},      {"bytes", result.in.data_bytes},
        {"memory", memory.bytes},  {"in_memory", result.in_memory}, {"scratch_bytes", plan.scratch_bytes},
        {"seconds", plan.seconds}, {"measured_disk", is_measured},  {"passes", nlohmann::ordered_json::array()}};
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
             is_measured ? "" : " on a disk of 1 GB/s (`cornerturn roof --disk FOLDER` measures yours)");
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

// True if OUT.part is kept: one process, several, or the one that publishes the work of several.
bool is_kept(const transpose_options& options) { return options.resume || options.parts > 0 || options.finish > 0; }
int parts_of(const transpose_options& options) { return std::max({options.parts, options.finish, 1}); }

// 2. The header of the output.
std::string prepare(const mapped_file& input, outcome& result, const transpose_options& options) {
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
  result.out.fortran_order =
      options.metadata_only ? order_of_same_bytes(result.in, result.axes, options.input) : options.order == "F";
  const bool has_header = options.raw_dtype.empty() || options.output.ends_with(".npy");
  const std::string header = has_header ? npy_header_bytes(result.out) : "";
  result.out.data_offset = static_cast<std::int64_t>(header.size());
  return header;
}

// 3. How the array is transposed.
struct transfer_plan {
  memory_limit memory;
  stored_array what;
  file_options how;
  file_plan boxes;
  bool is_measured = false;  // the speed of the disk is known
};

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
void write_data(const mapped_file& input, const output_file& output, outcome& result, transfer_plan& plan,
                const transpose_options& options) {
  std::optional<resumed_run> kept;
  if (is_kept(options)) {
    const share mine{std::max(options.part, 1), parts_of(options)};
    kept.emplace(output, options.output, mine,
                 journal_begin{identity_of(input, result, options), plan.how.memory_bytes, plan.boxes.threads});
    plan.how.memory_bytes = kept->begin().memory_bytes;
    plan.how.threads = kept->begin().threads;
    plan.boxes = plan_stored(plan.what, plan.how);
    kept->connect(plan.how, plan.boxes, result.out.data_offset);
  }
  base::descriptor scratch_file;
  const auto scratch = result.in_memory ? nullptr : scratch_for(output, plan.boxes, scratch_file);
  plan.how.scratch = scratch.get();
  if (scratch != nullptr && !options.quiet) {
    print_safe(stderr,
               "cornerturn: {} is little for this array, so it is written twice: first to a scratch file of {}\n",
               bytes_text(plan.memory.bytes), bytes_text(plan.boxes.scratch_bytes));
  }
  if (result.in_memory) input.prefetch();
  progress_bar bar("writing", result.in.data_bytes, !options.json && !options.quiet);
  plan.how.progress = [&bar](std::int64_t done) { bar.show(done); };
  input_store src(input, result.in.data_offset, result.in_memory, options.input);
  output_store dst(output, result.out.data_offset);
  result.moved = transpose_stored(src, dst, plan.what, plan.how);
  if (options.metadata_only) result.moved.kernel.clear();
  if (kept) kept->flush();
  plan.how.scratch = nullptr;
  plan.how.is_done = nullptr;
  plan.how.finished = nullptr;
  plan.how.progress = nullptr;
}

// Both files fit in memory: every element is compared, without the library's kernels. Else the input is transposed again, box by
// box, and compared with the output.
void verify_output(const mapped_file& input, const output_file& file, outcome& result, const transpose_options& options,
                   const transfer_plan& plan) {
  const auto start = std::chrono::steady_clock::now();
  const mapped_file written(file.descriptor(), options.output);
  progress_bar bar("verifying", result.in.data_bytes, !options.json && !options.quiet);
  const auto show = [&](std::int64_t done) { bar.show(done); };
  const std::int64_t data_offset = result.out.data_offset;
  if (data_offset > 0) {
    const npy_header out = read_header(written, options.output);
    if (out.shape != result.out.shape || out.descr != result.in.descr) {
      throw failure(fmt::format("{}: verification failed: the header is {} {}, wanted {} {}; the output was removed",
                                options.output, tuple_text(out.shape), out.descr, tuple_text(result.out.shape),
                                result.in.descr));
    }
  }
  if (result.in_memory && 2 * result.in.data_bytes + boxes_beside_a_map <= plan.memory.bytes) {
    const auto difference =
        find_difference(result.in, input.bytes().data() + result.in.data_offset, result.out,
                        written.bytes().data() + data_offset, result.axes, threads_for(options.threads), show);
    if (difference) refuse_difference(options.output, *difference);
  } else {
    input_store src(input, result.in.data_offset, result.in_memory, options.input);
    const auto dst = file_store(file.descriptor(), data_offset, options.output);
    comparing_sink compare(*dst);
    base::descriptor scratch_file;
    const auto scratch = result.in_memory ? nullptr : scratch_for(file, plan.boxes, scratch_file);
    file_options again = plan.how;
    again.scratch = scratch.get();
    again.progress = show;
    try {
      static_cast<void>(transpose_stored(src, compare, array_of(result, options), again));
    } catch (const comparing_sink::different& found) {
      refuse_difference(options.output, index_of(result.out, found.offset / result.in.itemsize));
    }
  }
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
  result.in = options.raw_dtype.empty() ? read_header(input, options.input) : raw_header(input, options);
  result.axes = resolve_axes(options.axes, static_cast<int>(result.in.shape.size()), options.input);

  // 2, 3
  const std::string header = prepare(input, result, options);
  transfer_plan plan = plan_transfer(input, result, options);
  if (options.dry_run) {
    print_plan(options, result, plan.memory, plan.boxes, plan.is_measured);
    return exit_ok;
  }

  // 4
  output_file output(options.output, result.out.data_offset + result.in.data_bytes,
                     {.force = options.force, .sync = !options.no_sync, .kept = is_kept(options) ? part_suffix : ""});
  if (output.is_stdout() && options.json) {
    throw failure("--json and OUT both write to stdout, wanted another OUT", exit_usage);
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
  const double rate = 2 * static_cast<double>(result.in.data_bytes) / result.seconds * 1e-9;
  if (options.json) {
    print_json(options, result, rate);
  } else if (!options.quiet) {
    print_lines(output.is_stdout(), options, result, rate);
  }
  return exit_ok;
}

}  // namespace cornerturn::cli

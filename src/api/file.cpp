// The calls of file.hpp: 1. fold the array  2. plan one pass or two  3. run them.
#include "cornerturn/file.hpp"

#include <algorithm>
#include <array>
#include <string>

#include "api/guard.hpp"
#include "base/parallel.hpp"
#include "base/quota.hpp"
#include "cornerturn/error.hpp"
#include "file/engine.hpp"
#include "file/passes.hpp"
#include "file/stores.hpp"

namespace cornerturn {
namespace {

// One request of 64 KiB at a time reads 776 MB/s, one of 8 MiB 1.05 GB/s (virtual disk, Linux 6.18, 2026-11-27). Several in
// flight close the gap.
constexpr int least_threads = 4;

files::resources resources_of(const file_options& options) {
  if (options.memory_bytes < 0) {
    throw error(status::invalid_argument,
                "memory_bytes is " + std::to_string(options.memory_bytes) + ", wanted 0 or more");
  }
  if (options.threads < 0 || options.threads > 1024) {
    throw error(status::invalid_argument, "threads is " + std::to_string(options.threads) + ", wanted 0 to 1024");
  }
  files::resources made;
  made.memory_bytes = options.memory_bytes > 0 ? options.memory_bytes : base::available_memory() / 2;
  made.threads = options.threads > 0 ? options.threads : std::max(base::default_threads(), least_threads);
  made.disk = options.disk;
  return made;
}

file_plan plan_of(const files::route& how) {
  file_plan made;
  for (const files::pass& one : how.passes) {
    made.passes.push_back(one.summary);
    made.memory_bytes = std::max(made.memory_bytes, one.memory_bytes);
    made.threads = std::max(made.threads, one.threads);
    made.seconds += one.summary.seconds;
  }
  if (how.passes.size() > 1) made.scratch_bytes = how.passes[0].summary.bytes;
  return made;
}

std::vector<std::int64_t> src_extents(const files::permuted& what) {
  std::vector<std::int64_t> extents(static_cast<std::size_t>(what.rank));
  for (std::size_t k = 0; k < extents.size(); ++k) {
    extents[static_cast<std::size_t>(what.axes[k])] = what.extents[k];
  }
  return extents;
}

std::vector<std::int64_t> dst_extents(const files::permuted& what) {
  return {what.extents.begin(), what.extents.begin() + what.rank};
}

// Adds the outcome of a pass. Returns false after a fault.
bool add(file_report& all, const files::engine_result& one, bool is_last) {
  if (all.kernel.empty()) all.kernel = one.kernel;
  all.threads = std::max(all.threads, one.threads);
  if (is_last) all.bytes = one.bytes;
  return !one.fault;
}

// The exceptions of a store belong to its author and pass unchanged. One for memory becomes an error, as everywhere.
[[noreturn]] void throw_again(const std::exception_ptr& fault) {
  try {
    std::rethrow_exception(fault);
  } catch (const std::bad_alloc&) {
    throw error(api::no_memory());
  }
}

std::exception_ptr run_route(const files::route& how, byte_source& src, byte_sink& dst, const file_options& options,
                             file_report& report) {
  const files::permuted& what = how.passes.front().what;
  files::linear_source from(src, src_extents(what), what.element_bytes);
  files::linear_sink to(dst, dst_extents(what), what.element_bytes);
  files::engine_calls calls{.src = &from,
                            .memory = static_cast<const std::byte*>(src.memory()),
                            .dst = &to,
                            .progress = options.progress,
                            .is_done = options.is_done,
                            .finished = options.finished};
  if (how.passes.size() == 1) {
    const files::engine_result only = files::run_pass(how.passes[0], calls);
    add(report, only, true);
    return only.fault;
  }
  if (options.scratch == nullptr) {
    throw error(status::invalid_argument, "options.scratch is null, but the plan has two passes. Wanted: a store of " +
                                              std::to_string(how.passes[0].summary.bytes) + " bytes, or more memory");
  }
  files::tiled_store tiles(*options.scratch, dst_extents(what), {how.tile.begin(), how.tile.begin() + what.rank},
                           what.element_bytes);
  // Progress counts the bytes of both passes, halved.
  std::int64_t before = 0;
  if (options.progress) {
    calls.progress = [&](std::int64_t bytes) { options.progress(before + bytes / 2); };
  }
  if (!options.is_scratch_written) {
    files::engine_calls first = calls;
    first.dst = &tiles;
    first.is_done = nullptr;
    first.finished = nullptr;
    const files::engine_result written = files::run_pass(how.passes[0], first);
    if (!add(report, written, false)) return written.fault;
    if (options.scratch_written) options.scratch_written();
  }
  const std::int64_t bytes = how.passes[0].summary.bytes;
  before = bytes - bytes / 2;
  calls.src = &tiles;
  calls.memory = nullptr;
  const files::engine_result last = files::run_pass(how.passes[1], calls);
  add(report, last, true);
  return last.fault;
}

}  // namespace

file_plan plan_stored(const stored_array& what, const file_options& options) {
  return api::guarded([&] { return plan_of(files::plan_route(files::folded(what), resources_of(options))); });
}

file_report transpose_stored(byte_source& src, byte_sink& dst, const stored_array& what, const file_options& options) {
  file_report report;
  const std::exception_ptr fault = api::guarded([&] {
    files::resources with = resources_of(options);
    with.src.in_memory = src.memory() != nullptr;
    if (with.src.in_memory && options.threads == 0) with.threads = base::default_threads();
    const files::route how = files::plan_route(files::folded(what), with);
    report.plan = plan_of(how);
    return how.passes.empty() ? std::exception_ptr() : run_route(how, src, dst, options, report);
  });
  if (fault) throw_again(fault);
  return report;
}

file_report transpose_stored(array_source& src, array_sink& dst, const stored_array& what,
                             const file_options& options) {
  // Calls of foreign code, so outside of guarded().
  const std::vector<std::int64_t> src_chunk = src.chunk(), dst_chunk = dst.chunk();
  file_report report;
  const std::exception_ptr fault = api::guarded([&] {
    files::resources with = resources_of(options);
    const files::permuted array = files::unfolded(what);
    const auto layout_of = [&](const std::vector<std::int64_t>& chunk, const char* name, bool is_src) {
      files::store_layout made;
      made.is = files::store_layout::kind::chunks;
      if (!chunk.empty() && chunk.size() != what.extents.size()) {
        throw error(status::invalid_argument, std::string(name) + " has chunks of " + std::to_string(chunk.size()) +
                                                  " axes, but the array has " + std::to_string(what.extents.size()));
      }
      for (std::size_t k = 0; k < what.extents.size(); ++k) {
        const std::size_t axis = is_src ? static_cast<std::size_t>(array.axes[k]) : k;
        made.chunk[k] = chunk.empty() ? 1 : chunk[axis];
        if (made.chunk[k] < 1) {
          throw error(status::invalid_argument, std::string(name) + " has chunks of extent " +
                                                    std::to_string(made.chunk[k]) + " along axis " +
                                                    std::to_string(axis) + ", wanted 1 or more");
        }
      }
      if (chunk.empty()) made.is = files::store_layout::kind::linear;
      return made;
    };
    with.src = layout_of(src_chunk, "src", true);
    with.dst = layout_of(dst_chunk, "dst", false);
    const files::route how = files::plan_one_pass(array, with);
    report.plan = plan_of(how);
    if (how.passes.empty()) return std::exception_ptr();
    const files::engine_result only = files::run_pass(how.passes[0], {.src = &src,
                                                                      .dst = &dst,
                                                                      .progress = options.progress,
                                                                      .is_done = options.is_done,
                                                                      .finished = options.finished});
    add(report, only, true);
    return only.fault;
  });
  if (fault) throw_again(fault);
  return report;
}

std::unique_ptr<byte_store> file_store(int descriptor, std::int64_t begin, const std::string& name) {
  return api::guarded([&] { return files::store_of_file(descriptor, begin, name); });
}

std::int64_t available_memory() {
  return api::guarded([] { return base::available_memory(); });
}

}  // namespace cornerturn

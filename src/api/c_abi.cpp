// Implements cornerturn.h with the C++ calls: every exception becomes a status and a sentence.
#include <algorithm>
#include <cstring>
#include <deque>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "api/batch.hpp"
#include "api/c_abi.hpp"
#include "base/files.hpp"
#include "cornerturn/cornerturn.h"
#include "cornerturn/error.hpp"
#include "cornerturn/file.hpp"
#include "cornerturn/machine.hpp"
#include "cornerturn/system.hpp"
#include "cornerturn/transpose.hpp"
#include "cornerturn/tune.hpp"

struct cornerturn_plan {
  cornerturn::plan how;
  // Texts of explain(): a plan that measures itself has another one later. A caller keeps pointers to all of them.
  mutable std::mutex guard{};
  mutable std::deque<std::string> texts{};
};

struct cornerturn_batch {
  cornerturn_batch(const cornerturn::detail::batch_list& all, const cornerturn::plan_options& options)
      : how(all, options), text(how.explain()) {}
  cornerturn::detail::batch_state how;
  std::string text;
};

namespace {

using cornerturn::error;
using cornerturn::status;
using cornerturn::api::c::flag;
using cornerturn::api::c::from_c;
using cornerturn::api::c::guarded;
using cornerturn::api::c::read;
using cornerturn::api::c::want;

// The sentence of this thread's last error. It has no destructor: calls out of atexit() handlers and out of the destructors of
// other thread_local variables report their errors, too.
class sentence {
 public:
  // Replaces the end of a sentence that is too long by three dots.
  void set(std::string_view text) noexcept {
    constexpr std::string_view dots = "...";
    const std::size_t room = sizeof text_ - 1;
    const bool fits = text.size() <= room;
    const std::size_t bytes = fits ? text.size() : room - dots.size();
    std::memcpy(text_, text.data(), bytes);
    if (!fits) std::memcpy(text_ + bytes, dots.data(), dots.size());
    text_[fits ? bytes : room] = 0;
  }
  void clear() noexcept { text_[0] = 0; }
  [[nodiscard]] const char* c_str() const noexcept { return text_; }

 private:
  char text_[1024] = {};
};
constinit thread_local sentence last_error;

cornerturn_problem read(const cornerturn_problem& given) { return read(given, "problem", "CORNERTURN_PROBLEM_INIT"); }
cornerturn_arithmetic read(const cornerturn_arithmetic& given) {
  return read(given, "math", "CORNERTURN_ARITHMETIC_INIT");
}
cornerturn_operands read(const cornerturn_operands& given) {
  return read(given, "operands", "CORNERTURN_OPERANDS_INIT");
}
cornerturn_tune_options read(const cornerturn_tune_options& given) {
  return read(given, "options", "CORNERTURN_TUNE_OPTIONS_INIT");
}

cornerturn_calibrate_options read(const cornerturn_calibrate_options& given) {
  return read(given, "options", "CORNERTURN_CALIBRATE_OPTIONS_INIT");
}

cornerturn_store read(const cornerturn_store& given) { return read(given, "store", "CORNERTURN_STORE_INIT"); }
cornerturn_file_options read(const cornerturn_file_options& given) {
  return read(given, "options", "CORNERTURN_FILE_OPTIONS_INIT");
}

cornerturn::problem from_c(const cornerturn_problem& at) {
  const cornerturn_problem given = read(at);
  cornerturn::problem what;
  what.element_bytes = given.element_bytes;
  what.rank = given.rank;
  what.in_place = flag(given.in_place, "in_place");
  for (int k = 0; k < std::clamp(given.rank, 0, CORNERTURN_MAX_RANK); ++k) {
    what.axes[k] = {given.axes[k].extent, given.axes[k].src_stride, given.axes[k].dst_stride};
  }
  return what;
}

cornerturn::problem from_c(const cornerturn_problem& at, const cornerturn_arithmetic* with) {
  cornerturn::problem what = from_c(at);
  if (with == nullptr) return what;
  const cornerturn_arithmetic math = read(*with);
  what.math = {.src = static_cast<cornerturn::element_type>(math.src),
               .dst = static_cast<cornerturn::element_type>(math.dst),
               .alpha = {math.alpha[0], math.alpha[1]},
               .beta = {math.beta[0], math.beta[1]},
               .conj = flag(math.conj, "math.conj"),
               .saturate = flag(math.saturate, "math.saturate"),
               .scaled = flag(math.scaled, "math.scaled"),
               .second = static_cast<cornerturn::second_array>(math.second)};
  for (int k = 0; k < std::clamp(what.rank, 0, CORNERTURN_MAX_RANK); ++k) {
    what.axes[static_cast<std::size_t>(k)].second_stride = math.second_strides[k];
  }
  return what;
}

cornerturn::operands from_c(const cornerturn_operands& at) {
  const cornerturn_operands given = read(at);
  if (given.workspace_bytes < 0) {
    throw error(status::invalid_argument,
                "workspace_bytes is " + std::to_string(given.workspace_bytes) + ", wanted 0 or more");
  }
  if (given.workspace_bytes > 0) want(given.workspace, "workspace");
  return {.src = given.src,
          .dst = given.dst,
          .second = given.second,
          .second_dst = given.second_dst,
          .scale = given.scale,
          .workspace = {static_cast<std::byte*>(given.workspace), static_cast<std::size_t>(given.workspace_bytes)}};
}

// The functions of a C program as a store.
class c_store final : public cornerturn::byte_store {
 public:
  explicit c_store(const cornerturn_store& of) : of_(of) {}
  void read(std::int64_t offset, void* to, std::size_t bytes) override {
    check(of_.read(of_.context, offset, to, bytes), "read");
  }
  void write(std::int64_t offset, const void* from, std::size_t bytes) override {
    check(of_.write(of_.context, offset, from, bytes), "write");
  }
  [[nodiscard]] bool reads() const { return of_.read != nullptr; }
  [[nodiscard]] bool writes() const { return of_.write != nullptr; }

 private:
  static void check(int fault, const char* call) {
    if (fault == 0) return;
    throw error(status::io_error,
                std::string("the store's ") + call + " failed: " + cornerturn::base::error_text(fault));
  }
  cornerturn_store of_;
};

void to_c(const cornerturn::problem& what, cornerturn_problem* out) {
  static_cast<void>(read(*out));
  *out = CORNERTURN_PROBLEM_INIT;
  out->element_bytes = what.element_bytes;
  out->rank = what.rank;
  out->in_place = what.in_place ? 1 : 0;
  for (int k = 0; k < what.rank; ++k) {
    out->axes[k] = {what.axes[k].extent, what.axes[k].src_stride, what.axes[k].dst_stride};
  }
}

cornerturn::tune_options from_c(const cornerturn_tune_options* at) {
  if (at == nullptr) return {};
  const cornerturn_tune_options given = read(*at);
  return {.device = static_cast<cornerturn::device>(given.device),
          .threads = given.threads,
          .seconds = given.seconds,
          .file = given.file == nullptr ? "" : given.file};
}

cornerturn::problem permutation(int rank, const int64_t* extents, const int* axes, int64_t element_bytes) {
  if (rank < 0) throw error(status::invalid_argument, "rank is " + std::to_string(rank) + ", wanted 0 or more");
  if (rank > 0) {
    want(extents, "extents");
    want(axes, "axes");
  }
  const auto count = static_cast<std::size_t>(rank);
  return cornerturn::permute_problem({extents, count}, {axes, count}, element_bytes);
}

// In place if src is dst: the problem is made from the pointers.
void execute_anywhere(cornerturn::problem what, const void* src, void* dst, void* stream) {
  what.in_place = src == dst;
  cornerturn::execute(what, src, dst, stream);
}

}  // namespace

namespace cornerturn::api::c {

void tell(const char* text) noexcept {
  if (text == nullptr) return last_error.clear();
  last_error.set(text);
}

void want(const void* pointer, const char* name) {
  if (pointer == nullptr) throw error(status::invalid_argument, std::string(name) + " is null");
}

bool flag(int value, const char* name) {
  if (value == 0 || value == 1) return value == 1;
  throw error(status::invalid_argument, std::string(name) + " is " + std::to_string(value) + ", wanted 0 or 1");
}

plan_options from_c(const cornerturn_options* at) {
  if (at == nullptr) return {};
  const cornerturn_options given = read(*at, "options", "CORNERTURN_OPTIONS_INIT");
  return {.device = static_cast<device>(given.device),
          .threads = given.threads,
          .parallel = {given.parallel.run, given.parallel.context, given.parallel.is_cancelled},
          .measure = flag(given.measure, "measure")};
}

}  // namespace cornerturn::api::c

extern "C" {

cornerturn_status cornerturn_transpose_problem(int64_t rows, int64_t cols, int64_t element_bytes, int64_t src_ld,
                                               int64_t dst_ld, cornerturn_problem* out) {
  return guarded([&] {
    want(out, "out");
    to_c(cornerturn::transpose_problem(rows, cols, element_bytes, src_ld, dst_ld), out);
  });
}

cornerturn_status cornerturn_permute_problem(int rank, const int64_t* extents, const int* axes, int64_t element_bytes,
                                             cornerturn_problem* out) {
  return guarded([&] {
    want(out, "out");
    to_c(permutation(rank, extents, axes, element_bytes), out);
  });
}

cornerturn_status cornerturn_plan_create(const cornerturn_problem* problem, const cornerturn_arithmetic* math,
                                         const cornerturn_options* options, cornerturn_plan** out) {
  return guarded([&] {
    want(problem, "problem");
    want(out, "out");
    *out = nullptr;
    cornerturn::plan how(from_c(*problem, math), from_c(options));
    *out = new cornerturn_plan{std::move(how)};
  });
}

void cornerturn_plan_destroy(cornerturn_plan* plan) { delete plan; }

cornerturn_status cornerturn_plan_execute(const cornerturn_plan* plan, const void* src, void* dst, void* stream) {
  return guarded([&] {
    want(plan, "plan");
    plan->how.execute(src, dst, stream);
  });
}

cornerturn_status cornerturn_plan_apply(const cornerturn_plan* plan, const cornerturn_operands* operands,
                                        void* stream) {
  return guarded([&] {
    want(plan, "plan");
    want(operands, "operands");
    plan->how.execute(from_c(*operands), stream);
  });
}

cornerturn_status cornerturn_plan_workspace_bytes(const cornerturn_plan* plan, cornerturn_device device, int64_t* out) {
  return guarded([&] {
    want(plan, "plan");
    want(out, "out");
    *out = plan->how.workspace_bytes(static_cast<cornerturn::device>(device));
  });
}

cornerturn_status cornerturn_plan_explain(const cornerturn_plan* plan, const char** out) {
  return guarded([&] {
    want(plan, "plan");
    want(out, "out");
    std::string text = plan->how.explain();
    const std::lock_guard lock(plan->guard);
    if (plan->texts.empty() || plan->texts.back() != text) plan->texts.push_back(std::move(text));
    *out = plan->texts.back().c_str();
  });
}

const char* cornerturn_plan_kernel(const cornerturn_plan* plan) { return plan == nullptr ? "" : plan->how.kernel(); }

cornerturn_status cornerturn_batch_create(const cornerturn_problem* const* problems, const void* const* src,
                                          void* const* dst, int64_t count, const cornerturn_options* options,
                                          cornerturn_batch** out) {
  return guarded([&] {
    want(out, "out");
    *out = nullptr;
    if (count < 0) throw error(status::invalid_argument, "count is " + std::to_string(count) + ", wanted 0 or more");
    if (count > 0) {
      want(problems, "problems");
      want(src, "src");
      want(dst, "dst");
    }
    cornerturn::detail::batch_list all;
    all.reserve(static_cast<std::size_t>(count));
    const cornerturn_problem* last = nullptr;
    cornerturn::problem what;
    for (int64_t k = 0; k < count; ++k) {
      if (problems[k] != last || k == 0) {
        try {
          want(problems[k], "problem");
          what = from_c(*problems[k]);
        } catch (const error& fault) {
          throw error(fault.code(), "item " + std::to_string(k) + ": " + fault.what());
        }
      }
      last = problems[k];
      all.add(what, src[k], dst[k]);
    }
    *out = new cornerturn_batch(all, from_c(options));
  });
}

void cornerturn_batch_destroy(cornerturn_batch* batch) { delete batch; }

cornerturn_status cornerturn_batch_execute(const cornerturn_batch* batch, void* stream) {
  return guarded([&] {
    want(batch, "batch");
    batch->how.execute(stream);
  });
}

cornerturn_status cornerturn_batch_explain(const cornerturn_batch* batch, const char** out) {
  return guarded([&] {
    want(batch, "batch");
    want(out, "out");
    *out = batch->text.c_str();
  });
}

cornerturn_status cornerturn_execute(const cornerturn_problem* problem, const void* src, void* dst, void* stream) {
  return guarded([&] {
    want(problem, "problem");
    cornerturn::execute(from_c(*problem), src, dst, stream);
  });
}

cornerturn_status cornerturn_apply(const cornerturn_problem* problem, const cornerturn_arithmetic* math,
                                   const cornerturn_operands* operands, void* stream) {
  return guarded([&] {
    want(problem, "problem");
    want(operands, "operands");
    cornerturn::execute(from_c(*problem, math), from_c(*operands), stream);
  });
}

cornerturn_status cornerturn_transpose(const void* src, void* dst, int64_t rows, int64_t cols, int64_t element_bytes,
                                       int64_t src_ld, int64_t dst_ld, void* stream) {
  return guarded([&] {
    execute_anywhere(cornerturn::transpose_problem(rows, cols, element_bytes, src_ld, dst_ld), src, dst, stream);
  });
}

cornerturn_status cornerturn_permute(const void* src, void* dst, int rank, const int64_t* extents, const int* axes,
                                     int64_t element_bytes, void* stream) {
  return guarded([&] { execute_anywhere(permutation(rank, extents, axes, element_bytes), src, dst, stream); });
}

cornerturn_status cornerturn_tune(const cornerturn_problem* problem, const void* src, void* dst,
                                  const cornerturn_tune_options* options, const char** kernel, void* stream) {
  return guarded([&] {
    want(problem, "problem");
    if (kernel != nullptr) *kernel = "";
    const auto found = cornerturn::tune(from_c(*problem), src, dst, from_c(options), stream);
    if (kernel != nullptr && !found.trials.empty()) *kernel = found.trials[0].kernel;
  });
}

cornerturn_status cornerturn_transpose_stored(const cornerturn_store* src, const cornerturn_store* dst, int rank,
                                              const int64_t* extents, const int* axes, int64_t element_bytes,
                                              const cornerturn_file_options* options) {
  return guarded([&] {
    want(src, "src");
    want(dst, "dst");
    if (rank < 0) throw error(status::invalid_argument, "rank is " + std::to_string(rank) + ", wanted 0 or more");
    if (rank > 0) {
      want(extents, "extents");
      want(axes, "axes");
    }
    c_store from(read(*src)), to(read(*dst));
    if (!from.reads()) throw error(status::invalid_argument, "src.read is null");
    if (!to.writes()) throw error(status::invalid_argument, "dst.write is null");
    cornerturn::stored_array what{{extents, extents + rank}, {axes, axes + rank}, element_bytes};
    cornerturn::file_options how;
    std::optional<c_store> scratch;
    if (options != nullptr) {
      const cornerturn_file_options given = read(*options);
      how.memory_bytes = given.memory_bytes;
      how.threads = given.threads;
      what.src_fortran_order = flag(given.src_fortran_order, "src_fortran_order");
      what.dst_fortran_order = flag(given.dst_fortran_order, "dst_fortran_order");
      if (given.scratch != nullptr) {
        scratch.emplace(read(*given.scratch));
        if (!scratch->reads() || !scratch->writes()) {
          throw error(status::invalid_argument, "scratch.read or scratch.write is null");
        }
        how.scratch = &*scratch;
      }
    }
    static_cast<void>(cornerturn::transpose_stored(from, to, what, how));
  });
}

cornerturn_status cornerturn_load_tuning(const char* file) {
  return guarded([&] {
    want(file, "file");
    static_cast<void>(cornerturn::load_tuning(file));
  });
}

cornerturn_status cornerturn_load_machine(const char* file) {
  return guarded([&] {
    want(file, "file");
    cornerturn::load_machine(file);
  });
}

cornerturn_status cornerturn_calibrate(const cornerturn_calibrate_options* options) {
  return guarded([&] {
    cornerturn::calibrate_options how;
    if (options != nullptr) {
      const cornerturn_calibrate_options given = read(*options);
      if (given.device != nullptr) how.device = given.device;
      if (given.file != nullptr) how.file = given.file;
      if (given.command != nullptr) how.command = given.command;
      how.minutes = given.minutes;
      how.threads = given.threads;
      how.seed = given.seed;
      how.quiet = flag(given.quiet, "options.quiet");
    }
    static_cast<void>(cornerturn::calibrate(how));
  });
}

cornerturn_status cornerturn_forget_tuning(void) {
  return guarded([] { cornerturn::forget_tuning(); });
}

const char* cornerturn_last_error(void) { return last_error.c_str(); }

const char* cornerturn_status_name(cornerturn_status code) { return cornerturn::name(static_cast<status>(code)); }

const char* cornerturn_version(void) { return cornerturn::version(); }

}  // extern "C"

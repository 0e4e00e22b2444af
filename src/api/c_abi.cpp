// Implements cornerturn.h with the C++ calls: every exception becomes a status and a sentence.
#include <algorithm>
#include <cstring>
#include <string>
#include <string_view>

#include "api/batch.hpp"
#include "api/guard.hpp"
#include "cornerturn/cornerturn.h"
#include "cornerturn/error.hpp"
#include "cornerturn/system.hpp"
#include "cornerturn/transpose.hpp"
#include "cornerturn/tune.hpp"

struct cornerturn_plan {
  cornerturn::plan how;
  std::string text;
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

template <class Body>
cornerturn_status guarded(Body body) noexcept {
  try {
    cornerturn::api::guarded(body);
    last_error.clear();
    return CORNERTURN_OK;
  } catch (const error& fault) {
    last_error.set(fault.what());
    return static_cast<cornerturn_status>(fault.code());
  }
}

void want(const void* pointer, const char* name) {
  if (pointer == nullptr) throw error(status::invalid_argument, std::string(name) + " is null");
}

cornerturn::problem from_c(const cornerturn_problem& given) {
  cornerturn::problem what;
  what.element_bytes = given.element_bytes;
  what.rank = given.rank;
  what.in_place = given.in_place != 0;
  for (int k = 0; k < std::clamp(given.rank, 0, CORNERTURN_MAX_RANK); ++k) {
    what.axes[k] = {given.axes[k].extent, given.axes[k].src_stride, given.axes[k].dst_stride};
  }
  return what;
}

cornerturn::problem from_c(const cornerturn_problem& given, const cornerturn_arithmetic* math) {
  cornerturn::problem what = from_c(given);
  if (math == nullptr) return what;
  what.math = {.src = static_cast<cornerturn::element_type>(math->src),
               .dst = static_cast<cornerturn::element_type>(math->dst),
               .alpha = {math->alpha[0], math->alpha[1]},
               .beta = {math->beta[0], math->beta[1]},
               .conj = math->conj != 0,
               .saturate = math->saturate != 0,
               .scaled = math->scaled != 0,
               .second = static_cast<cornerturn::second_array>(math->second)};
  for (int k = 0; k < std::clamp(given.rank, 0, CORNERTURN_MAX_RANK); ++k) {
    what.axes[static_cast<std::size_t>(k)].second_stride = math->second_strides[k];
  }
  return what;
}

cornerturn::operands from_c(const cornerturn_operands& given) {
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

void to_c(const cornerturn::problem& what, cornerturn_problem* out) {
  *out = {};
  out->element_bytes = what.element_bytes;
  out->rank = what.rank;
  out->in_place = what.in_place ? 1 : 0;
  for (int k = 0; k < what.rank; ++k) {
    out->axes[k] = {what.axes[k].extent, what.axes[k].src_stride, what.axes[k].dst_stride};
  }
}

cornerturn::plan_options from_c(const cornerturn_options* given) {
  cornerturn::plan_options options;
  if (given == nullptr) return options;
  options.device = static_cast<cornerturn::device>(given->device);
  options.threads = given->threads;
  options.parallel = {given->parallel.run, given->parallel.context};
  return options;
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

void execute(cornerturn::problem what, const void* src, void* dst, void* stream) {
  what.in_place = src == dst;
  cornerturn::execute(what, src, dst, stream);
}

}  // namespace

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

cornerturn_arithmetic cornerturn_no_arithmetic(void) {
  cornerturn_arithmetic none = {};
  none.alpha[0] = 1;
  none.saturate = 1;
  return none;
}

cornerturn_status cornerturn_plan_create(const cornerturn_problem* problem, const cornerturn_options* options,
                                         cornerturn_plan** out) {
  return cornerturn_plan_create_with(problem, nullptr, options, out);
}

cornerturn_status cornerturn_plan_create_with(const cornerturn_problem* problem, const cornerturn_arithmetic* math,
                                              const cornerturn_options* options, cornerturn_plan** out) {
  return guarded([&] {
    want(problem, "problem");
    want(out, "out");
    *out = nullptr;
    cornerturn::plan how(from_c(*problem, math), from_c(options));
    std::string text = how.explain();
    *out = new cornerturn_plan{std::move(how), std::move(text)};
  });
}

void cornerturn_plan_destroy(cornerturn_plan* plan) { delete plan; }

cornerturn_status cornerturn_plan_execute(const cornerturn_plan* plan, const void* src, void* dst, void* stream) {
  return guarded([&] {
    want(plan, "plan");
    plan->how.execute(src, dst, stream);
  });
}

cornerturn_status cornerturn_plan_execute_with(const cornerturn_plan* plan, const void* src, void* dst, void* workspace,
                                               int64_t workspace_bytes, void* stream) {
  return guarded([&] {
    want(plan, "plan");
    if (workspace_bytes < 0) {
      throw error(status::invalid_argument,
                  "workspace_bytes is " + std::to_string(workspace_bytes) + ", wanted 0 or more");
    }
    if (workspace_bytes > 0) want(workspace, "workspace");
    plan->how.execute(src, dst, {static_cast<std::byte*>(workspace), static_cast<std::size_t>(workspace_bytes)},
                      stream);
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

int64_t cornerturn_plan_workspace_bytes(const cornerturn_plan* plan) {
  return plan == nullptr ? 0 : plan->how.workspace_bytes();
}

const char* cornerturn_plan_explain(const cornerturn_plan* plan) { return plan == nullptr ? "" : plan->text.c_str(); }
const char* cornerturn_plan_kernel(const cornerturn_plan* plan) { return plan == nullptr ? "" : plan->how.kernel(); }

cornerturn_status cornerturn_batch_create(const cornerturn_batch_item* items, int64_t count,
                                          const cornerturn_options* options, cornerturn_batch** out) {
  return guarded([&] {
    want(out, "out");
    *out = nullptr;
    if (count < 0) throw error(status::invalid_argument, "count is " + std::to_string(count) + ", wanted 0 or more");
    if (count > 0) want(items, "items");
    cornerturn::detail::batch_list all;
    all.reserve(static_cast<std::size_t>(count));
    const cornerturn_problem* last = nullptr;
    cornerturn::problem what;
    for (int64_t k = 0; k < count; ++k) {
      want(items[k].problem, ("item " + std::to_string(k) + ": problem").c_str());
      if (items[k].problem != last) what = from_c(*items[k].problem);
      last = items[k].problem;
      all.add(what, items[k].src, items[k].dst);
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

const char* cornerturn_batch_explain(const cornerturn_batch* batch) {
  return batch == nullptr ? "" : batch->text.c_str();
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
    execute(cornerturn::transpose_problem(rows, cols, element_bytes, src_ld, dst_ld), src, dst, stream);
  });
}

cornerturn_status cornerturn_permute(const void* src, void* dst, int rank, const int64_t* extents, const int* axes,
                                     int64_t element_bytes, void* stream) {
  return guarded([&] { execute(permutation(rank, extents, axes, element_bytes), src, dst, stream); });
}

cornerturn_status cornerturn_tune(const cornerturn_problem* problem, const cornerturn_options* options, const void* src,
                                  void* dst, double seconds, const char* file, void* stream, const char** kernel) {
  return guarded([&] {
    want(problem, "problem");
    if (kernel != nullptr) *kernel = "";
    const cornerturn::plan_options asked = from_c(options);
    const auto found = cornerturn::tune(
        from_c(*problem), src, dst,
        {.device = asked.device, .threads = asked.threads, .seconds = seconds, .file = file == nullptr ? "" : file}, stream);
    if (kernel != nullptr && !found.trials.empty()) *kernel = found.trials[0].kernel;
  });
}

cornerturn_status cornerturn_load_tuning(const char* file) {
  return guarded([&] {
    want(file, "file");
    static_cast<void>(cornerturn::load_tuning(file));
  });
}

void cornerturn_forget_tuning(void) {
  static_cast<void>(guarded([] { cornerturn::forget_tuning(); }));
}

const char* cornerturn_last_error(void) { return last_error.c_str(); }

const char* cornerturn_status_name(cornerturn_status code) { return cornerturn::name(static_cast<status>(code)); }

const char* cornerturn_version(void) { return cornerturn::version(); }

}  // extern "C"

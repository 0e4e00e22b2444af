// tune(): 1. find the rows that accept the problem  2. run each row once, and drop the slow rows  3. time all rows in
// rounds, until the time limit  4. store the row with the smallest median.
#include "cornerturn/tune.hpp"

#include <algorithm>
#include <chrono>

#include "api/device.hpp"
#include "api/guard.hpp"
#include "api/plan_state.hpp"
#include "api/tuned.hpp"
#include "base/machine.hpp"
#include "base/numbers.hpp"
#include "base/parallel.hpp"
#include "cornerturn/error.hpp"

namespace cornerturn {
namespace {

constexpr double max_slowdown = 3;  // relative to the fastest row in the first round
constexpr int min_rounds = 3;

struct candidate {
  std::unique_ptr<detail::plan_state> how;
  std::vector<double> took;
};

double seconds_of(const detail::plan_state& how, const void* src, void* dst, void* stream, gpu::stopwatch* on_gpu) {
  if (on_gpu == nullptr) {
    const auto begin = std::chrono::steady_clock::now();
    how.execute(src, dst);
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  }
  on_gpu->start(stream);
  how.execute(src, dst, stream);
  const double took = on_gpu->stop(stream);
  if (took < 0) {
    throw error(status::device_error, std::string("the GPU failed during the measurement of ") + how.kernel());
  }
  return took;
}

double median(std::vector<double> all) {
  const auto middle = all.begin() + static_cast<std::ptrdiff_t>(all.size() / 2);
  std::nth_element(all.begin(), middle, all.end());
  return *middle;
}

void try_row(std::vector<candidate>& all, const problem& what, const char* row, device on, int threads) {
  try {
    auto made = std::make_unique<detail::plan_state>(
        what, plan_options{.device = on, .threads = threads, .parallel = {}, .kernel = row});
    all.push_back({std::move(made), {}});
  } catch (const error& refused) {
    if (refused.code() != status::invalid_argument) throw;  // the row does not accept this problem
  }
}

std::vector<candidate> candidates(const problem& what, const running::gpu_variant* on_gpu, int threads) {
  std::vector<candidate> all;
  for (const kernels::kernel& row : kernels::all()) {
    if (on_gpu != nullptr) {
      // Rows for shorter words accept the problem too, but are slower.
      const bool fits =
          row.element_bytes == on_gpu->form.word_bytes || row.element_bytes == on_gpu->chosen.row->element_bytes;
      if (row.launch != nullptr && fits) try_row(all, what, row.name, api::gpu_backend, 0);
      continue;
    }
    if (row.run == nullptr || row.kind != kernels::row_kind::move || row.is_oracle) continue;
    try_row(all, what, row.name, device::cpu, threads);
    if (!all.empty() && std::string_view(all.back().how->kernel()) == row.name && all.back().how->threads() > 1) {
      try_row(all, what, row.name, device::cpu, 1);
    }
  }
  return all;
}

tune_result measured(const problem& what, const void* src, void* dst, const tune_options& options, void* stream) {
  if (!(options.seconds >= 0 && options.seconds <= 1e9)) {
    throw error(status::invalid_argument, "seconds is " + base::decimal(options.seconds) + ", wanted 0 to 1e9");
  }
  if (what.in_place) {
    throw error(status::invalid_argument,
                "in_place is set, but tune executes the problem many times. Wanted: a problem out of place");
  }
  if (!map::only_moves(what)) {
    throw error(status::invalid_argument,
                "math changes elements, but tune only measures copies. Wanted: a problem without math");
  }
  // The choice of the decision list, without earlier findings, and the device of the pointers.
  const detail::plan_state listed(
      what, {.device = options.device, .threads = options.threads, .parallel = {}, .kernel = nullptr},
      detail::findings::ignore);
  const int device = listed.device_of_call(src, dst);
  const bool on_gpu = device >= 0;
  api::check_stream(device, stream);
  const gpu::device_guard guard(on_gpu ? device : -1);
  const running::gpu_variant* variant = on_gpu ? &listed.variant_for(device, src, dst) : nullptr;
  const int threads = base::threads_of_call(options.threads);
  tune_result result;
  result.machine = on_gpu ? gpu::info(device).name : kernels::this_machine().cpu_model;
  result.listed = on_gpu ? variant->chosen.row->name : listed.kernel();
  if (listed.empty()) return result;
  const std::string file = options.file.empty() ? api::tune_file_of_environment() : options.file;
  if (!file.empty()) api::check_tuned_file(file);

  // 1, 2
  std::unique_ptr<gpu::stopwatch> watch = on_gpu ? std::make_unique<gpu::stopwatch>() : nullptr;
  std::vector<candidate> all = candidates(what, variant, threads);
  double best = 1e300;
  double spent = 0;
  std::erase_if(all, [&](candidate& one) {
    try {
      static_cast<void>(seconds_of(*one.how, src, dst, stream, watch.get()));
      one.took.push_back(seconds_of(*one.how, src, dst, stream, watch.get()));
    } catch (const error& refused) {
      if (refused.code() != status::invalid_argument) throw;
      return true;  // it needs pointers with a larger alignment
    }
    best = std::min(best, one.took[0]);
    return false;
  });
  std::erase_if(all, [&](candidate& one) {  // one run alone may be one that another process delayed
    for (int again = 0; again < 2 && one.took[0] > max_slowdown * best; ++again)
      one.took[0] = std::min(one.took[0], seconds_of(*one.how, src, dst, stream, watch.get()));
    return one.took[0] > max_slowdown * best;
  });
  if (all.empty()) throw error(status::internal, "no row of kernels.inc accepts a problem that a plan accepts");

  // 3
  for (int round = 0; round < min_rounds || spent < options.seconds; ++round) {
    for (candidate& one : all) {
      one.took.push_back(seconds_of(*one.how, src, dst, stream, watch.get()));
      spent += std::max(one.took.back(), 1e-7);
    }
  }

  // 4
  for (const candidate& one : all) {
    result.trials.push_back(
        {one.how->kernel(), one.how->threads(), median(one.took), static_cast<int>(one.took.size())});
  }
  std::sort(result.trials.begin(), result.trials.end(),
            [](const tune_trial& a, const tune_trial& b) { return a.seconds < b.seconds; });
  const tune_trial& winner = result.trials[0];
  const api::tuned_row row = {kernels::find(winner.kernel)->name, winner.threads, winner.seconds};
  // Plans have no variant for such pointers.
  if (on_gpu && listed.alignment_of(src, dst) < variant->alignment) return result;
  const api::tuned_key key = on_gpu ? listed.key_on_gpu(device, variant->alignment) : listed.key_on_cpu(threads);
  api::remember_tuned(key, row);
  if (!file.empty()) api::write_tuned(file, key, row);
  result.file = file;
  return result;
}

}  // namespace

tune_result tune(const problem& what, const void* src, void* dst, const tune_options& options, void* stream) {
  return api::guarded([&] { return measured(what, src, dst, options, stream); });
}

int load_tuning(const std::string& file) {
  return api::guarded([&] { return api::read_tuned(file); });
}

void forget_tuning() { api::guarded(api::forget_tuned); }

}  // namespace cornerturn

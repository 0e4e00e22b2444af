#include <algorithm>

#include "device.hpp"
#include "harness.hpp"
#include "pattern.hpp"

namespace cornerturn::ladder {
namespace {

constexpr int warm_ups = 2;
constexpr std::size_t filler_bytes = 16 << 20;
constexpr std::uint32_t seed = 17;

// Returns the number of buffer pairs: their bytes are at least four times the cache. Rungs in place use half of them.
int pairs_for(std::int64_t bytes) {
  gpu_runtime::device_facts here;
  check(gpu_runtime::describe(&here));
  return static_cast<int>(std::clamp<std::int64_t>(4 * here.cache_bytes / (2 * bytes) + 1, 2, 64));
}

// A batched rung gets an equal number of bytes as matrices of 1024 x 1024.
matrix_shape shape_for(const launcher& rung, const matrix_shape& shape) {
  const std::int64_t one = 1024;
  if (!rung.is_batched || shape.batch != 1 || shape.rows * shape.cols % (one * one) != 0) return shape;
  return {one, one, shape.rows * shape.cols / (one * one)};
}

}  // namespace

void use_device(int ordinal) {
  int devices = 0;
  check(gpu_runtime::device_count(&devices));
  if (ordinal >= devices) {
    throw std::runtime_error("there is no GPU " + std::to_string(ordinal) + ", wanted 0 to " +
                             std::to_string(devices - 1));
  }
  check(gpu_runtime::select_device(ordinal));
}

std::vector<timing> time_rungs(const matrix_shape& shape, int word_bytes, int repetitions, std::string_view named) {
  const std::int64_t elements = shape.rows * shape.cols * shape.batch;
  const std::int64_t bytes = elements * word_bytes;
  const int pairs = pairs_for(bytes);
  std::vector<device_buffer> src, dst;
  for (int k = 0; k < pairs; ++k) {
    src.emplace_back(static_cast<std::size_t>(bytes));
    dst.emplace_back(static_cast<std::size_t>(bytes));
  }
  const device_buffer filler(filler_bytes);
  std::vector<timing> times;
  for (const launcher& rung : launchers()) {
    const matrix_shape its = shape_for(rung, shape);
    if (rung.word_bytes != word_bytes || !rung.takes(its) || !(rung.rung == roof_rung || is_named(rung.rung, named)))
      continue;
    for (int k = 0; k < pairs; ++k) fill(src[k].get(), elements, word_bytes, seed);
    timing result{rung.rung, word_bytes, its, {}};
    for (int run = 0; run < warm_ups + repetitions; ++run) {
      void* const from = src[run % pairs].get();
      void* const to = rung.is_in_place ? from : dst[run % pairs].get();
      device_event start, stop;
      check(gpu_runtime::occupy_queue(filler.get(), filler_bytes));
      start.record();
      check(rung.launch(from, to, its, nullptr));
      stop.record();
      if (const double time = stop.milliseconds_since(start); run >= warm_ups) result.milliseconds.push_back(time);
      const bool turned_once = !rung.is_in_place || run < pairs;
      if (run == 0 && turned_once && count_wrong(to, its, word_bytes, seed, rung.is_copy) != 0) {
        throw std::runtime_error(result.rung + " " + text_of(its) + ": wrong elements, so its time is invalid");
      }
    }
    std::ranges::sort(result.milliseconds);
    times.push_back(std::move(result));
  }
  return times;
}

timed_on this_device() {
  gpu_runtime::device_facts here;
  check(gpu_runtime::describe(&here));
  return {here.name, here.arch, 0, std::string("events, ") + gpu_runtime::cold_caches + ", median"};
}

}  // namespace cornerturn::ladder

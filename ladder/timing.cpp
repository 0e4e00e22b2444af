#include <algorithm>
#include <cstdio>
#include <ostream>

#include "device.hpp"
#include "harness.hpp"
#include "pattern.hpp"

namespace cornerturn::ladder {
namespace {

constexpr int warm_ups = 2;
constexpr std::uint32_t seed = 17;

// As many pairs of buffers as make their bytes at least four times L2.
int pairs_for(std::int64_t bytes) {
  int device = 0, l2 = 0;
  check(cudaGetDevice(&device));
  check(cudaDeviceGetAttribute(&l2, cudaDevAttrL2CacheSize, device));
  return static_cast<int>(std::clamp<std::int64_t>(4 * std::int64_t{l2} / (2 * bytes) + 1, 2, 64));
}

// A batched rung gets the same bytes as matrices of 1024 x 1024.
matrix_shape shape_for(const launcher& rung, const matrix_shape& shape) {
  const std::int64_t one = 1024;
  if (!rung.is_batched || shape.batch != 1 || shape.rows * shape.cols % (one * one) != 0) return shape;
  return {one, one, shape.rows * shape.cols / (one * one)};
}

}  // namespace

std::vector<timing> time_rungs(const matrix_shape& shape, int word_bytes, int repetitions) {
  const std::int64_t elements = shape.rows * shape.cols * shape.batch;
  const std::int64_t bytes = elements * word_bytes;
  const int pairs = pairs_for(bytes);
  std::vector<device_buffer> src, dst;
  for (int k = 0; k < pairs; ++k) {
    src.emplace_back(static_cast<std::size_t>(bytes));
    dst.emplace_back(static_cast<std::size_t>(bytes));
  }
  std::vector<timing> times;
  for (const launcher& rung : launchers()) {
    const matrix_shape its = shape_for(rung, shape);
    if (rung.word_bytes != word_bytes || !rung.takes(its)) continue;
    for (int k = 0; k < pairs; ++k) fill(src[k].get(), elements, word_bytes, seed);
    timing result{rung.rung, word_bytes, its, {}};
    for (int run = 0; run < warm_ups + repetitions; ++run) {
      void* const from = src[run % pairs].get();
      void* const to = rung.is_in_place ? from : dst[run % pairs].get();
      device_event start, stop;
      start.record();
      check(rung.launch(from, to, its, nullptr));
      stop.record();
      if (const double time = stop.milliseconds_since(start); run >= warm_ups) result.milliseconds.push_back(time);
      const bool turned_once = !rung.is_in_place || run < pairs;
      if (run == 0 && turned_once && count_wrong(to, its, word_bytes, seed, rung.is_copy) != 0) {
        throw std::runtime_error(result.rung + " " + text_of(its) + ": wrong elements, so its time means nothing");
      }
    }
    std::ranges::sort(result.milliseconds);
    times.push_back(std::move(result));
  }
  return times;
}

void print_table(std::ostream& out, const std::vector<timing>& times) {
  char line[160];
  double roof = 0;
  std::string block;
  for (const timing& one : times) {
    if (one.rung == "00_copy") {
      roof = one.gigabytes_per_second();
      std::snprintf(line, sizeof line, "\n%-22s %5s %16s %9s %7s %6s  %s\n", "rung", "bytes", "shape", "ms", "GB/s",
                    "copy %", "quartiles, GB/s");
      out << line;
    }
    const double speed = one.gigabytes_per_second();
    const std::size_t count = one.milliseconds.size();
    const auto at = [&](std::size_t k) { return speed * one.median() / one.milliseconds[k]; };
    std::snprintf(line, sizeof line, "%-22s %5d %16s %9.4f %7.0f %6.1f  %.0f - %.0f\n", one.rung.c_str(),
                  one.word_bytes, text_of(one.shape).c_str(), one.median(), speed, roof > 0 ? 100 * speed / roof : 0,
                  at(count - 1 - count / 4), at(count / 4));
    out << line;
  }
}

void write_json(std::ostream& out, const std::vector<timing>& times) {
  int device = 0;
  cudaDeviceProp properties{};
  check(cudaGetDevice(&device));
  check(cudaGetDeviceProperties(&properties, device));
  out << "{\"device\": \"" << properties.name << "\", \"sm\": " << properties.major * 10 + properties.minor
      << ", \"method\": \"events, cold L2, median\", \"rungs\": [";
  const char* separator = "\n";
  for (const timing& one : times) {
    out << separator << "  {\"rung\": \"" << one.rung << "\", \"element_bytes\": " << one.word_bytes
        << ", \"rows\": " << one.shape.rows << ", \"cols\": " << one.shape.cols << ", \"batch\": " << one.shape.batch
        << ", \"gigabytes_per_second\": " << one.gigabytes_per_second() << ", \"milliseconds\": [";
    for (std::size_t k = 0; k < one.milliseconds.size(); ++k) out << (k == 0 ? "" : ", ") << one.milliseconds[k];
    out << "]}";
    separator = ",\n";
  }
  out << "\n]}\n";
}

}  // namespace cornerturn::ladder

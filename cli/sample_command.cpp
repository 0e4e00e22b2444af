// `cornerturn make-sample`: writes the .npy files of the demo. The content does not depend on the number of threads.
//   matrix  rows x cols of float32: a smooth field and noise
//   cube    rows x cols x bands of uint16, interleaved by pixel as in satellite scenes: reflectance * 10000 of a
//           landscape with water, vegetation and bare rock, with a spectrum for each
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <cstring>
#include <vector>

#include "commands.hpp"
#include "cornerturn/system.hpp"
#include "npy.hpp"
#include "output_file.hpp"
#include "print.hpp"
#include "text.hpp"
#include "workers.hpp"

namespace cornerturn::cli {
namespace {

constexpr std::int64_t chunk_bytes = 4 << 20;
constexpr int octaves = 5;

// Steele, Lea, Flood: Fast splittable pseudorandom number generators (2014), the finaliser.
std::uint64_t hash(std::uint64_t x) {
  x += 0x9E3779B97F4A7C15ULL;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ULL;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBULL;
  return x ^ (x >> 31);
}

// A smooth field over the plane as a sum of separable waves, so that a row costs a few products per element.
class landscape {
 public:
  landscape(std::int64_t rows, std::int64_t cols) {
    for (int k = 0; k < octaves; ++k) {
      fill(row_[static_cast<std::size_t>(k)], rows, k, 0.7);
      fill(col_[static_cast<std::size_t>(k)], cols, k, 2.1);
    }
  }

  // Effect  heights of one row, each from about -1 to 1
  void row(std::int64_t y, std::vector<float>& heights) const {
    std::fill(heights.begin(), heights.end(), 0.0F);
    for (std::size_t k = 0; k < octaves; ++k) {
      const float weight = row_[k][static_cast<std::size_t>(y)] * (0.55F / static_cast<float>(k + 1));
      const std::vector<float>& wave = col_[k];
      for (std::size_t x = 0; x < heights.size(); ++x) heights[x] += weight * wave[x];
    }
  }

 private:
  static void fill(std::vector<float>& table, std::int64_t size, int octave, double phase) {
    table.resize(static_cast<std::size_t>(size));
    const double frequency = 6.2831853 * 1.7 * std::pow(2.17, octave) / 4096;
    for (std::size_t i = 0; i < table.size(); ++i) {
      const double wave = std::sin(frequency * static_cast<double>(i) + phase * (octave + 1));
      table[i] = static_cast<float>(wave);
    }
  }

  std::array<std::vector<float>, octaves> row_;
  std::array<std::vector<float>, octaves> col_;
};

void matrix_row(std::int64_t y, const std::vector<float>& heights, std::byte* out) {
  for (std::size_t x = 0; x < heights.size(); ++x) {
    const std::uint64_t bits = hash(static_cast<std::uint64_t>(y) * heights.size() + x);
    const float value = heights[x] + static_cast<float>(bits >> 40) * (0.01F / (1 << 24));
    std::memcpy(out + x * sizeof value, &value, sizeof value);
  }
}

// Reflectance * 10000 of water, vegetation and rock from blue (440 nm) to short-wave infrared (2200 nm). The shapes
// resemble field spectra: water gets darker, vegetation has the red edge, rock gets slowly brighter.
constexpr std::array<std::array<float, 12>, 3> spectra{{
    {900, 850, 700, 450, 300, 200, 150, 120, 100, 60, 30, 20},
    {250, 300, 700, 350, 1200, 3200, 4300, 4500, 4600, 4400, 2100, 1000},
    {900, 1000, 1300, 1600, 1800, 1950, 2100, 2200, 2250, 2400, 2900, 2700},
}};

void cube_row(std::int64_t y, std::int64_t bands, const std::vector<float>& heights, std::byte* out) {
  for (std::size_t x = 0; x < heights.size(); ++x) {
    const float height = heights[x];
    const float water = std::clamp((-0.15F - height) * 12, 0.0F, 1.0F);
    const float rock = (1 - water) * std::clamp((height - 0.25F) * 3, 0.0F, 1.0F);
    const float green = 1 - water - rock;
    const float light = 1 + 0.25F * height;
    std::uint64_t bits = hash(static_cast<std::uint64_t>(y) * heights.size() + x);
    for (std::int64_t band = 0; band < bands; ++band) {
      const auto b = static_cast<std::size_t>(band % 12);
      const float clean = light * (water * spectra[0][b] + green * spectra[1][b] + rock * spectra[2][b]);
      const auto noise = static_cast<float>(bits & 63);
      bits = bits >> 5 | bits << 59;
      const auto value = static_cast<std::uint16_t>(std::clamp(clean + noise, 0.0F, 10000.0F));
      std::memcpy(out, &value, sizeof value);
      out += sizeof value;
    }
  }
}

}  // namespace

int run_make_sample(const sample_options& options) {
  const bool cube = options.kind == "cube";
  npy_header header;
  header.descr = cube ? "'<u2'" : "'<f4'";
  header.itemsize = cube ? 2 : 4;
  header.shape = options.shape;
  if (header.shape.empty()) {
    header.shape = cube ? std::vector<std::int64_t>{4096, 4096, 12} : std::vector<std::int64_t>{16384, 16384};
  }
  if (header.shape.size() != (cube ? 3U : 2U)) {
    throw failure(fmt::format("--shape {}: wanted {}", shape_text(header.shape), cube ? "ROWSxCOLSxBANDS" : "RxC"),
                  exit_usage);
  }
  header.data_bytes = header.itemsize;
  for (const std::int64_t extent : header.shape) {
    if (extent < 1 || __builtin_mul_overflow(header.data_bytes, extent, &header.data_bytes)) {
      throw failure(fmt::format("--shape {}: wanted extents >= 1 and fewer than 2^63 bytes", shape_text(header.shape)),
                    exit_usage);
    }
  }
  const std::string front = npy_header_bytes(header);
  const auto data_offset = static_cast<std::int64_t>(front.size());
  output_file output(options.output, data_offset + header.data_bytes, {.sync = false});
  output.write_at(front, 0);

  const std::int64_t rows = header.shape[0];
  const std::int64_t row_bytes = header.data_bytes / rows;
  const std::int64_t chunk_rows = std::max<std::int64_t>(1, chunk_bytes / row_bytes);
  const landscape land(rows, header.shape[1]);
  const auto make_worker = [&]() -> worker {
    std::vector<float> heights(static_cast<std::size_t>(header.shape[1]));
    std::vector<std::byte> buffer(static_cast<std::size_t>(chunk_rows * row_bytes));
    return [&, heights, buffer](std::int64_t chunk) mutable {
      const std::int64_t first = chunk * chunk_rows, last = std::min(first + chunk_rows, rows);
      for (std::int64_t y = first; y < last; ++y) {
        land.row(y, heights);
        std::byte* const at = buffer.data() + (y - first) * row_bytes;
        if (cube) {
          cube_row(y, header.shape[2], heights, at);
        } else {
          matrix_row(y, heights, at);
        }
      }
      output.write_at(buffer.data(), static_cast<std::size_t>((last - first) * row_bytes),
                      data_offset + first * row_bytes);
    };
  };
  run_tasks(threads_for(0), (rows + chunk_rows - 1) / chunk_rows, make_worker, [] {});
  output.publish();
  print_safe("{} {}, {}, {}\n", options.output, shape_text(header.shape), npy_dtype_name(header),
             bytes_text(header.data_bytes));
  return exit_ok;
}

}  // namespace cornerturn::cli

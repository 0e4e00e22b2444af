// How fast elements change on the way, on a GPU: the share of the fastest copy that moves as many bytes in all,
// measured in the same process in turns; medians. Arrays are larger than L2, but for 512 x 512, which is timed in a
// graph. Some elements of each result are compared with kernels::apply. Where cuBLAS is found at run time, and a geam
// does the same, it takes part: CORNERTURN_CUBLAS names its file.
#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "../kernels/math_cases.hpp"
#include "bench/cuda/copies.hpp"
#include "cornerturn/transpose.hpp"
#include "device_clock.hpp"
#include "kernels/gpu/device.hpp"

namespace cornerturn::testing {
namespace {

constexpr element_type f16 = element_type::float16, bf16 = element_type::bfloat16, f32 = element_type::float32,
                       f64 = element_type::float64, c64 = element_type::complex64, c128 = element_type::complex128,
                       e4m3 = element_type::float8_e4m3;
constexpr std::size_t pattern_bytes = 16 << 20;

struct speed_case {
  const char* name;
  std::int64_t rows, cols;
  arithmetic math;
  std::int64_t odd = 0;  // elements that the leading dimensions are larger
  double least = 0.94;   // share
};

const speed_case cases[] = {
    {"f32, alpha and beta", 16384, 16384, {.src = f32, .dst = f32, .alpha = {2, 0}, .beta = {0.5, 0}}},
    {"f32, alpha", 16384, 16384, {.src = f32, .dst = f32, .alpha = {2, 0}}},
    {"f32, a second source",
     16384,
     16384,
     {.src = f32, .dst = f32, .alpha = {2, 0}, .beta = {0.5, 0}, .second = second_array::source}},
    {"f64, alpha and beta", 8192, 8192, {.src = f64, .dst = f64, .alpha = {2, 0}, .beta = {0.5, 0}}},
    {"complex64, alpha, beta, conj",
     8192,
     8192,
     {.src = c64, .dst = c64, .alpha = {2, 1}, .beta = {0.5, 0}, .conj = true}},
    {"complex128, alpha, beta", 8192, 4096, {.src = c128, .dst = c128, .alpha = {2, 1}, .beta = {0.5, 0}}},
    {"f32 to bf16", 16384, 16384, {.src = f32, .dst = bf16}},
    {"f32 to f16", 16384, 16384, {.src = f32, .dst = f16}},
    {"bf16 to e4m3", 16384, 16384, {.src = bf16, .dst = e4m3, .scaled = true}},
    {"f32 to e4m3", 16384, 16384, {.src = f32, .dst = e4m3, .scaled = true}},
    {"f64 to f32", 8192, 8192, {.src = f64, .dst = f32}},
    {"bf16 to f32", 16384, 16384, {.src = bf16, .dst = f32}},
    {"bf16 to e4m3 twice", 8192, 8192, {.src = bf16, .dst = e4m3, .scaled = true, .second = second_array::destination}},
    {"bf16 to e4m3 twice",
     16384,
     16384,
     {.src = bf16, .dst = e4m3, .scaled = true, .second = second_array::destination}},
    {"bf16, alpha and beta", 16384, 16384, {.src = bf16, .dst = bf16, .alpha = {2, 0}, .beta = {0.5, 0}}},
    {"f32, alpha, odd", 9999, 7001, {.src = f32, .dst = f32, .alpha = {2, 0}}, 0, 0.85},
    {"f32, alpha and beta, odd", 9999, 7001, {.src = f32, .dst = f32, .alpha = {2, 0}, .beta = {0.5, 0}}, 0, 0.85},
    {"f32, alpha, odd", 10007, 6997, {.src = f32, .dst = f32, .alpha = {2, 0}}, 0, 0.85},
    {"f32, alpha and beta, odd", 10007, 6997, {.src = f32, .dst = f32, .alpha = {2, 0}, .beta = {0.5, 0}}, 0, 0.85},
    {"f32, alpha, odd ld", 16384, 16384, {.src = f32, .dst = f32, .alpha = {2, 0}}, 3, 0.85},
    {"f32, alpha and beta, odd ld", 16384, 16384, {.src = f32, .dst = f32, .alpha = {2, 0}, .beta = {0.5, 0}}, 3, 0.85},
    {"f32, a second source, odd",
     9999,
     7001,
     {.src = f32, .dst = f32, .alpha = {2, 0}, .beta = {0.5, 0}, .second = second_array::source},
     0,
     0.85},
    {"f64, alpha, odd", 9999, 7001, {.src = f64, .dst = f64, .alpha = {2, 0}}, 0, 0.85},
    {"f64, alpha and beta, odd", 9999, 7001, {.src = f64, .dst = f64, .alpha = {2, 0}, .beta = {0.5, 0}}, 0, 0.85},
    {"complex64, alpha, odd", 9999, 7001, {.src = c64, .dst = c64, .alpha = {2, 1}, .conj = true}, 0, 0.85},
    {"complex64, alpha and beta, odd",
     9999,
     7001,
     {.src = c64, .dst = c64, .alpha = {2, 1}, .beta = {0.5, 0}},
     0,
     0.85},
    {"complex128, alpha, odd", 9999, 7001, {.src = c128, .dst = c128, .alpha = {2, 1}}, 0, 0.85},
    {"complex128, alpha and beta, odd",
     9999,
     7001,
     {.src = c128, .dst = c128, .alpha = {2, 1}, .beta = {0.5, 0}},
     0,
     0.85},
    {"bf16, alpha and beta, odd", 9999, 7001, {.src = bf16, .dst = bf16, .alpha = {2, 0}, .beta = {0.5, 0}}, 0, 0.8},
    {"bf16, alpha and beta, odd ld",
     16384,
     16384,
     {.src = bf16, .dst = bf16, .alpha = {2, 0}, .beta = {0.5, 0}},
     1,
     0.8},
    {"f32 to bf16, odd", 9999, 7001, {.src = f32, .dst = bf16}, 0, 0.8},
    {"f32 to bf16, odd ld", 16384, 16384, {.src = f32, .dst = bf16}, 3, 0.8},
    {"bf16 to e4m3, odd", 9999, 7001, {.src = bf16, .dst = e4m3, .scaled = true}, 0, 0.75},
    {"bf16 to e4m3, odd ld", 16384, 16384, {.src = bf16, .dst = e4m3, .scaled = true}, 1, 0.75},
    {"bf16 to e4m3 twice, odd ld",
     16384,
     16384,
     {.src = bf16, .dst = e4m3, .scaled = true, .second = second_array::destination},
     1,
     0.7},
    {"f32 to e4m3, odd", 9999, 7001, {.src = f32, .dst = e4m3, .scaled = true}, 0, 0.75},
    {"f64 to f32, odd", 9999, 7001, {.src = f64, .dst = f32}, 0, 0.8},
    {"bf16 to f32, odd", 9999, 7001, {.src = bf16, .dst = f32}, 0, 0.8},
};

// A second source has the strides of dst, a second destination the strides of src.
problem problem_of(const speed_case& one) {
  problem what = transpose_problem(one.rows, one.cols, bytes_of(one.math.src), one.cols + one.odd, one.rows + one.odd);
  what.math = one.math;
  for (int k = 0; k < what.rank && one.math.second != second_array::none; ++k) {
    axis& each = what.axes[k];
    each.second_stride = one.math.second == second_array::source ? each.dst_stride : each.src_stride;
  }
  return what;
}

// C = alpha op(A) + beta C, column-major: our row-major source of rows x cols is one of cols x rows, so op is A^T, or
// A^H, and C is rows x cols.
class cublas {
 public:
  cublas() {
    const char* const places[] = {std::getenv("CORNERTURN_CUBLAS"), "libcublas.so.13", "libcublas.so.12",
                                  "/usr/local/cuda/lib64/libcublas.so"};
    void* file = nullptr;
    for (const char* place : places) {
      if (place != nullptr && file == nullptr) file = dlopen(place, RTLD_NOW | RTLD_LOCAL);
    }
    if (file == nullptr) return;
    int (*create)(void**) = nullptr;
    find(file, "cublasCreate_v2", create);
    find(file, "cublasSetStream_v2", set_stream_);
    constexpr const char* names[] = {"cublasSgeam", "cublasDgeam", "cublasCgeam", "cublasZgeam"};
    for (int k = 0; k < 4; ++k) find(file, names[k], geam_[k]);
    if (create == nullptr || set_stream_ == nullptr || create(&handle_) != 0) handle_ = nullptr;
  }
  [[nodiscard]] bool does(const speed_case& one) const {
    return handle_ != nullptr && one.math.second == second_array::none && number_of(one.math) >= 0 &&
           geam_[number_of(one.math)] != nullptr;
  }
  void run(const speed_case& one, const operands& all, cudaStream_t on) const {
    const arithmetic& math = one.math;
    const float narrow[4] = {static_cast<float>(math.alpha.re), static_cast<float>(math.alpha.im),
                             static_cast<float>(math.beta.re), static_cast<float>(math.beta.im)};
    const double wide[4] = {math.alpha.re, math.alpha.im, math.beta.re, math.beta.im};
    const bool is_wide = math.src == f64 || math.src == c128;
    const void* const alpha = is_wide ? static_cast<const void*>(wide) : narrow;
    const void* const beta = is_wide ? static_cast<const void*>(wide + 2) : narrow + 2;
    const auto rows = static_cast<int>(one.rows), cols = static_cast<int>(one.cols);
    const int src_ld = cols + static_cast<int>(one.odd), dst_ld = rows + static_cast<int>(one.odd);
    int said = set_stream_(handle_, on);
    if (said == 0) {
      said = geam_[number_of(math)](handle_, math.conj ? 2 : 1, 0, rows, cols, alpha, all.src, src_ld, beta, all.dst,
                                    dst_ld, all.dst, dst_ld);
    }
    EXPECT_EQ(said, 0) << "cuBLAS geam";
  }

 private:
  static int number_of(const arithmetic& math) {
    constexpr element_type types[] = {f32, f64, c64, c128};
    const auto* const at = std::find(std::begin(types), std::end(types), math.src);
    return math.src == math.dst && at != std::end(types) ? static_cast<int>(at - types) : -1;
  }
  template <class Function>
  static void find(void* file, const char* name, Function& into) {
    into = reinterpret_cast<Function>(dlsym(file, name));
  }

  int (*set_stream_)(void*, cudaStream_t) = nullptr;
  int (*geam_[4])(void*, int, int, int, int, const void*, const void*, int, const void*, const void*, int, void*,
                  int) = {};
  void* handle_ = nullptr;
};

// Everything of one case on the device: src, and dst before, are a pattern again and again.
class speed_bench {
 public:
  explicit speed_bench(const problem& what) : what_(what), pattern_(pattern_bytes) {
    dice roll(71);
    fill_with(what.math.src, pattern_.data(), pattern_bytes, roll);
    src_.reserve(size(what.element_bytes, &axis::src_stride), true);
    dst_.reserve(size(bytes_of(what.math.dst), &axis::dst_stride), true);
    repeat(src_.get(), size(what.element_bytes, &axis::src_stride));
    repeat(dst_.get(), size(bytes_of(what.math.dst), &axis::dst_stride));
    all_.src = src_.get();
    all_.dst = dst_.get();
    if (what.math.second != second_array::none) {
      second_.reserve(size(bytes_of(what.math.dst), &axis::second_stride), true);
      repeat(second_.get(), size(bytes_of(what.math.dst), &axis::second_stride));
      (what.math.second == second_array::source ? all_.second = second_.get() : all_.second_dst = second_.get());
    }
    if (what.math.scaled) {
      scale_.reserve(sizeof(float));
      const float number = scale;
      EXPECT_CUDA(cudaMemcpy(scale_.get(), &number, sizeof number, cudaMemcpyHostToDevice));
      all_.scale = reinterpret_cast<const float*>(scale_.get());
    }
  }
  [[nodiscard]] const operands& all() const { return all_; }

  // After one execute on what the constructor made: elements that are wrong, of some.
  [[nodiscard]] int wrong() const {
    const kernels::op how = kernels::op_of(what_.math, what_.element_bytes);
    dice roll(72);
    int count = 0;
    kernels::visit(how, [&](auto src_type, auto dst_type, auto which) {
      using Src = typename decltype(src_type)::storage;
      using Dst = typename decltype(dst_type)::storage;
      for (int k = 0; k < 500; ++k) {
        std::int64_t from = 0, to = 0, other = 0;
        for (int a = 0; a < what_.rank; ++a) {
          const std::int64_t i = roll.below(what_.axes[a].extent);
          from += i * what_.axes[a].src_stride;
          to += i * what_.axes[a].dst_stride;
          other += i * what_.axes[a].second_stride;
        }
        const auto s = before<Src>(from);
        const auto second = before<Dst>(what_.math.second == second_array::source ? other : to);
        const Dst wanted = kernels::apply<which.value>(how, s, second, what_.math.scaled ? scale : 1.0F);
        count += differs(dst_.get() + to * static_cast<std::int64_t>(sizeof(Dst)), wanted);
        if (how.second == second_array::destination) {
          count += differs(second_.get() + other * static_cast<std::int64_t>(sizeof(Dst)), wanted);
        }
      }
    });
    return count;
  }

 private:
  static constexpr float scale = 0.75F;

  [[nodiscard]] std::size_t size(std::int64_t bytes, std::int64_t axis::*stride) const {
    std::int64_t last = 0;
    for (int k = 0; k < what_.rank; ++k) last += (what_.axes[k].extent - 1) * what_.axes[k].*stride;
    return static_cast<std::size_t>((last + 1) * bytes);
  }
  void repeat(std::byte* to, std::size_t bytes) const {
    for (std::size_t at = 0; at < bytes; at += pattern_bytes) {
      EXPECT_CUDA(cudaMemcpy(to + at, pattern_.data(), std::min(pattern_bytes, bytes - at), cudaMemcpyHostToDevice));
    }
  }
  template <class T>
  [[nodiscard]] T before(std::int64_t element) const {
    T value;
    std::memcpy(&value, pattern_.data() + static_cast<std::size_t>(element) * sizeof(T) % pattern_bytes, sizeof value);
    return value;
  }
  template <class T>
  static int differs(const std::byte* at, const T& wanted) {
    T found{};
    EXPECT_CUDA(cudaMemcpy(&found, at, sizeof found, cudaMemcpyDeviceToHost));
    return std::memcmp(&found, &wanted, sizeof found) == 0 ? 0 : 1;
  }

  problem what_;
  std::vector<std::byte> pattern_;
  device_memory src_, dst_, second_, scale_;
  operands all_;
};

class cuda_apply_speed : public ::testing::Test {
 protected:
  void SetUp() override {
    if (gpu::device_count() == 0) GTEST_SKIP() << gpu::why_none();
  }
};

TEST_F(cuda_apply_speed, is_near_a_copy_of_as_many_bytes) {
  const user_stream stream;
  timer clock;
  const cublas other;
  constexpr int rounds = 15;
  for (const speed_case& one : cases) {
    const problem what = problem_of(one);
    const plan how(what, {.device = device::cuda, .threads = 0, .parallel = {}, .kernel = nullptr});
    int wrong = 0;
    const std::size_t copies = bench::cuda::device_copies().size();
    std::vector<std::vector<double>> times(1 + copies + (other.does(one) ? 1 : 0));
    {
      speed_bench here(what);
      how.execute(here.all(), stream.get());
      EXPECT_CUDA(cudaStreamSynchronize(stream.get()));
      wrong = here.wrong();
      const std::int64_t half = how.bytes_moved() / 2 / 256 * 256;
      const device_memory from(static_cast<std::size_t>(half)), to(static_cast<std::size_t>(half));
      for (int round = -2; round < rounds; ++round) {
        for (std::size_t k = 0; k < times.size(); ++k) {
          const double took = clock.seconds(
              [&] {
                if (k == 0) return how.execute(here.all(), stream.get());
                if (k > copies) return other.run(one, here.all(), stream.get());
                bench::cuda::device_copies()[k - 1].enqueue(from.get(), to.get(), half, stream.get());
              },
              stream.get());
          if (round >= 0) times[k].push_back(took);
        }
      }
    }
    const double ours = median(times[0]);
    double copy = 1e9;
    for (std::size_t k = 1; k <= copies; ++k) copy = std::min(copy, median(times[k]));
    std::printf("%-30s %6lld x %-6lld %8.1f us %6.0f GB/s  copy %6.0f GB/s  share %.3f  %s\n", one.name,
                static_cast<long long>(one.rows), static_cast<long long>(one.cols), 1e6 * ours,
                1e-9 * static_cast<double>(how.bytes_moved()) / ours,
                1e-9 * static_cast<double>(how.bytes_moved()) / copy, copy / ours, how.kernel());
    if (other.does(one)) {
      const double theirs = median(times.back());
      std::printf("%-50s %8.1f us %6.0f GB/s %28s %.3f\n", "  cuBLAS geam", 1e6 * theirs,
                  1e-9 * static_cast<double>(how.bytes_moved()) / theirs, "share", copy / theirs);
      EXPECT_LE(ours, 1.02 * theirs) << one.name << ": no slower than cuBLAS, but for noise";
    }
    EXPECT_EQ(wrong, 0) << one.name;
    EXPECT_GE(copy / ours, one.least) << one.name;
  }
}

TEST_F(cuda_apply_speed, small_ones_in_a_graph) {
  constexpr int calls = 200;
  const user_stream stream;
  timer clock;
  const problem what = problem_of({"", 512, 512, {.src = f16, .dst = e4m3, .scaled = true}});
  for (const char* row : {static_cast<const char*>(nullptr), "gpu_apply_b2_b1_128x128_r8_xor", "gpu_apply_b2_any"}) {
    speed_bench here(what);
    const plan how(what, {.device = device::cuda, .threads = 0, .parallel = {}, .kernel = row});
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t ready = nullptr;
    ASSERT_CUDA(cudaStreamBeginCapture(stream.get(), cudaStreamCaptureModeThreadLocal));
    for (int k = 0; k < calls; ++k) how.execute(here.all(), stream.get());
    ASSERT_CUDA(cudaStreamEndCapture(stream.get(), &graph));
    ASSERT_CUDA(cudaGraphInstantiate(&ready, graph, 0));
    std::vector<double> times;
    for (int round = 0; round < 25; ++round) {
      const double took = clock.seconds([&] { EXPECT_CUDA(cudaGraphLaunch(ready, stream.get())); }, stream.get());
      if (round >= 4) times.push_back(took / calls);
    }
    EXPECT_EQ(here.wrong(), 0);
    std::printf("512 x 512 f16 to e4m3 in a graph: %.2f us each, %s\n", 1e6 * median(times), how.kernel());
    if (row == nullptr) {
      EXPECT_LE(median(times), 3.8e-6);
    }
    EXPECT_CUDA(cudaGraphExecDestroy(ready));
    EXPECT_CUDA(cudaGraphDestroy(graph));
  }
}

}  // namespace
}  // namespace cornerturn::testing

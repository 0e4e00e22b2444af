// Problems with math on a GPU, against the CPU's reference bit for bit; without a GPU every test says why it is
// skipped.
//
//   cuda_apply         rows of the list x the problems of math_cases.hpp x alignments; graphs; what is refused
//   cuda_conversions   every value of two bytes and some millions of four and eight, for each pair of types
#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <limits>
#include <map>

#include "../api/expect_error.hpp"
#include "../kernels/math_cases.hpp"
#include "api/check.hpp"
#include "cornerturn/error.hpp"
#include "cornerturn/transpose.hpp"
#include "device_bench.hpp"
#include "gpu_cases.hpp"
#include "kernels/gpu/apply/args.hpp"
#include "kernels/gpu/device.hpp"

namespace cornerturn::testing {
namespace {

#define SKIP_WITHOUT_GPU() \
  if (gpu::device_count() == 0) GTEST_SKIP() << gpu::why_none()

plan_options on_cuda(const char* kernel = nullptr) {
  return {.device = device::cuda, .threads = 0, .parallel = {}, .kernel = kernel};
}
plan_options by_reference() {
  return {.device = device::cpu, .threads = 1, .parallel = {}, .kernel = "cpu_apply_reference"};
}

// A copy of one of math_bench's arrays on the GPU, at the same distance from a multiple of 256.
class device_copy {
 public:
  std::byte* take(const math_bench::image& of) {
    of_ = of;
    const std::size_t shift = reinterpret_cast<std::uintptr_t>(of.begin) % 256;
    memory_.reserve(of.bytes + 256);
    begin_ = memory_.get() + shift;
    EXPECT_CUDA(cudaMemcpy(begin_, of.begin, of.bytes, cudaMemcpyHostToDevice));
    return begin_ + of.index_0;
  }
  void give_back() { EXPECT_CUDA(cudaMemcpy(of_.begin, begin_, of_.bytes, cudaMemcpyDeviceToHost)); }

 private:
  device_memory memory_;
  math_bench::image of_{};
  std::byte* begin_ = nullptr;
};

class cuda_apply : public ::testing::Test {
 protected:
  void SetUp() override { SKIP_WITHOUT_GPU(); }

  // False when it went wrong. Rows that cannot compute the problem are passed over.
  bool give(const problem& what, const char* row, const math_bench::placing& where, dice& roll) {
    math_bench bench(what, roll, where);
    operands all = bench.all();
    const operands host = all;
    all.src = src_.take(bench.src_image());
    all.dst = dst_.take(bench.dst_image());
    std::byte* const second = second_.take(bench.second_image());
    if (host.second != nullptr) all.second = second;
    if (host.second_dst != nullptr) all.second_dst = second;
    device_memory scale(sizeof(float));
    if (host.scale != nullptr) {
      EXPECT_CUDA(cudaMemcpy(scale.get(), host.scale, sizeof(float), cudaMemcpyHostToDevice));
      all.scale = reinterpret_cast<const float*>(scale.get());
    }
    try {
      const plan how(what, on_cuda(row));
      how.execute(all);
      EXPECT_CUDA(cudaDeviceSynchronize());
      dst_.give_back();
      second_.give_back();
      const std::string fault = bench.difference();
      EXPECT_EQ(fault, "") << to_text(what, what.math) << '\n' << how.explain();
      ++met_[how.kernel()];
      return fault.empty();
    } catch (const error& refused) {
      EXPECT_NE(row, nullptr) << refused.what() << ' ' << to_text(what, what.math);
      EXPECT_EQ(refused.code(), status::invalid_argument) << refused.what();
      return row != nullptr;
    }
  }

  device_copy src_, dst_, second_;
  std::map<std::string, int> met_;
};

// Along dst, or along src where src does not repeat elements; or as with_math() has left it.
problem with_second(problem what, dice& roll) {
  if (what.math.second == second_array::none || roll.one_in(4)) return what;
  problem other = what;
  const bool as_src = roll.one_in(2);
  for (int k = 0; k < what.rank; ++k) {
    other.axes[k].second_stride = as_src ? what.axes[k].src_stride : what.axes[k].dst_stride;
  }
  try {
    api::check(other);
    return other;
  } catch (const error&) {
    return what;
  }
}

// Arrays that begin at multiples of 16 bytes, of their elements, or anywhere.
math_bench::placing any_place(dice& roll, const problem& what) {
  const std::int64_t way = roll.below(3);
  if (way == 0) return {0, 0, 0};
  if (way == 1) return {roll.below(64), roll.below(64), roll.below(64)};
  const std::int64_t src = what.element_bytes;
  const std::int64_t dst = what.math.dst == element_type::bits ? src : bytes_of(what.math.dst);
  return {roll.below(33) * src, roll.below(33) * dst, roll.one_in(2) ? 0 : roll.below(33) * dst};
}

TEST_F(cuda_apply, every_pair_of_types_on_shapes_of_all_kinds) {
  const auto seed = static_cast<std::uint64_t>(environment("CORNERTURN_TEST_SEED", 51));
  const auto thin = environment("CORNERTURN_TEST_THIN", 1);
  dice roll(seed);
  int failures = 0;
  for (const type_pair& types : all_pairs()) {
    for (std::int64_t k = 0; k < 60 / thin && failures < 4; ++k) {
      constexpr std::int64_t sizes[] = {1, 2, 4, 8, 16};
      const std::int64_t bits = roll.of(sizes);
      const std::int64_t rows = 1 + roll.below(400), cols = 1 + roll.below(400);
      const problem shape = roll.one_in(2)   ? padded(rows, cols, 4, 16)
                            : roll.one_in(2) ? matrix(rows, cols, 4, roll.below(100))
                            : roll.one_in(2) ? any_permutation(roll, 4, 60000)
                            : roll.one_in(2) ? any_view(roll, 4, 30000)
                                             : any_strides(roll, 4, 30000);
      const problem what = with_second(with_math(shape, any_math(roll, types), bits, roll), roll);
      const math_bench::placing where = any_place(roll, what);
      failures += !give(what, nullptr, where, roll);
      for (const kernels::kernel& row : kernels::all()) {
        const bool takes_any_size =
            row.kind == kernels::row_kind::arithmetic && row.launch != nullptr && row.tile_rows == 0;
        if (takes_any_size && row.element_bytes == what.element_bytes) failures += !give(what, row.name, where, roll);
      }
    }
  }
  for (const kernels::kernel& row : kernels::all()) {
    if (thin > 1 || row.kind != kernels::row_kind::arithmetic || row.launch == nullptr || row.tile_rows != 0) continue;
    EXPECT_GT(met_[row.name], 0) << row.name;
  }
  std::printf("seed %llu\n", static_cast<unsigned long long>(seed));
}

TEST_F(cuda_apply, every_row_round_its_tile) {
  dice roll(52);
  const auto thin = environment("CORNERTURN_TEST_THIN", 1);
  const auto pairs = all_pairs();
  std::int64_t met = 0;
  int failures = 0;
  for (const kernels::kernel& row : kernels::all()) {
    if (row.launch == nullptr || row.kind != kernels::row_kind::arithmetic || row.tile_rows == 0) continue;
    for (const type_pair& types : pairs) {
      const std::int64_t bytes = types.src == element_type::bits ? row.element_bytes : bytes_of(types.src);
      if (bytes != row.element_bytes || failures >= 4) continue;
      for_each_edge_of(row, bytes, roll, [&](const problem& shape) {
        if (++met % thin != 0) return;
        const problem what = with_second(with_math(shape, any_math(roll, types), bytes, roll), roll);
        const bool shifted = kernels::is_variant(row, "_unaligned");
        failures += !give(what, row.name, shifted ? any_place(roll, what) : math_bench::placing{0, 0, 0}, roll);
      });
    }
    if (thin == 1) {
      EXPECT_GT(met_[row.name], 0) << row.name;
    }
  }
  for (const auto& [name, count] : met_) std::printf("%-36s %6d\n", name.c_str(), count);
}

TEST_F(cuda_apply, a_graph_reads_the_scale_when_it_is_replayed) {
  problem what = transpose_problem(512, 512, 2);
  what.math = {.src = element_type::float16, .dst = element_type::float8_e4m3, .scaled = true};
  dice roll(53);
  std::vector<std::byte> src(512 * 512 * 2), wanted(512 * 512), found(512 * 512);
  fill_with(what.math.src, src.data(), src.size(), roll);
  device_memory from(src.size()), to(wanted.size()), number(sizeof(float));
  ASSERT_CUDA(cudaMemcpy(from.get(), src.data(), src.size(), cudaMemcpyHostToDevice));
  operands all, host;
  all.src = from.get();
  all.dst = to.get();
  all.scale = reinterpret_cast<const float*>(number.get());
  const plan how(what, on_cuda()), reference(what, by_reference());
  const user_stream stream;
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t ready = nullptr;
  ASSERT_CUDA(cudaStreamBeginCapture(stream.get(), cudaStreamCaptureModeGlobal));
  ASSERT_NO_THROW(how.execute(all, stream.get()));
  ASSERT_CUDA(cudaStreamEndCapture(stream.get(), &graph));
  std::size_t nodes = 0;
  ASSERT_CUDA(cudaGraphGetNodes(graph, nullptr, &nodes));
  EXPECT_EQ(nodes, 1U);
  ASSERT_CUDA(cudaGraphInstantiate(&ready, graph, 0));
  for (const float scale : {1.0F, 0.25F, 37.5F}) {
    host.src = src.data();
    host.dst = wanted.data();
    host.scale = &scale;
    reference.execute(host);
    ASSERT_CUDA(cudaMemcpyAsync(number.get(), &scale, sizeof scale, cudaMemcpyHostToDevice, stream.get()));
    ASSERT_CUDA(cudaGraphLaunch(ready, stream.get()));
    ASSERT_CUDA(cudaMemcpyAsync(found.data(), to.get(), found.size(), cudaMemcpyDeviceToHost, stream.get()));
    ASSERT_CUDA(cudaStreamSynchronize(stream.get()));
    EXPECT_EQ(wanted, found) << scale;
  }
  EXPECT_CUDA(cudaGraphExecDestroy(ready));
  EXPECT_CUDA(cudaGraphDestroy(graph));
}

TEST_F(cuda_apply, arrays_that_the_gpu_cannot_reach_are_refused) {
  problem what = transpose_problem(64, 64, 4);
  what.math = {.src = element_type::float32, .dst = element_type::float8_e4m3, .scaled = true};
  device_memory memory(1 << 16);
  const float scale = 1;
  operands all;
  all.src = memory.get();
  all.dst = memory.get() + (1 << 15);
  all.scale = &scale;
  expect_error(status::invalid_argument, {"scale is host memory", "runs on GPU"}, [&] { plan(what).execute(all); });
  all.scale = nullptr;
  what.math = {
      .src = element_type::float32, .dst = element_type::float32, .beta = {1, 0}, .second = second_array::source};
  for (int k = 0; k < 2; ++k) what.axes[k].second_stride = what.axes[k].dst_stride;
  std::vector<std::byte> pageable(64 * 64 * 4);
  all.second = pageable.data();
  expect_error(status::invalid_argument, {"second is host memory", "runs on GPU"}, [&] { plan(what).execute(all); });
}

// ---- conversions ----------------------------------------------------------------------------------------------------

// Two-byte types: all values. Wider floats: every sign and exponent with mantissas at, just below and just
// above the middle between two neighbours of each narrower type, and some by dice.
std::vector<std::byte> values_of(element_type type, dice& roll) {
  std::vector<std::byte> all;
  const auto add = [&](const auto& bits) {
    const auto* const from = reinterpret_cast<const std::byte*>(&bits);
    all.insert(all.end(), from, from + sizeof bits);
  };
  const std::int64_t bytes = bytes_of(type);
  if (bytes <= 2) {
    for (int k = 0; k < 65536; ++k) bytes == 1 ? add(static_cast<std::uint8_t>(k)) : add(static_cast<std::uint16_t>(k));
  } else if (type == element_type::float32) {
    for (std::uint32_t top = 0; top < 512; ++top) {
      for (std::uint32_t k = 0; k < 2048; ++k) {  // 11 bits of mantissa, and the values round their middle
        for (const std::uint32_t low : {0u, 1u, 0x7ffu, 0x800u, 0x801u, 0xfffu}) add(top << 23 | k << 12 | low);
      }
    }
  } else if (type == element_type::float64) {
    for (std::uint64_t top = 0; top < 4096; ++top) {
      for (std::uint64_t k = 0; k < 64; ++k) {
        const auto mantissa = static_cast<std::uint64_t>(roll.below(1 << 23)) << 29;
        for (const std::uint64_t low : {0ull, 1ull, 0xfffffffull, 0x10000000ull, 0x10000001ull, 0x1fffffffull}) {
          add(top << 52 | (k < 4 ? k << 50 : mantissa) | low);
        }
      }
    }
  } else {
    for (int k = 0; k < 1 << 18; ++k) {
      std::uint64_t bits =
          static_cast<std::uint64_t>(roll.below(1 << 30)) << 34 ^ static_cast<std::uint64_t>(roll.below(1 << 30)) << 15;
      if (roll.one_in(2)) bits = static_cast<std::uint64_t>(static_cast<std::int64_t>(bits) >> roll.below(64));
      bytes == 4 ? add(static_cast<std::uint32_t>(bits)) : add(bits);
    }
  }
  return all;
}

class cuda_conversions : public ::testing::TestWithParam<int> {};

TEST_P(cuda_conversions, have_the_bits_of_the_reference) {
  SKIP_WITHOUT_GPU();
  const type_pair types = all_pairs()[static_cast<std::size_t>(GetParam())];
  dice roll(61);
  const std::vector<std::byte> values = values_of(types.src, roll);
  const std::int64_t src_bytes = bytes_of(types.src), dst_bytes = bytes_of(types.dst);
  const std::int64_t count = static_cast<std::int64_t>(values.size()) / src_bytes / 64 * 64;
  const auto dst_size = static_cast<std::size_t>(count * dst_bytes);
  const std::string prefix = "gpu_apply_b" + std::to_string(src_bytes);
  // Rows that compute element by element refuse matrices that fill a tile.
  const std::pair<std::int64_t, std::vector<std::string>> shapes[] = {
      {64, {"", prefix + "_b" + std::to_string(dst_bytes) + "_unaligned", prefix + "_any"}},
      {8, {prefix + "_element", prefix + "_single"}}};
  std::vector<std::byte> wanted(dst_size), found(dst_size);
  device_memory from(values.size()), to(dst_size), number(sizeof(float));
  ASSERT_CUDA(cudaMemcpy(from.get(), values.data(), values.size(), cudaMemcpyHostToDevice));
  const bool is_float8 = types.dst == element_type::float8_e4m3 || types.dst == element_type::float8_e5m2;
  const bool is_integer = types.src >= element_type::int8;
  for (const double alpha : {1.0, -0.7}) {
    if (is_integer && alpha != 1.0) continue;
    for (const bool saturate : {true, false}) {
      const arithmetic math = {
          .src = types.src, .dst = types.dst, .alpha = {alpha, 0}, .saturate = saturate, .scaled = is_float8};
      const float scale = 1.5F;
      operands all, host;
      host.src = values.data();
      host.dst = wanted.data();
      all.src = from.get();
      all.dst = to.get();
      if (is_float8) {
        ASSERT_CUDA(cudaMemcpy(number.get(), &scale, sizeof scale, cudaMemcpyHostToDevice));
        host.scale = &scale;
        all.scale = reinterpret_cast<const float*>(number.get());
      }
      for (const auto& [rows, kernels_of_shape] : shapes) {
        const std::int64_t cols = count / rows;
        problem what = transpose_problem(rows, cols, src_bytes);
        what.math = math;
        if (map::only_moves(what)) continue;
        plan(what, by_reference()).execute(host);
        for (const std::string& row : kernels_of_shape) {
          const bool is_joined = row.ends_with("_element");
          if (!row.empty() && kernels::find(row) == nullptr) continue;
          if (is_joined && gpu::joined_elements(static_cast<int>(src_bytes), static_cast<int>(dst_bytes)) == 1)
            continue;
          const plan how(what, on_cuda(row.empty() ? nullptr : row.c_str()));
          ASSERT_CUDA(cudaMemset(to.get(), 0x5a, dst_size));
          how.execute(all);
          ASSERT_CUDA(cudaMemcpy(found.data(), to.get(), dst_size, cudaMemcpyDeviceToHost));
          std::int64_t wrong = 0, first = -1;
          for (std::int64_t k = 0; k < count; ++k) {
            if (std::memcmp(&found[k * dst_bytes], &wanted[k * dst_bytes], static_cast<std::size_t>(dst_bytes)) == 0)
              continue;
            if (++wrong == 1) first = k;
          }
          if (wrong == 0) continue;
          const auto bits = [](const std::byte* at, std::int64_t size) {
            std::uint64_t value = 0;
            std::memcpy(&value, at, static_cast<std::size_t>(size));
            return value;
          };
          const std::int64_t source = first % rows * cols + first / rows;
          ADD_FAILURE() << how.kernel() << ", " << name(types.src) << " to " << name(types.dst) << ", alpha " << alpha
                        << (saturate ? ", saturating: " : ": ") << wrong << " of " << count << " are wrong; 0x"
                        << std::hex << bits(&values[source * src_bytes], src_bytes) << " became 0x"
                        << bits(&found[first * dst_bytes], dst_bytes) << ", wanted 0x"
                        << bits(&wanted[first * dst_bytes], dst_bytes);
        }
      }
    }
  }
}

std::vector<int> numbers_of_conversions() {
  std::vector<int> some;
  const auto pairs = all_pairs();
  for (std::size_t k = 0; k < pairs.size(); ++k) {
    const bool is_complex = pairs[k].src == element_type::complex64 || pairs[k].src == element_type::complex128;
    const bool has_alpha = pairs[k].src >= element_type::float16 && pairs[k].src <= element_type::float64;
    if (!is_complex && (pairs[k].src != pairs[k].dst || has_alpha)) some.push_back(static_cast<int>(k));
  }
  return some;
}

INSTANTIATE_TEST_SUITE_P(pairs, cuda_conversions, ::testing::ValuesIn(numbers_of_conversions()), [](const auto& one) {
  const type_pair types = all_pairs()[static_cast<std::size_t>(one.param)];
  return std::string(name(types.src)) + "_to_" + name(types.dst);
});

}  // namespace
}  // namespace cornerturn::testing

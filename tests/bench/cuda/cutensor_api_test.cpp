// The parts of the cuTENSOR peer that need no GPU: a case in cuTENSOR's terms, and the reasons for an absent library.
#include "bench/cuda/cutensor_api.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>

namespace cornerturn::bench::cuda {
namespace {

using longs = std::vector<std::int64_t>;
using names = std::vector<std::int32_t>;

std::optional<tensor_permutation> described(const bench_case& one) {
  return tensor_permutation_of(full_view(one), one.shift);
}

// The offset of an element in an array, by the indices of the named axes.
std::int64_t offset_in(const tensor_axes& array, const longs& index) {
  std::int64_t offset = 0;
  for (std::size_t k = 0; k < array.names.size(); ++k) {
    offset += index[static_cast<std::size_t>(array.names[k])] * array.strides[k];
  }
  return offset;
}

TEST(cutensor_case, a_matrix_has_two_modes_innermost_first) {
  const auto made = described({"plain", 4, {30, 70}, {1, 0}, false, false, ""});
  ASSERT_TRUE(made);
  EXPECT_EQ(made->type, tensor_type::float32);
  // Mode 0 is the outer axis of dst: the columns of src.
  EXPECT_EQ(made->src.names, (names{0, 1}));
  EXPECT_EQ(made->src.extents, (longs{70, 30}));
  EXPECT_EQ(made->src.strides, (longs{1, 70}));
  EXPECT_EQ(made->dst.names, (names{1, 0}));
  EXPECT_EQ(made->dst.extents, (longs{30, 70}));
  EXPECT_EQ(made->dst.strides, (longs{1, 30}));
}

TEST(cutensor_case, every_element_has_the_addresses_of_the_case) {
  const bench_case cases[] = {
      {"rank_n", 8, {3, 4, 5, 6}, {2, 0, 3, 1}, false, false, ""},
      {"rank_n", 2, {4, 1, 5, 3}, {3, 1, 2, 0}, false, false, ""},  // an extent of 1 has no mode
      {"rank_n", 16, {3, 4, 5}, {2, 0, 1}, false, false, ""},       // axes 0 and 1 fold to one mode
      {"odd", 4, {9, 7}, {1, 0}, false, false, "", {1, 3}, {}},
      {"batched", 4, {5, 9, 7}, {0, 2, 1}, false, false, "", {1, 3}, {16, 32}},
  };
  for (const bench_case& one : cases) {
    SCOPED_TRACE(one.name());
    const auto made = described(one);
    ASSERT_TRUE(made);
    const view flat = folded(full_view(one));
    ASSERT_EQ(made->src.names.size(), flat.axes.size());
    ASSERT_EQ(made->dst.names.size(), flat.axes.size());
    std::int64_t elements = 1;
    for (const tensor_axes* array : {&made->src, &made->dst}) {
      for (std::size_t k = 0; k < flat.axes.size(); ++k) {
        EXPECT_EQ(array->extents[k], flat.axes[static_cast<std::size_t>(array->names[k])].extent);
        EXPECT_TRUE(k == 0 || array->strides[k - 1] < array->strides[k]);
      }
    }
    for (const view_axis& axis : flat.axes) elements *= axis.extent;
    EXPECT_EQ(elements * one.element_bytes, one.bytes());
    for (std::int64_t i = 0; i < elements; ++i) {
      longs index(flat.axes.size());
      std::int64_t rest = i, src = 0, dst = 0;
      for (std::size_t k = index.size(); k-- > 0;) {
        index[k] = rest % flat.axes[k].extent;
        rest /= flat.axes[k].extent;
        src += index[k] * flat.axes[k].src_stride;
        dst += index[k] * flat.axes[k].dst_stride;
      }
      ASSERT_EQ(offset_in(made->src, index), src);
      ASSERT_EQ(offset_in(made->dst, index), dst);
    }
  }
}

TEST(cutensor_case, element_sizes_have_the_types_of_cuda) {
  const auto type = [](std::int64_t bytes) {
    return static_cast<int>(described({"plain", bytes, {30, 70}, {1, 0}, false, false, ""})->type);
  };
  EXPECT_EQ(type(2), 2);   // CUDA_R_16F
  EXPECT_EQ(type(4), 0);   // CUDA_R_32F
  EXPECT_EQ(type(8), 1);   // CUDA_R_64F
  EXPECT_EQ(type(16), 5);  // CUDA_C_64F
  for (const std::int64_t bytes : {1, 3, 6, 12, 24, 32}) {
    EXPECT_FALSE(described({"plain", bytes, {30, 70}, {1, 0}, false, false, ""})) << bytes;
  }
}

TEST(cutensor_case, alignment_is_that_of_the_addresses) {
  const auto alignments = [](std::int64_t src, std::int64_t dst) {
    const auto made = described({"odd", 4, {30, 70}, {1, 0}, false, false, "", {}, {}, {src, dst}});
    return made ? std::pair{made->src.alignment, made->dst.alignment} : std::pair{0U, 0U};
  };
  EXPECT_EQ(alignments(0, 0), (std::pair{256U, 256U}));
  EXPECT_EQ(alignments(4, 0), (std::pair{4U, 256U}));
  EXPECT_EQ(alignments(512, 48), (std::pair{256U, 16U}));
  EXPECT_EQ(alignments(2, 0), (std::pair{0U, 0U})) << "no multiple of an element";
  EXPECT_EQ(alignments(0, 6), (std::pair{0U, 0U}));
}

TEST(cutensor_case, views_without_a_description_are_declined) {
  const view_axis outer{5, 1, 7}, inner{7, 5, 1};
  ASSERT_TRUE(tensor_permutation_of({4, {outer, inner}}, {}));
  EXPECT_FALSE(tensor_permutation_of({4, {{5, -1, 7}, inner}}, {}));
  EXPECT_FALSE(tensor_permutation_of({4, {outer, {7, 5, -1}}}, {}));
  EXPECT_FALSE(tensor_permutation_of({4, {{5, 0, 7}, inner}}, {}));
  EXPECT_FALSE(tensor_permutation_of({4, {{0, 1, 7}, inner}}, {}));
  EXPECT_FALSE(tensor_permutation_of({4, {{1, 1, 1}}}, {})) << "a single element";
}

TEST(cutensor_scalar, is_one_in_each_type) {
  const auto read = [](int type, auto value) {
    const auto bytes = one_in(type);
    EXPECT_TRUE(bytes) << type;
    if (bytes) std::memcpy(&value, bytes->data(), sizeof value);
    return value;
  };
  EXPECT_EQ(read(0, 0.0F), 1.0F);
  EXPECT_EQ(read(1, 0.0), 1.0);
  EXPECT_EQ(read(2, std::uint16_t{0}), 0x3c00);
  EXPECT_EQ(read(4, std::array<float, 2>{}), (std::array{1.0F, 0.0F}));
  EXPECT_EQ(read(5, std::array<double, 2>{}), (std::array{1.0, 0.0}));
  EXPECT_FALSE(one_in(3));
}

TEST(cutensor_file, absence_has_a_reason) {
  const cutensor_api missing = open_cutensor("/nonexistent/libcutensor.so.2");
  EXPECT_EQ(missing.create, nullptr);
  EXPECT_NE(missing.absence.find("/nonexistent/libcutensor.so.2"), std::string::npos) << missing.absence;
  EXPECT_NE(missing.absence.find("CORNERTURN_CUTENSOR"), std::string::npos) << missing.absence;
  const cutensor_api another = open_cutensor("libm.so.6");
  EXPECT_NE(another.absence.find("libm.so.6 has no symbol cutensorCreate"), std::string::npos) << another.absence;
}

// With the library, all symbols are there; without it, the reason names the variable.
TEST(cutensor_file, is_whole_or_absent) {
  const cutensor_api found = open_cutensor(std::getenv("CORNERTURN_CUTENSOR"));
  if (!found.absence.empty()) {
    EXPECT_NE(found.absence.find("CORNERTURN_CUTENSOR"), std::string::npos) << found.absence;
    return;
  }
  EXPECT_EQ(found.version().substr(0, 2), "2.");
  EXPECT_NE(found.float32_arithmetic, nullptr);
  EXPECT_NE(found.float64_arithmetic, nullptr);
  EXPECT_NE(found.sentence("cutensorCreate", cutensor_api::not_supported).find("NOT_SUPPORTED"), std::string::npos);
}

}  // namespace
}  // namespace cornerturn::bench::cuda

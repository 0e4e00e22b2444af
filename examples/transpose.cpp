// One call per transpose: a packed matrix, and a block of a larger matrix through its leading dimension.
#include <cornerturn/cornerturn.hpp>
#include <cstdint>
#include <cstdio>
#include <vector>

namespace {

void print(const char* title, const std::vector<float>& values, std::int64_t rows, std::int64_t cols) {
  std::printf("%s\n", title);
  for (std::int64_t i = 0; i < rows; ++i) {
    for (std::int64_t j = 0; j < cols; ++j) std::printf("%5.0f", values[i * cols + j]);
    std::printf("\n");
  }
}

}  // namespace

int main() {
  const std::int64_t rows = 3;
  const std::int64_t cols = 5;
  std::vector<float> src(rows * cols);
  for (std::int64_t i = 0; i < rows; ++i) {
    for (std::int64_t j = 0; j < cols; ++j) src[i * cols + j] = static_cast<float>(10 * i + j);
  }

  std::vector<float> dst(rows * cols);
  cornerturn::transpose(src.data(), dst.data(), rows, cols);
  print("src, 3 x 5", src, rows, cols);
  print("dst, 5 x 3", dst, cols, rows);

  // The 2 x 3 block at row 1, column 2 of src has the leading dimension cols = 5.
  std::vector<float> block(3 * 2);
  cornerturn::transpose(src.data() + 1 * cols + 2, /*src_ld=*/cols, block.data(), /*dst_ld=*/0, 2, 3);
  print("the block of rows 1-2 and columns 2-4, transposed", block, 3, 2);

  bool right = true;
  for (std::int64_t i = 0; i < rows; ++i) {
    for (std::int64_t j = 0; j < cols; ++j) right = right && dst[j * rows + i] == src[i * cols + j];
  }
  for (std::int64_t i = 0; i < 2; ++i) {
    for (std::int64_t j = 0; j < 3; ++j) right = right && block[j * 2 + i] == src[(i + 1) * cols + j + 2];
  }
  return right ? 0 : 1;
}

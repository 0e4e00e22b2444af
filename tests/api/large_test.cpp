// Offsets beyond 2^31 and 2^32: each element is compared with the formula that made it, not with a stored copy.
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <fstream>
#include <limits>
#include <string>

#include "cornerturn/plan.hpp"

namespace cornerturn {
namespace {

std::int64_t available_bytes() {
  std::ifstream info("/proc/meminfo");
  std::string key;
  std::int64_t kib = 0;
  while (info >> key >> kib) {
    if (key == "MemAvailable:") return kib << 10;
    info.ignore(std::numeric_limits<std::streamsize>::max(), '\n');
  }
  return 0;
}

class memory {
 public:
  explicit memory(std::int64_t bytes) : bytes_(static_cast<std::size_t>(bytes)) {
    void* at = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (at != MAP_FAILED) data_ = static_cast<std::uint8_t*>(at);
  }
  memory(const memory&) = delete;
  memory& operator=(const memory&) = delete;
  ~memory() {
    if (data_ != nullptr) munmap(data_, bytes_);
  }
  [[nodiscard]] std::uint8_t* data() const { return data_; }

 private:
  std::size_t bytes_;
  std::uint8_t* data_ = nullptr;
};

// Changes with every bit of the row and of the column; neighbours differ.
std::uint32_t element(std::uint32_t row, std::uint32_t col) {
  const std::uint32_t x = row * 2654435761u ^ (col * 2246822519u + 374761393u);
  return x ^ (x >> 15) ^ (x >> 23);
}

template <class T>
void turn(std::int64_t rows, std::int64_t cols) {
  const std::int64_t bytes = rows * cols * static_cast<std::int64_t>(sizeof(T));
  ASSERT_GT(bytes, std::int64_t{1} << 31);
  if (available_bytes() < 2 * bytes + (std::int64_t{2} << 30))
    GTEST_SKIP() << "wants " << (2 * bytes >> 30) + 2 << " GiB of memory";
  const memory src_memory(bytes), dst_memory(bytes);
  ASSERT_TRUE(src_memory.data() != nullptr && dst_memory.data() != nullptr);
  T* const src = reinterpret_cast<T*>(src_memory.data());
  const T* const dst = reinterpret_cast<const T*>(dst_memory.data());
#pragma omp parallel for
  for (std::int64_t i = 0; i < rows; ++i) {
    for (std::int64_t j = 0; j < cols; ++j)
      src[i * cols + j] = static_cast<T>(element(static_cast<std::uint32_t>(i), static_cast<std::uint32_t>(j)));
  }
  const plan how(transpose_problem(rows, cols, sizeof(T)));
  how.execute(src, dst_memory.data());
  std::int64_t wrong = 0;
#pragma omp parallel for reduction(+ : wrong)
  for (std::int64_t j = 0; j < cols; ++j) {
    for (std::int64_t i = 0; i < rows; ++i)
      wrong +=
          dst[j * rows + i] != static_cast<T>(element(static_cast<std::uint32_t>(i), static_cast<std::uint32_t>(j)));
  }
  EXPECT_EQ(wrong, 0) << how.explain();
}

template <class T>
void turn_in_place(std::int64_t rows, std::int64_t cols) {
  const std::int64_t bytes = rows * cols * static_cast<std::int64_t>(sizeof(T));
  ASSERT_GT(bytes, std::int64_t{1} << 31);
  const std::int64_t wanted = bytes + bytes / 8 + (std::int64_t{1} << 30);
  if (available_bytes() < wanted) GTEST_SKIP() << "wants " << (wanted >> 30) << " GiB of memory";
  const memory all(bytes);
  ASSERT_NE(all.data(), nullptr);
  T* const data = reinterpret_cast<T*>(all.data());
#pragma omp parallel for
  for (std::int64_t i = 0; i < rows; ++i) {
    for (std::int64_t j = 0; j < cols; ++j)
      data[i * cols + j] = static_cast<T>(element(static_cast<std::uint32_t>(i), static_cast<std::uint32_t>(j)));
  }
  problem what = transpose_problem(rows, cols, sizeof(T));
  what.in_place = true;
  const plan how(what);
  EXPECT_LE(how.workspace_bytes(), bytes / 18);
  how.execute(data, data);
  std::int64_t wrong = 0;
#pragma omp parallel for reduction(+ : wrong)
  for (std::int64_t j = 0; j < cols; ++j) {
    for (std::int64_t i = 0; i < rows; ++i)
      wrong +=
          data[j * rows + i] != static_cast<T>(element(static_cast<std::uint32_t>(i), static_cast<std::uint32_t>(j)));
  }
  EXPECT_EQ(wrong, 0) << how.explain();
}

TEST(large, more_than_2_to_the_31_elements) { turn<std::uint8_t>(50021, 50023); }
TEST(large, more_than_2_to_the_32_elements) { turn<std::uint8_t>(3, 1500000001); }
TEST(large, more_than_2_to_the_32_elements_in_few_columns) { turn<std::uint8_t>(1500000001, 3); }
TEST(large, more_than_2_to_the_32_bytes) { turn<std::uint32_t>(33013, 33023); }
TEST(large, in_place_more_than_2_to_the_31_elements) { turn_in_place<std::uint8_t>(50021, 50021); }
TEST(large, in_place_rectangle_of_more_than_2_to_the_31_elements) { turn_in_place<std::uint8_t>(50021, 50023); }
TEST(large, in_place_rectangle_of_more_than_2_to_the_32_elements) { turn_in_place<std::uint8_t>(3, 1500000000); }
TEST(large, in_place_rectangle_of_more_than_2_to_the_32_bytes) { turn_in_place<std::uint32_t>(40000, 30000); }

}  // namespace
}  // namespace cornerturn

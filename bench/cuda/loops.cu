// Kernels of ten lines, as a user writes them: the textbook tile of 32 x 33 elements in shared memory, and one element a thread.
// They are peers of cases that stay in L2, where no library is far ahead of them.
#include <algorithm>

#include "bench/baselines/baselines.hpp"
#include "bench/cuda/call.hpp"
#include "bench/cuda/contender.hpp"

namespace cornerturn::bench::cuda {

namespace {

constexpr int tile = 32, tile_rows = 8, most_axes = 8, threads_of_elements = 256;
constexpr std::int64_t int_most = 2147483647;

struct word24 {  // no vector type has 24 bytes
  std::uint64_t a, b, c;
};

template <class Word>
__global__ void tile_kernel(const Word* src, Word* dst, int rows, int cols, int src_ld, int dst_ld,
                            std::int64_t src_batch, std::int64_t dst_batch) {
  __shared__ Word held[tile][tile + 1];
  src += blockIdx.z * src_batch;
  dst += blockIdx.z * dst_batch;
  const int x = static_cast<int>(blockIdx.x * tile + threadIdx.x),
            y = static_cast<int>(blockIdx.y * tile + threadIdx.y);
  for (int k = 0; k < tile; k += tile_rows) {
    if (x < cols && y + k < rows) held[threadIdx.y + k][threadIdx.x] = src[std::int64_t{y + k} * src_ld + x];
  }
  __syncthreads();  // the loads of `held` below follow all stores above
  const int row = static_cast<int>(blockIdx.y * tile + threadIdx.x),
            col = static_cast<int>(blockIdx.x * tile + threadIdx.y);
  for (int k = 0; k < tile; k += tile_rows) {
    if (row < rows && col + k < cols) dst[std::int64_t{col + k} * dst_ld + row] = held[threadIdx.x][threadIdx.y + k];
  }
}

struct element_axes {  // the last one is the innermost of dst
  int rank = 0;
  unsigned extent[most_axes];
  std::int64_t src_stride[most_axes], dst_stride[most_axes];
};

template <class Word>
__global__ void element_kernel(const Word* src, Word* dst, const element_axes axes, unsigned elements) {
  unsigned rest = blockIdx.x * threads_of_elements + threadIdx.x;
  if (rest >= elements) return;
  std::int64_t from = 0, to = 0;
  for (int k = axes.rank - 1; k >= 0; --k) {
    const unsigned index = rest % axes.extent[k];
    rest /= axes.extent[k];
    from += index * axes.src_stride[k];
    to += index * axes.dst_stride[k];
  }
  dst[to] = src[from];
}

// Calls body(Word{}) with a type of this size. False: there is none.
template <class Body>
bool with_word(std::int64_t bytes, const Body& body) {
  switch (bytes) {
    case 1:
      return body(std::uint8_t{}), true;
    case 2:
      return body(std::uint16_t{}), true;
    case 3:
      return body(uchar3{}), true;
    case 4:
      return body(std::uint32_t{}), true;
    case 6:
      return body(ushort3{}), true;
    case 8:
      return body(std::uint64_t{}), true;
    case 12:
      return body(uint3{}), true;
    case 16:
      return body(uint4{}), true;
    case 24:
      return body(word24{}), true;
    default:
      return false;
  }
}

class tile_runner final : public device_runner {
 public:
  tile_runner(const matrix_loop& what, std::int64_t bytes) : what_(what), bytes_(bytes) {}
  void enqueue(const std::byte* src, std::byte* dst, cudaStream_t on) override {
    const view_axis batch = what_.batch.empty() ? view_axis{1, 0, 0} : what_.batch.front();
    const dim3 grid(static_cast<unsigned>((what_.cols + tile - 1) / tile),
                    static_cast<unsigned>((what_.rows + tile - 1) / tile), static_cast<unsigned>(batch.extent));
    with_word(bytes_, [&](auto word) {
      using Word = decltype(word);
      tile_kernel<Word><<<grid, dim3(tile, tile_rows), 0, on>>>(
          reinterpret_cast<const Word*>(src), reinterpret_cast<Word*>(dst), static_cast<int>(what_.rows),
          static_cast<int>(what_.cols), static_cast<int>(what_.src_ld), static_cast<int>(what_.dst_ld),
          batch.src_stride, batch.dst_stride);
    });
    must(cudaGetLastError(), "textbook tile");
  }

 private:
  matrix_loop what_;
  std::int64_t bytes_;
};

class element_runner final : public device_runner {
 public:
  element_runner(const element_axes& axes, unsigned elements, std::int64_t bytes)
      : axes_(axes), elements_(elements), bytes_(bytes) {}
  void enqueue(const std::byte* src, std::byte* dst, cudaStream_t on) override {
    const unsigned blocks = (elements_ + threads_of_elements - 1) / threads_of_elements;
    with_word(bytes_, [&](auto word) {
      using Word = decltype(word);
      element_kernel<Word><<<blocks, threads_of_elements, 0, on>>>(reinterpret_cast<const Word*>(src),
                                                                   reinterpret_cast<Word*>(dst), axes_, elements_);
    });
    must(cudaGetLastError(), "one element a thread");
  }

 private:
  element_axes axes_;
  unsigned elements_;
  std::int64_t bytes_;
};

bool is_word(std::int64_t bytes) {
  return with_word(bytes, [](auto) {});
}

}  // namespace

std::unique_ptr<device_runner> textbook_tile(const bench_case& what) {
  matrix_loop loop;
  if (!is_word(what.element_bytes) || !matrix_loop::from(full_view(what), loop)) return nullptr;
  const bool fits = std::max({loop.rows, loop.cols, loop.src_ld, loop.dst_ld}) < int_most - tile;
  if (!fits || loop.batch.size() > 1 || (loop.rows + tile - 1) / tile > 65535) return nullptr;
  if (!loop.batch.empty() && loop.batch.front().extent > 65535) return nullptr;
  return std::make_unique<tile_runner>(loop, what.element_bytes);
}

std::unique_ptr<device_runner> element_a_thread(const bench_case& what) {
  const view flat = folded(full_view(what));
  if (!is_word(what.element_bytes) || flat.axes.size() > most_axes || flat.elements() > int_most) return nullptr;
  element_axes axes;
  for (const view_axis& axis : flat.axes) {
    axes.extent[axes.rank] = static_cast<unsigned>(axis.extent);
    axes.src_stride[axes.rank] = axis.src_stride;
    axes.dst_stride[axes.rank] = axis.dst_stride;
    ++axes.rank;
  }
  return std::make_unique<element_runner>(axes, static_cast<unsigned>(flat.elements()), what.element_bytes);
}

}  // namespace cornerturn::bench::cuda

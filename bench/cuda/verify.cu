// One thread checks each place in the span of dst:
//   1. it computes the indices of the place by division by the strides of dst
//   2. if an index exceeds its extent, the place is padding and must hold the poison
//   3. otherwise the place must hold its element of src
#include <algorithm>

#include "bench/cuda/call.hpp"
#include "bench/cuda/fill.hpp"
#include "bench/cuda/verify.hpp"

namespace cornerturn::bench::cuda {

namespace {

constexpr int most_axes = 18;

template <class Place>
struct walk {
  int rank = 0;
  Place span = 1;
  Place extent[most_axes];
  Place dst_stride[most_axes];
  std::int64_t src_stride[most_axes];
};

__device__ void note(unsigned long long* lowest, unsigned long long place) {
  if (place < *static_cast<volatile unsigned long long*>(lowest)) atomicMin(lowest, place);
}

template <class Word>
__device__ bool same(const Word& a, const Word& b) {
  return a == b;
}
template <>
__device__ bool same(const uint4& a, const uint4& b) {
  return a.x == b.x && a.y == b.y && a.z == b.z && a.w == b.w;
}

template <class Word, class Place>
__global__ void compare_places(const walk<Place> way, const Word* src, const Word* dst, finding* into) {
  const std::int64_t linear = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (linear >= static_cast<std::int64_t>(way.span)) return;
  const Place place = static_cast<Place>(linear);
  Place rest = place;
  std::int64_t from = 0;
  bool inside = true;
  for (int k = 0; k < way.rank; ++k) {  // 1
    const Place index = rest / way.dst_stride[k];
    rest -= index * way.dst_stride[k];
    inside &= index < way.extent[k];
    from += static_cast<std::int64_t>(index) * way.src_stride[k];
  }
  const unsigned long long at = static_cast<unsigned long long>(place) * sizeof(Word);
  if (inside && rest == 0) {  // 3
    if (!same(dst[place], src[from])) note(&into->element, at);
    return;
  }
  const auto* bytes = reinterpret_cast<const unsigned char*>(dst + place);  // 2
  for (int i = 0; i < static_cast<int>(sizeof(Word)); ++i) {
    if (bytes[i] != poison_byte) note(&into->outside, at + static_cast<unsigned long long>(i + device_guard_bytes));
  }
}

__global__ void compare_guards(const unsigned char* dst, std::int64_t bytes, finding* into) {
  const std::int64_t i = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i >= device_guard_bytes) return;
  if (dst[i - device_guard_bytes] != poison_byte) note(&into->outside, static_cast<unsigned long long>(i));
  if (dst[bytes + i] != poison_byte) {
    note(&into->outside, static_cast<unsigned long long>(bytes + i + device_guard_bytes));
  }
}

template <class Word, class Place>
void start(const view& what, const std::byte* src, const std::byte* dst, std::int64_t span, finding* into,
           cudaStream_t on) {
  walk<Place> way;
  for (const view_axis& axis : what.axes) {
    way.extent[way.rank] = static_cast<Place>(axis.extent);
    way.dst_stride[way.rank] = static_cast<Place>(axis.dst_stride);
    way.src_stride[way.rank] = axis.src_stride;
    ++way.rank;
  }
  way.span = static_cast<Place>(span);
  compare_places<Word, Place><<<static_cast<unsigned>((span + 255) / 256), 256, 0, on>>>(
      way, reinterpret_cast<const Word*>(src), reinterpret_cast<const Word*>(dst), into);
  must(cudaGetLastError(), "compare");
}

template <class Word>
void start(const view& what, const std::byte* src, const std::byte* dst, std::int64_t span, finding* into,
           cudaStream_t on) {
  if (span < std::int64_t{1} << 32) {
    start<Word, std::uint32_t>(what, src, dst, span, into, on);
  } else {
    start<Word, std::uint64_t>(what, src, dst, span, into, on);
  }
}

// The view in words of a power of two. If an element has several words, they are one more axis.
view in_words(const view& what) {
  std::int64_t word = 16;
  while (what.element_bytes % word != 0) word /= 2;
  const std::int64_t words = what.element_bytes / word;
  view flat = folded(what);
  flat.element_bytes = word;
  for (view_axis& axis : flat.axes) axis = {axis.extent, axis.src_stride * words, axis.dst_stride * words};
  if (words > 1) flat.axes.push_back({words, 1, 1});
  return flat;
}

}  // namespace

void compare(const view& what, const std::byte* src, const std::byte* dst, finding* into, cudaStream_t on) {
  const view flat = in_words(what);
  if (flat.axes.size() > most_axes) throw std::invalid_argument("compare: too many axes");
  std::int64_t span = 1;
  for (const view_axis& axis : flat.axes) span += (axis.extent - 1) * axis.dst_stride;
  switch (flat.element_bytes) {
    case 1:
      start<std::uint8_t>(flat, src, dst, span, into, on);
      break;
    case 2:
      start<std::uint16_t>(flat, src, dst, span, into, on);
      break;
    case 4:
      start<std::uint32_t>(flat, src, dst, span, into, on);
      break;
    case 8:
      start<std::uint64_t>(flat, src, dst, span, into, on);
      break;
    default:
      start<uint4>(flat, src, dst, span, into, on);
      break;
  }
  compare_guards<<<static_cast<unsigned>(device_guard_bytes / 256), 256, 0, on>>>(
      reinterpret_cast<const unsigned char*>(dst), span * flat.element_bytes, into);
  must(cudaGetLastError(), "compare");
}

std::string sentence(const finding& found) {
  if (found.element != finding::none) return "the element at byte " + std::to_string(found.element) + " of dst differs";
  if (found.source != finding::none) return "src was written, at byte " + std::to_string(found.source);
  if (found.outside == finding::none) return "";
  const auto at = static_cast<std::int64_t>(found.outside) - device_guard_bytes;
  return "byte " + std::to_string(at) + " of dst, which is no element's, was written";
}

}  // namespace cornerturn::bench::cuda

// A plan for a batch: converts pictures with interleaved channels (height, width, channel) to planes (channel, height,
// width). The example makes one plan, prints its explanation and executes it on many buffers.
#include <array>
#include <cornerturn/cornerturn.hpp>
#include <cstdint>
#include <cstdio>
#include <vector>

int main() {
  const std::int64_t pictures = 8;
  const std::int64_t height = 120;
  const std::int64_t width = 160;
  const std::int64_t channels = 3;
  const std::int64_t elements = height * width * channels;

  const std::array<std::int64_t, 3> extents{height, width, channels};
  const std::array<int, 3> axes{2, 0, 1};  // axis k of dst is axis axes[k] of src
  const cornerturn::problem one = cornerturn::permute_problem(extents, axes, sizeof(std::uint8_t));
  const cornerturn::plan plan(cornerturn::batched(one, pictures, elements, elements));
  std::printf("%s\n", plan.explain().c_str());

  std::vector<std::uint8_t> src(pictures * elements);
  std::vector<std::uint8_t> dst(src.size());
  for (int frame = 0; frame < 3; ++frame) {
    for (std::size_t i = 0; i < src.size(); ++i) src[i] = static_cast<std::uint8_t>((i * 2654435761U + frame) >> 7);
    plan.execute(src.data(), dst.data());
    for (std::int64_t p = 0; p < pictures; ++p) {
      for (std::int64_t pixel = 0; pixel < height * width; ++pixel) {
        for (std::int64_t c = 0; c < channels; ++c) {
          const std::uint8_t want = src[p * elements + pixel * channels + c];
          const std::uint8_t got = dst[p * elements + c * height * width + pixel];
          if (got != want) {
            std::printf("frame %d differs\n", frame);
            return 1;
          }
        }
      }
    }
  }
  std::printf("permuted 3 batches of %d pictures with one plan; every element is correct\n",
              static_cast<int>(pictures));
  return 0;
}

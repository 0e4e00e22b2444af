#include <ostream>

#include "cases.hpp"
#include "device.hpp"
#include "harness.hpp"
#include "pattern.hpp"

namespace cornerturn::ladder {
namespace {

constexpr std::int64_t guard_bytes = 1024;
constexpr unsigned char guard = 0xc3, poison = 0xa5;
constexpr std::int64_t most_elements = std::int64_t{3} << 20;

struct arena {  // one matrix with guards, the largest of the list
  device_buffer memory{static_cast<std::size_t>(most_elements * 8 + 2 * guard_bytes)};
  [[nodiscard]] unsigned char* matrix() const { return memory.bytes() + guard_bytes; }
};

std::string fault_of(const launcher& rung, const matrix_shape& shape, const arena& src, const arena& dst) {
  const std::int64_t elements = shape.rows * shape.cols * shape.batch;
  const std::int64_t bytes = elements * rung.word_bytes;
  const arena& target = rung.is_in_place ? src : dst;
  const int passes = rung.word_bytes == 1 ? 4 : rung.word_bytes == 2 ? 2 : 1;
  for (int pass = 0; pass < passes; ++pass) {
    const auto seed = static_cast<std::uint32_t>(pass * 7919 + 1);
    check(gpu_runtime::set_bytes(dst.memory.get(), poison, static_cast<std::size_t>(bytes + 2 * guard_bytes)));
    check(gpu_runtime::set_bytes(target.matrix() - guard_bytes, guard, guard_bytes));
    check(gpu_runtime::set_bytes(target.matrix() + bytes, guard, guard_bytes));
    fill(src.matrix(), elements, rung.word_bytes, seed);
    check(rung.launch(src.matrix(), target.matrix(), shape, nullptr));
    check(gpu_runtime::synchronize());
    const std::int64_t wrong = count_wrong(target.matrix(), shape, rung.word_bytes, seed, rung.is_copy);
    if (wrong != 0) return std::to_string(wrong) + " of " + std::to_string(elements) + " elements are wrong";
    const std::int64_t touched = count_changed(target.matrix() - guard_bytes, guard_bytes, guard) +
                                 count_changed(target.matrix() + bytes, guard_bytes, guard);
    if (touched != 0) return std::to_string(touched) + " bytes outside dst are written";
  }
  return {};
}

}  // namespace

int check_rungs(std::ostream& out) {
  const arena src, dst;
  int checked = 0, failures = 0;
  for (const launcher& rung : launchers()) {
    for (const matrix_shape& shape : cases) {
      if (!rung.takes(shape)) continue;
      ++checked;
      const std::string fault = fault_of(rung, shape, src, dst);
      if (fault.empty()) continue;
      ++failures;
      out << rung.rung << " b" << rung.word_bytes << ' ' << text_of(shape) << ": " << fault << '\n';
    }
  }
  out << checked << " cases, " << failures << " failures\n";
  return failures;
}

}  // namespace cornerturn::ladder

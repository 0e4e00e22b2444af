// Bank conflicts of shared memory, which has 32 banks of 4 bytes. The one counter: the model, and every offer that predicts conflicts.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

namespace cornerturn::map {

// The bytes that all banks serve at once.
inline constexpr int bank_row_bytes = 128;

// The cells that a lane's accesses are counted in: its bytes, aligned, and no less than a bank. So many lanes are served at once.
[[nodiscard]] constexpr int bank_cell_bytes(std::int64_t lane_bytes) noexcept {
  return static_cast<int>(std::max<std::int64_t>(lane_bytes, 4));
}
[[nodiscard]] constexpr int lanes_at_once(std::int64_t lane_bytes) noexcept {
  return bank_row_bytes / bank_cell_bytes(lane_bytes);
}

// Counts the wavefronts of one load or store by lanes that are served at once. Lanes of one cell share its wavefront. Lanes of
// different cells in one bank are served one after another. A cell of 8 or 16 bytes has adjacent banks, and two cells share all of
// their banks or none.
template <class Number = std::int64_t>
class bank_counter {
 public:
  // cells: that all banks hold, 32, 16 or 8
  explicit bank_counter(int cells) noexcept : last_(static_cast<Number>(cells - 1)) {}

  // Effect  adds the access of a lane to a cell. A cell's number is its address divided by the bytes of a cell
  // Returns the wavefronts of all lanes so far
  int add(Number cell) noexcept {
    const auto bank = static_cast<std::size_t>(cell & last_);
    const auto begin = seen_[bank].begin(), end = begin + depth_[bank];
    if (std::find(begin, end, cell) != end) return most_;
    *end = cell;
    return most_ = std::max<int>(most_, ++depth_[bank]);
  }
  [[nodiscard]] int wavefronts() const noexcept { return most_; }

 private:
  Number last_;
  int most_ = 0;
  std::array<std::uint8_t, 32> depth_{};  // different cells of each bank
  std::array<std::array<Number, 32>, 32> seen_;
};

}  // namespace cornerturn::map

// Random problems with math, their memory, and its expected contents. kernels::apply computes the expected elements;
// element_test.cpp tests it. The definition of a problem gives their addresses.
#pragma once

#include <cstring>
#include <string>
#include <vector>

#include "api/apply.hpp"
#include "cases.hpp"
#include "kernels/element.hpp"
#include "oracle.hpp"

namespace cornerturn::testing {

inline constexpr element_type all_types[] = {
    element_type::bits,        element_type::float16,   element_type::bfloat16,   element_type::float32,
    element_type::float64,     element_type::complex64, element_type::complex128, element_type::float8_e4m3,
    element_type::float8_e5m2, element_type::int8,      element_type::int16,      element_type::int32,
    element_type::int64,       element_type::uint8,     element_type::uint16,     element_type::uint32,
    element_type::uint64};

struct type_pair {
  element_type src, dst;
};

inline std::vector<type_pair> all_pairs() {
  std::vector<type_pair> all;
  for (const element_type src : all_types) {
    for (const element_type dst : all_types) {
      if (kernels::pair_exists(src, dst)) all.push_back({src, dst});
    }
  }
  return all;
}

// Math of two types that check() accepts and that changes elements.
inline arithmetic any_math(dice& roll, type_pair types) {
  const bool is_complex = types.src == element_type::complex64 || types.src == element_type::complex128;
  const bool small_dst = types.dst == element_type::float8_e4m3 || types.dst == element_type::float8_e5m2;
  const bool has_alpha = types.src >= element_type::float16 && types.src <= element_type::complex128;
  constexpr double numbers[] = {0, 1, 1, 2, -1, 0.5, -3.25, 1e-3, 1.1, 1e30};
  arithmetic math{.src = types.src, .dst = types.dst};
  const auto any_scalar = [&] { return scalar{roll.of(numbers), is_complex && roll.one_in(2) ? roll.of(numbers) : 0}; };
  if (has_alpha && !roll.one_in(4)) math.alpha = any_scalar();
  if (has_alpha && !small_dst && roll.one_in(2)) math.beta = any_scalar();
  math.conj = is_complex && roll.one_in(2);
  math.saturate = roll.one_in(2);
  math.scaled = small_dst && types.src != types.dst;
  if (math.beta == scalar{}) {
    if (roll.one_in(3)) math.second = second_array::destination;
  } else if (roll.one_in(2)) {
    math.second = second_array::source;
  }
  problem trial;
  trial.math = math;
  if (map::only_moves(trial)) math.second = second_array::destination;
  return math;
}

// The shape with that math, and with strides for a second array if there is one.
inline problem with_math(problem what, const arithmetic& math, std::int64_t bits_bytes, dice& roll) {
  what.math = math;
  what.element_bytes = math.src == element_type::bits ? bits_bytes : bytes_of(math.src);
  if (math.second == second_array::none) return what;
  // Strides of dst, or of a packed array with its axes in any order. For an array that is only read, some strides are
  // zero.
  const bool as_dst = roll.one_in(3);
  std::array<int, max_rank> order{};
  std::iota(order.begin(), order.begin() + what.rank, 0);
  for (int k = what.rank - 1; k > 0 && roll.one_in(2); --k) std::swap(order[k], order[roll.below(k + 1)]);
  std::int64_t next = roll.one_in(6) ? 3 : 1;
  for (int k = what.rank - 1; k >= 0; --k) {
    axis& one = what.axes[order[k]];
    one.second_stride = as_dst ? one.dst_stride : roll.one_in(8) ? -next : next;
    next = next * std::max<std::int64_t>(one.extent, 1) + (roll.one_in(6) ? 5 : 0);
    if (math.second == second_array::source && roll.one_in(8)) one.second_stride = 0;
  }
  return what;
}

inline std::string to_text(const problem& what, const arithmetic& math) {
  std::string text = to_text(what) + ", second strides";
  for (int k = 0; k < what.rank; ++k) text += ' ' + std::to_string(what.axes[k].second_stride);
  return text + ", " + api::text_of(math);
}

// Calls visit(src, dst, second), in elements.
template <class Visit>
void walk_with_second(const problem& what, const Visit& visit) {
  problem other = what;
  for (int k = 0; k < what.rank; ++k) other.axes[k].src_stride = what.axes[k].second_stride;
  std::vector<std::int64_t> second;
  walk(other, [&](std::int64_t s, std::int64_t) { second.push_back(s); });
  std::size_t at = 0;
  walk(what, [&](std::int64_t s, std::int64_t d) { visit(s, d, second[at++]); });
}

// Random bits, and sometimes numbers near one.
inline void fill_with(element_type type, std::byte* to, std::size_t bytes, dice& roll) {
  std::memcpy(to, pattern(bytes + 64) + roll.below(64), bytes);
  const auto step = static_cast<std::size_t>(std::max<std::int64_t>(bytes_of(type), 1));
  for (std::size_t k = 0; k + step <= bytes; k += step) {
    if (roll.one_in(3)) continue;
    const auto number = static_cast<float>(roll.below(4000) - 2000) / 64;
    const auto put = [&](const auto& value) { std::memcpy(to + k, &value, sizeof value); };
    if (type == element_type::float16) put(kernels::narrow<kernels::float16>(number, false));
    if (type == element_type::bfloat16) put(kernels::narrow<kernels::bfloat16>(number, false));
    if (type == element_type::float32) put(number);
    if (type == element_type::float64) put(static_cast<double>(number));
    if (type == element_type::complex64) put(kernels::complex_of<float>{number, number / 3});
    if (type == element_type::complex128) put(kernels::complex_of<double>{number, number / 3});
  }
}

// The memory of one side, with guards around it, filled with random bytes.
class guarded {
 public:
  guarded(element_type type, byte_range range, std::int64_t misalignment, dice& roll)
      : range_(range), begin_(256 + static_cast<std::size_t>(misalignment)), bytes_(begin_ + range.size() + 256) {
    memory_ = lines(bytes_);
    std::memset(memory_.get(), static_cast<int>(poison), bytes_);
    fill_with(type, memory_.get() + begin_, range.size(), roll);
  }
  guarded(const guarded& other) : range_(other.range_), begin_(other.begin_), bytes_(other.bytes_) {
    memory_ = lines(bytes_);
    std::memcpy(memory_.get(), other.memory_.get(), bytes_);
  }
  void copy_from(const guarded& other) { std::memcpy(memory_.get(), other.memory_.get(), bytes_); }
  [[nodiscard]] std::byte* data() const { return memory_.get() + begin_ - range_.lo; }  // the element of index 0
  [[nodiscard]] std::byte* memory() const { return memory_.get(); }
  [[nodiscard]] std::size_t bytes() const { return bytes_; }
  [[nodiscard]] std::string difference(const guarded& wanted, const char* name) const {
    for (std::size_t k = 0; k < bytes_; ++k) {
      if (memory_.get()[k] == wanted.memory_.get()[k]) continue;
      const auto place = static_cast<std::int64_t>(k) - static_cast<std::int64_t>(begin_) + range_.lo;
      return "byte " + std::to_string(place) + " of " + name + " is " +
             std::to_string(static_cast<int>(memory_.get()[k])) + ", wanted " +
             std::to_string(static_cast<int>(wanted.memory_.get()[k]));
    }
    return "";
  }

 private:
  byte_range range_;
  std::size_t begin_;
  std::size_t bytes_;
  heap_memory memory_;
};

// All memory of one problem with math.
class math_bench {
 public:
  // The offset of the lowest byte of each array from a multiple of 64; -1 is any offset. src is next to a page that
  // faults.
  struct placing {
    std::int64_t src = -1;
    std::int64_t dst = -1;
    std::int64_t second = -1;
  };

  math_bench(const problem& what, dice& roll) : math_bench(what, roll, placing{}) {}
  math_bench(const problem& what, dice& roll, const placing& where)
      : what_(what),
        how_(kernels::op_of(what.math, what.element_bytes)),
        dst_bytes_(what.math.dst == element_type::bits ? what.element_bytes : bytes_of(what.math.dst)),
        scale_(static_cast<float>(roll.below(64) + 1) / 16),
        src_range_(range_in(what, what.element_bytes, &axis::src_stride)),
        dst_(what.math.dst, range_in(what, dst_bytes_, &axis::dst_stride), where.dst < 0 ? roll.below(64) : where.dst,
             roll),
        second_(what.math.dst, range_in(what, dst_bytes_, &axis::second_stride),
                where.second < 0 ? roll.below(64) : where.second, roll),
        dst_before_(dst_),
        second_before_(second_),
        wanted_(dst_),
        wanted_second_(second_) {
    static walled fence;
    const std::size_t bytes = src_range_.size();
    if (where.src >= 0) {
      src_ = fence.behind_wall(bytes + static_cast<std::size_t>(where.src)) + where.src;
    } else {
      src_ = roll.one_in(2) ? fence.before_wall(bytes) : fence.behind_wall(bytes);
    }
    fill_with(what.math.src, src_, bytes, roll);
    expect();
  }

  [[nodiscard]] operands all() {
    operands those;
    those.src = src_ - src_range_.lo;
    those.dst = dst_.data();
    if (what_.math.second == second_array::source) those.second = second_.data();
    if (what_.math.second == second_array::destination) those.second_dst = second_.data();
    if (what_.math.scaled) those.scale = &scale_;
    return those;
  }

  // For code that computes in a copy of the arrays, and copies dst and the second array back.
  struct image {
    std::byte* begin;
    std::size_t bytes;
    std::ptrdiff_t index_0;  // from begin
  };
  [[nodiscard]] image src_image() const { return {src_, src_range_.size(), -src_range_.lo}; }
  [[nodiscard]] image dst_image() const { return {dst_.memory(), dst_.bytes(), dst_.data() - dst_.memory()}; }
  [[nodiscard]] image second_image() const {
    return {second_.memory(), second_.bytes(), second_.data() - second_.memory()};
  }

  // The arguments of a kernel.
  [[nodiscard]] kernels::arrays arrays(const map::canonical& form) {
    kernels::arrays those;
    const std::int64_t second_at = form.second_offset * form.dst_word_bytes;
    those.src = src_ - src_range_.lo + form.src_offset * form.word_bytes;
    those.dst = dst_.data() + form.dst_offset * form.dst_word_bytes;
    const bool other = what_.math.second == second_array::source;
    if (how_.reads_second()) those.second = (other ? second_.data() : dst_.data()) + second_at;
    if (how_.second == second_array::destination) those.second_dst = second_.data() + second_at;
    if (what_.math.scaled) those.scale = scale_;
    return those;
  }

  void clear() {
    dst_.copy_from(dst_before_);
    second_.copy_from(second_before_);
  }
  // "" when both arrays are correct.
  [[nodiscard]] std::string difference() const {
    const std::string of_dst = dst_.difference(wanted_, "dst");
    return of_dst.empty() ? second_.difference(wanted_second_, "the second array") : of_dst;
  }

 private:
  static byte_range range_in(problem what, std::int64_t bytes, std::int64_t axis::*stride) {
    what.element_bytes = bytes;
    return range_of(what, stride);
  }

  void expect() {
    const std::byte* const src = src_ - src_range_.lo;
    const bool from_second = what_.math.second == second_array::source;
    kernels::visit(how_, [&](auto src_type, auto dst_type, auto which) {
      using Src = typename decltype(src_type)::storage;
      using Dst = typename decltype(dst_type)::storage;
      walk_with_second(what_, [&](std::int64_t s, std::int64_t d, std::int64_t other) {
        Src from;
        Dst second{};
        std::memcpy(&from, src + s * what_.element_bytes, sizeof from);
        std::byte* const to = wanted_.data() + d * dst_bytes_;
        std::memcpy(&second, from_second ? second_.data() + other * dst_bytes_ : to, sizeof second);
        const Dst made = kernels::apply<which.value>(how_, from, second, what_.math.scaled ? scale_ : 1.0F);
        std::memcpy(to, &made, sizeof made);
        if (how_.second == second_array::destination) {
          std::memcpy(wanted_second_.data() + other * dst_bytes_, &made, sizeof made);
        }
      });
    });
  }

  problem what_;
  kernels::op how_;
  std::int64_t dst_bytes_;
  float scale_;
  byte_range src_range_;
  std::byte* src_ = nullptr;
  guarded dst_, second_, dst_before_, second_before_, wanted_, wanted_second_;
};

}  // namespace cornerturn::testing

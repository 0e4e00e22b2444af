// The numbering of elements in the order of dst, for kernels that need no shared memory.
#pragma once

#include <cstdint>

#include "map/canonical.hpp"
#include "map/fast_divisor.hpp"

namespace cornerturn::gpu {

inline constexpr int element_threads = 256;
inline constexpr int max_element_outer_axes = 6;
inline constexpr int max_element_row_axes = 4;

// dst is rows of row_elements elements. If a thread stores several of them as one word, a row is contiguous, and it may be
// several axes of src. Outer axes number the rows. Lists have the fastest axis first, and need no extent of their last one.
// Strides have 32 bits: the offer refuses longer ones. A kernel waits for each line of its arguments, so the struct is short
// and begins with what every problem needs.
struct element_grid {
  map::fast_divisor words;  // of a row
  std::uint32_t all_words = 0;
  std::uint32_t row_elements = 1;
  std::int32_t row_rank = 1;
  std::int32_t rank = 0;       // of the outer axes
  std::int32_t src_bytes = 0;  // from one element to the next, of a row's first axis
  std::int32_t dst_bytes = 0;
  // The index of an axis is the quotient of the axis before it, less `extent` times its own quotient. A quotient is of the number of
  // the word, so no division waits for another one.
  struct outer_axis {
    std::int32_t src_bytes = 0;
    std::int32_t dst_bytes = 0;
    std::uint32_t extent = 1;
    map::fast_quotient words;  // of this axis and all faster ones
  } outer[max_element_outer_axes];
  struct row_axis {
    map::fast_divisor count;
    std::int32_t above_src_bytes = 0;  // stride of the next axis
  } row[max_element_row_axes - 1];
};

// A thread has up to elements_of_thread elements of a row, 2^apart_log2 apart. `words` counts the threads of a row.
inline constexpr int elements_of_thread = 4;
struct several_grid : element_grid {
  std::int32_t apart_log2 = 0;
};

// A thread stores its word `repeats` times at most, `repeat_dst_bytes` apart: src is broadcast along an outer axis, or along the row.
struct repeated_grid : element_grid {
  std::int32_t repeats = 1;
  std::int32_t repeat_elements = 0;  // along the row; 0: along an outer axis
  std::int64_t repeat_dst_bytes = 0;
  // Along the row: so many neighbouring words have neighbouring places. The places of the next words begin behind all of theirs.
  map::fast_divisor together;
  // Of an outer axis of `places`: neighbouring words have neighbouring ones of the first `apart` places, and a thread stores at its own
  // one and at each that is `apart` further.
  std::uint32_t places = 1;
  map::fast_quotient below;  // words of the faster axes
  map::fast_divisor apart;
};

// Effect  numbers the elements of the form; a thread has `each` neighbouring ones. dst begins at a multiple of `alignment`. A row has
//         at most `most_row_axes` axes. 0: max_element_row_axes, or 1 if `each` is 1
// Returns false if `each` is above 1 and dst has no contiguous axis, or if a number needs more than 31 bits; then `made` is
//         unspecified
// Requires  the form has elements and axes
[[nodiscard]] bool number_elements(const map::canonical& form, std::int64_t each, std::int64_t alignment,
                                   element_grid& made, int most_row_axes = 0) noexcept;

// Effect  as number_elements() with `each` 1, for threads that have several elements of a row
[[nodiscard]] bool number_several(const map::canonical& form, several_grid& made) noexcept;

// Effect  as number_elements(), for threads that store a word at most `repeats` times, 2 or more. made.repeats has the number found
// Returns false as number_elements(), or if src is not broadcast along an axis with room for two places
[[nodiscard]] bool number_repeated(const map::canonical& form, std::int64_t each, std::int64_t alignment,
                                   std::int64_t repeats, repeated_grid& made) noexcept;

}  // namespace cornerturn::gpu

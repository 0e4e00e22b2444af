// The nine rungs of the CuTe article. Adjacent rungs differ in one line of layouts. Their names follow the CUDA rungs.
// Float and double, as in the article. The counts below are per request, for 4-byte elements.
#pragma once

#include "tile.cuh"

namespace cornerturn::ladder {

template <int WordBytes>
inline constexpr int cute_width = 16 / WordBytes;  // elements of 16 bytes

using cute_rows = cute::Layout<cute::Shape<cute::_32, cute::_64>, cute::Stride<cute::_64, cute::_1>>;
using cute_columns = cute::Layout<cute::Shape<cute::_32, cute::_64>, cute::Stride<cute::_1, cute::_32>>;
using cute_padded_rows = cute::Layout<cute::Shape<cute::_32, cute::_64>, cute::Stride<cute::Int<65>, cute::_1>>;
// XORs the lowest `Bits` bits of the column with the row. 32 banks hold 2^Bits elements.
//
//   offset  | row    | col | col ^ row |     4-byte elements
//             5 bits   1     5 bits
template <int Bits>
using cute_swizzled_rows = decltype(cute::composition(cute::Swizzle<Bits, 0, 6>{}, cute_rows{}));

template <int Width, int Padding = 0>
using cute_wide_rows = cute::Layout<cute::Shape<cute::_32, cute::Int<32 * Width>>,
                                    cute::Stride<cute::Int<32 * Width + Padding>, cute::_1>>;
// XORs the piece number with the row; 32 banks hold eight pieces.
//
//   offset  | row    | col  | piece ^ row | word |     4-byte elements
//             5 bits   2      3 bits        2
template <int Width>
inline constexpr int cute_bits_of_piece = Width == 4 ? 2 : 1;
template <int Width>
using cute_swizzled_wide_rows =
    decltype(cute::composition(cute::Swizzle<3, cute_bits_of_piece<Width>, 5>{}, cute_wide_rows<Width>{}));

// 4 sectors per load, 32 per store.
template <int WordBytes>
struct cute_naive_read : cute_tile<WordBytes, 1, along_rows, along_rows, void> {};
// 32 sectors per load, 4 per store. All rungs below: 4 sectors per store, and per load 4 (elements) or 16 (pieces).
template <int WordBytes>
struct cute_naive_write : cute_tile<WordBytes, 1, down_columns, down_columns, void> {};
// A column is in one bank: 31 conflicts per shared load.
template <int WordBytes>
struct cute_load_conflicts : cute_tile<WordBytes, 1, along_rows, down_columns, cute_rows> {};
// Against load_conflicts: places, stored by columns. 31 conflicts per shared store.
template <int WordBytes>
struct cute_store_conflicts : cute_tile<WordBytes, 1, along_rows, down_columns, cute_columns> {};
// Against load_conflicts: places, with a row stride of 65. No conflicts.
template <int WordBytes>
struct cute_padded : cute_tile<WordBytes, 1, along_rows, down_columns, cute_padded_rows> {};
// Against load_conflicts: places, with XOR. No conflicts.
template <int WordBytes>
struct cute_swizzled : cute_tile<WordBytes, 1, along_rows, down_columns, cute_swizzled_rows<WordBytes == 4 ? 5 : 4>> {};
// Against load_conflicts: width. Loads pieces and stores elements: 31 conflicts per shared load.
template <int WordBytes>
struct cute_vector_conflicts
    : cute_tile<WordBytes, cute_width<WordBytes>, along_rows, down_columns, cute_wide_rows<cute_width<WordBytes>>> {};
// Against vector_conflicts: places. A piece must stay aligned, so a row is padded by a whole piece: 3 conflicts remain.
template <int WordBytes>
struct cute_vector_padded : cute_tile<WordBytes, cute_width<WordBytes>, along_rows, down_columns,
                                      cute_wide_rows<cute_width<WordBytes>, cute_width<WordBytes>>> {};
// Against vector_conflicts: places. A piece must stay whole, so only eight rows differ, not 32: 3 conflicts remain.
template <int WordBytes>
struct cute_vector_swizzled : cute_tile<WordBytes, cute_width<WordBytes>, along_rows, down_columns,
                                        cute_swizzled_wide_rows<cute_width<WordBytes>>> {};

}  // namespace cornerturn::ladder

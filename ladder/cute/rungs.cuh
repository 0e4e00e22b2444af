// The nine rungs of the CuTe article, each a line of layouts beside its neighbour; names as those of the rungs that are
// written by hand. Float and double, as in the article; the numbers below are for 4-byte elements, of one request.
#pragma once

#include "tile.cuh"

namespace cornerturn::ladder {

template <int WordBytes>
inline constexpr int cute_width = 16 / WordBytes;  // elements of 16 bytes

using cute_rows = cute::Layout<cute::Shape<cute::_32, cute::_64>, cute::Stride<cute::_64, cute::_1>>;
using cute_columns = cute::Layout<cute::Shape<cute::_32, cute::_64>, cute::Stride<cute::_1, cute::_32>>;
using cute_padded_rows = cute::Layout<cute::Shape<cute::_32, cute::_64>, cute::Stride<cute::Int<65>, cute::_1>>;
// The lowest bits of the column XORed with those of the row; as many as number the elements of a row of banks.
//
//   place   | row    | col | col ^ row |     4-byte elements
//             5 bits   1     5 bits
template <int Bits>
using cute_swizzled_rows = decltype(cute::composition(cute::Swizzle<Bits, 0, 6>{}, cute_rows{}));

template <int Width, int Padding = 0>
using cute_wide_rows = cute::Layout<cute::Shape<cute::_32, cute::Int<32 * Width>>,
                                    cute::Stride<cute::Int<32 * Width + Padding>, cute::_1>>;
// The same with whole pieces, eight to a row of banks.
//
//   place   | row    | col  | piece ^ row | word |     4-byte elements
//             5 bits   2      3 bits        2
template <int Width>
inline constexpr int cute_bits_of_piece = Width == 4 ? 2 : 1;
template <int Width>
using cute_swizzled_wide_rows =
    decltype(cute::composition(cute::Swizzle<3, cute_bits_of_piece<Width>, 5>{}, cute_wide_rows<Width>{}));

// Loads 4 sectors, stores 32.
template <int WordBytes>
struct cute_naive_read : cute_tile<WordBytes, 1, along_rows, along_rows, void> {};
// Loads 32 sectors, stores 4. From here down to the end: stores 4, and loads 4 or, of pieces, 16.
template <int WordBytes>
struct cute_naive_write : cute_tile<WordBytes, 1, down_columns, down_columns, void> {};
// A column lies in one bank: 31 conflicts for a shared load.
template <int WordBytes>
struct cute_load_conflicts : cute_tile<WordBytes, 1, along_rows, down_columns, cute_rows> {};
// Against load_conflicts: places, by columns. 31 conflicts for a shared store.
template <int WordBytes>
struct cute_store_conflicts : cute_tile<WordBytes, 1, along_rows, down_columns, cute_columns> {};
// Against load_conflicts: places, a row is 65 long. No conflicts.
template <int WordBytes>
struct cute_padded : cute_tile<WordBytes, 1, along_rows, down_columns, cute_padded_rows> {};
// Against load_conflicts: places, by XOR. No conflicts.
template <int WordBytes>
struct cute_swizzled : cute_tile<WordBytes, 1, along_rows, down_columns, cute_swizzled_rows<WordBytes == 4 ? 5 : 4>> {};
// Against load_conflicts: width. Pieces in, elements out: 31 conflicts for a shared load.
template <int WordBytes>
struct cute_vector_conflicts
    : cute_tile<WordBytes, cute_width<WordBytes>, along_rows, down_columns, cute_wide_rows<cute_width<WordBytes>>> {};
// Against vector_conflicts: places. A piece has to stay aligned, so a row is a whole piece longer: 3 conflicts are
// left.
template <int WordBytes>
struct cute_vector_padded : cute_tile<WordBytes, cute_width<WordBytes>, along_rows, down_columns,
                                      cute_wide_rows<cute_width<WordBytes>, cute_width<WordBytes>>> {};
// Against vector_conflicts: places. A piece has to stay whole, so eight rows differ, not 32: 3 conflicts are left.
template <int WordBytes>
struct cute_vector_swizzled : cute_tile<WordBytes, cute_width<WordBytes>, along_rows, down_columns,
                                        cute_swizzled_wide_rows<cute_width<WordBytes>>> {};

}  // namespace cornerturn::ladder

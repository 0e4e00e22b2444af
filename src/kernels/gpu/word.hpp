// The types that a GPU loads and stores as one access of 1, 2, 4, 8 or 16 bytes. Each vendor has its own types of 8 and
// 16 bytes.
#pragma once

#include <cstdint>

namespace cornerturn::gpu {

template <int Bytes, class WordOf8, class WordOf16>
struct word;
template <class WordOf8, class WordOf16>
struct word<1, WordOf8, WordOf16> {
  using type = std::uint8_t;
};
template <class WordOf8, class WordOf16>
struct word<2, WordOf8, WordOf16> {
  using type = std::uint16_t;
};
template <class WordOf8, class WordOf16>
struct word<4, WordOf8, WordOf16> {
  using type = std::uint32_t;
};
template <class WordOf8, class WordOf16>
struct word<8, WordOf8, WordOf16> {
  using type = WordOf8;
};
template <class WordOf8, class WordOf16>
struct word<16, WordOf8, WordOf16> {
  using type = WordOf16;
};

}  // namespace cornerturn::gpu

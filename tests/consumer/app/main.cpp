#include <array>
#include <cornerturn/cornerturn.hpp>
#include <cstdint>
#include <cstdio>
#include <string>

int main() {
  std::array<std::uint16_t, 6> src{0, 1, 2, 10, 11, 12};
  std::array<std::uint16_t, 6> dst{};
  cornerturn::transpose(src.data(), dst.data(), 2, 3);
  const std::array<std::uint16_t, 6> want{0, 10, 1, 11, 2, 12};
  std::printf("cornerturn %s from C++\n", cornerturn::version());
  if (std::string(cornerturn::version()) != CORNERTURN_VERSION_STRING) return 1;
  try {
    cornerturn::transpose(src.data(), dst.data(), -1, 3);
    return 1;
  } catch (const cornerturn::error& error) {  // thrown in the library, caught in this program: both must see one type
    if (error.code() != cornerturn::status::invalid_argument) return 1;
  }
  return dst == want ? 0 : 1;
}

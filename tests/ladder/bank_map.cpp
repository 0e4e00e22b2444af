// Prints the data of docs/learn/bank_map.md: a tile of 32 x 32 floats with each padding, XOR and width of an access, with the
// bank of each element and the model's counts. The test ladder.bank_map compares the output with docs/learn/bank_map_data.js.
#include <cstdio>
#include <string>

#include "ladder/program.hpp"
#include "ladder/rung.hpp"
#include "model/count.hpp"

namespace cornerturn::ladder {
namespace {

enum class key { none, row, piece };

template <int Padding, key Key, int Width>
struct variant : rung<4> {
  static constexpr int tile_rows = 32;
  static constexpr int tile_cols = 32;
  static constexpr int threads = 256;
  static constexpr int width = Width;
  static constexpr int steps = 1024 / Width / threads;
  static constexpr int pieces = 32 / Width;
  static constexpr int pitch = 32 + Padding;
  static constexpr int shared_bytes = 32 * pitch * 4;
  static constexpr bool whole_pieces = Width > 1 && Padding % Width == 0 && Key != key::row;

  RUNG_MAP at read(int thread, int step) {
    const int p = step * threads + thread;
    return {p / pieces, p % pieces * Width};
  }
  RUNG_MAP at write(int thread, int step) {
    const int p = step * threads + thread;
    return {p % pieces * Width, p / pieces};
  }
  RUNG_MAP int place(at e) {
    const int mask = Key == key::none ? 0 : Key == key::row ? e.row : e.row / Width % pieces * Width;
    return (e.row * pitch + (e.col ^ mask)) * 4;
  }
};

template <class Rung, class Map>
void print_lanes(const char* name, const Map& map) {
  std::printf("\"%s\": [", name);
  for (int lane = 0; lane < 32; ++lane) {
    const at e = map(lane);
    std::printf("%s%d", lane == 0 ? "" : ",", e.row * 32 + e.col);
  }
  std::printf("], ");
}

template <int Padding, key Key, int Width>
void print(bool& first) {
  using one = variant<Padding, Key, Width>;
  const model::traffic counts = model::count(program_writer<one>(2048, 2048).write(), {2048, 2048, 1});
  std::printf("%s{\"padding\": %d, \"xor\": \"%s\", \"width\": %d, \"bytes\": %d, \"pieces\": %s, ",
              first ? "\n" : ",\n", Padding,
              Key == key::none  ? "none"
              : Key == key::row ? "row"
                                : "piece",
              Width, one::shared_bytes, one::whole_pieces ? "true" : "false");
  first = false;
  std::printf("\"load_sectors\": %g, \"store_sectors\": %g, \"store_conflicts\": %g, \"load_conflicts\": %g, ",
              counts.load.lines_per_request(), counts.store.lines_per_request(),
              counts.shared_store.conflicts_per_request(), counts.shared_load.conflicts_per_request());
  print_lanes<one>("stores", [](int lane) { return one::read(lane, 0); });
  print_lanes<one>("loads", [](int lane) { return one::write(lane, 0); });
  std::string banks;
  for (int e = 0; e < 1024; ++e) banks += "0123456789abcdefghijklmnopqrstuv"[one::place({e / 32, e % 32}) / 4 % 32];
  std::printf("\"banks\": \"%s\"}", banks.c_str());
}

template <int Padding>
void print_all(bool& first) {
  print<Padding, key::none, 1>(first);
  print<Padding, key::none, 2>(first);
  print<Padding, key::none, 4>(first);
  print<Padding, key::row, 1>(first);
  print<Padding, key::row, 2>(first);
  print<Padding, key::row, 4>(first);
  print<Padding, key::piece, 1>(first);
  print<Padding, key::piece, 2>(first);
  print<Padding, key::piece, 4>(first);
}

}  // namespace
}  // namespace cornerturn::ladder

int main() {
  using namespace cornerturn::ladder;
  bool first = true;
  std::printf("const bankMaps = [");
  print_all<0>(first);
  print_all<1>(first);
  print_all<2>(first);
  print_all<4>(first);
  std::printf("\n];\n");
}

// Problems for a row: for the command, for tests and for the profiler.
#include <algorithm>
#include <map>
#include <numeric>

#include "trace/trace.hpp"

namespace cornerturn::trace {
namespace {

constexpr std::int64_t most_bytes = 32 << 20;  // of one array
constexpr std::int64_t most_batch_bytes = 6 << 20;
constexpr std::int64_t most_bytes_in_place = 128 << 20;
constexpr std::int64_t most_waiting_blocks = 20000;  // that wait for flags: each of them runs

struct shape {
  std::vector<std::int64_t> extents;
  std::vector<int> axes;
};

std::vector<shape> shapes() {
  std::vector<shape> made;
  const auto matrix = [&](std::int64_t rows, std::int64_t cols) { made.push_back({{rows, cols}, {1, 0}}); };
  // Whole tiles, edges on one side and both, odd pitches.
  for (const std::int64_t side : {512, 768, 208, 500, 509, 1000}) matrix(side, side);
  for (const auto& [rows, cols] : {std::pair{256, 1280}, {1232, 272}, {511, 300}, {301, 1021}, {96, 2000}}) {
    matrix(rows, cols);
  }
  // Few columns, few rows, one of each.
  for (std::int64_t few = 2; few <= 8; ++few) {
    for (const std::int64_t many : {4096, 40000, 10001, 20480, 7777}) matrix(many, few), matrix(few, many);
  }
  for (const std::int64_t few : {12, 16, 24, 32, 48, 64, 96, 112, 128}) {
    for (const std::int64_t many : {4096, 30000, 7001, 6144}) matrix(many, few), matrix(few, many);
  }
  // Several axes: matrices side by side, whole rows, reversed.
  made.push_back({{5, 300, 200}, {0, 2, 1}});
  made.push_back({{1000, 16, 16}, {0, 2, 1}});
  made.push_back({{400, 32, 64}, {0, 2, 1}});
  made.push_back({{3000, 8, 8}, {0, 2, 1}});
  made.push_back({{700, 13, 9}, {0, 2, 1}});
  made.push_back({{1500, 32, 16}, {0, 2, 1}});
  made.push_back({{2000, 16, 8}, {0, 2, 1}});
  made.push_back({{64, 96, 512}, {1, 0, 2}});
  made.push_back({{40, 30, 1001}, {1, 0, 2}});
  made.push_back({{64, 48, 80}, {2, 1, 0}});
  made.push_back({{33, 47, 65}, {2, 1, 0}});
  made.push_back({{48, 64, 64, 3}, {0, 2, 1, 3}});
  made.push_back({{16, 32, 24, 48}, {2, 3, 0, 1}});
  made.push_back({{16, 32, 24, 48}, {3, 1, 2, 0}});
  made.push_back({{17, 31, 23, 29}, {3, 1, 2, 0}});
  made.push_back({{32, 24, 20, 64}, {3, 0, 2, 1}});
  made.push_back({{128, 4, 128, 4}, {2, 0, 3, 1}});
  made.push_back({{16, 32, 48}, {2, 1, 0}});
  made.push_back({{32, 8, 64}, {2, 1, 0}});
  made.push_back({{8, 24, 16, 32}, {3, 1, 2, 0}});
  // Items of a batch.
  for (const auto& [rows, cols] : {std::pair{16, 16}, {32, 16}, {16, 64}, {5, 7}, {33, 20}}) matrix(rows, cols);
  // Copies.
  made.push_back({{300000}, {0}});
  made.push_back({{700, 333}, {0, 1}});
  // Rectangles for programs in place. Strips take large ones.
  for (const auto& [rows, cols] : {std::pair{240, 1760},
                                   {2096, 208},
                                   {2037, 239},
                                   {1155, 60},
                                   {1000, 3000},
                                   {2048, 6144},
                                   {4096, 2048},
                                   {1023, 8191},
                                   {2049, 6145},
                                   {640, 20480},
                                   {20480, 640},
                                   {8192, 6144},
                                   {16384, 4096},
                                   {4096, 10240}}) {
    matrix(rows, cols);
  }
  return made;
}

constexpr std::int64_t sizes[] = {4, 2, 1, 8, 16, 3, 6, 12, 24};
// Every way to pose a problem of this shape: packed, padded, in place, computed, shifted, as a batch.
std::vector<named_case> ways_of(const shape& one, std::int64_t element_bytes, std::string_view row) {
  std::vector<named_case> made;
  const std::int64_t bytes =
      std::accumulate(one.extents.begin(), one.extents.end(), element_bytes, std::multiplies<>());
  if (bytes > most_bytes_in_place) return made;
  std::string text;
  for (const std::int64_t extent : one.extents) text.append(text.empty() ? "" : "x").append(std::to_string(extent));
  text += "/";
  for (const int axis : one.axes) text.append(text.back() == '/' ? "" : ",").append(std::to_string(axis));
  const auto add = [&](const problem& what, const std::string& more) -> named_case& {
    named_case now;
    now.what = what;
    now.row = std::string(row);
    now.text = text + more;
    made.push_back(now);
    return made.back();
  };
  const problem plain = permute_problem(one.extents, one.axes, element_bytes);
  const bool is_matrix = one.extents.size() == 2 && one.axes[0] == 1;
  problem in_place = plain;
  in_place.in_place = true;
  if (bytes > most_bytes) {
    add(in_place, "!*").row.clear();
    return made;
  }
  add(plain, "");
  if (is_matrix) {
    const std::int64_t rows = one.extents[0], cols = one.extents[1];
    add(transpose_problem(rows, cols, element_bytes, cols + 3, rows + 5), "+ld");
    add(transpose_problem(rows, cols, element_bytes, cols + 16, rows + 32), "+ld16");
  }
  named_case& shifted = add(plain, "@1");
  shifted.src_shift = element_bytes;
  shifted.dst_shift = element_bytes * 3;
  for (const arithmetic& math : math_of(element_bytes)) {
    problem computed = plain;
    computed.math = math;
    add(computed, std::string("=") + name(math.src) + ">" + name(math.dst));
    named_case& odd = add(computed, std::string("@1=") + name(math.src) + ">" + name(math.dst));
    odd.src_shift = element_bytes;
    odd.dst_shift = bytes_of(math.dst);
  }
  for (const int items : {40, 1000, 6000}) {
    if (bytes * items > most_batch_bytes) continue;
    named_case& batch = add(plain, std::string("#").append(std::to_string(items)));
    batch.row.clear();
    batch.items = items;
  }
  add(in_place, "!");
  add(in_place, "!*").row.clear();
  return made;
}

// Problems without a forced row have one plan for all rows, and the plan of a rectangle in place takes milliseconds.
using known_plans = std::map<std::string, std::vector<planned_launch>>;

bool is_wanted(const named_case& one, std::string_view row, const model::architecture& machine, known_plans& known) {
  std::vector<planned_launch> all;
  if (one.row.empty()) {
    const auto [found, is_new] = known.try_emplace(std::to_string(one.what.element_bytes) + " " + one.text);
    if (is_new) found->second = plan_of(one, machine);
    all = found->second;
  } else {
    all = plan_of(one, machine);
  }
  const bool fits = std::all_of(all.begin(), all.end(), [](const planned_launch& launch) {
    return launch.blocks <= (launch.has_flags ? most_waiting_blocks : all_blocks);
  });
  return fits && all.size() <= 64 &&
         std::any_of(all.begin(), all.end(), [&](const planned_launch& launch) { return launch.row == row; });
}

}  // namespace

std::vector<named_case> cases_for(std::string_view row, int count, const model::architecture& machine) {
  static const std::vector<shape> all = shapes();
  static std::map<std::string, known_plans> known;  // by machine
  std::vector<named_case> made;
  for (const shape& one : all) {
    for (const std::int64_t element_bytes : sizes) {
      bool has_one = false;  // of this shape and size
      for (const named_case& way : ways_of(one, element_bytes, row)) {
        if (has_one || static_cast<int>(made.size()) == count || !is_wanted(way, row, machine, known[machine.name]))
          continue;
        made.push_back(way);
        has_one = true;
      }
      if (static_cast<int>(made.size()) == count) return made;
      if (has_one) break;  // the next case has another shape
    }
  }
  return made;
}

}  // namespace cornerturn::trace

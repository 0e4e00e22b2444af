// Times of kernels that were measured once (tools/keep_row_times), by which a test judges the planner's choices.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <fstream>
#include <functional>
#include <map>
#include <sstream>
#include <string>

#include "cornerturn/problem.hpp"

namespace cornerturn::testing {

struct timed_rows {
  std::string kind;  // of the case: matrix, rank_hot ...
  problem what;
  int alignment = 1;                    // of all addresses, in bytes
  std::map<std::string, double> times;  // of each row, in microseconds
};

struct regret_of_kind {
  int judged = 0;
  double logs = 0, worst = 1;
  std::string worst_choice;
};

// Effect  gives `choice` each problem of tests/plan/row_times/FILE; it returns the name of the row that the planner chooses. The
//         regret is the time of that row over the time of the fastest one. A row that was not measured is not judged
inline std::map<std::string, regret_of_kind> regrets(const std::string& file,
                                                     const std::function<std::string(const timed_rows&)>& choice) {
  std::map<std::string, regret_of_kind> made;
  std::ifstream in(std::string(CORNERTURN_ROW_TIMES) + "/" + file);
  std::string line;
  while (std::getline(in, line)) {
    if (line.starts_with('#')) continue;
    timed_rows one;
    std::istringstream words(line);
    std::string word;
    words >> one.kind >> one.what.element_bytes >> one.alignment >> word;
    char colon = 0;
    while (words >> word && word != "|") {
      axis& next = one.what.axes[one.what.rank++];
      std::istringstream(word) >> next.extent >> colon >> next.src_stride >> colon >> next.dst_stride;
    }
    double best = HUGE_VAL;
    while (words >> word) {
      const std::size_t equals = word.find('=');
      const double time = std::stod(word.substr(equals + 1));
      one.times.emplace(word.substr(0, equals), time);
      best = std::min(best, time);
    }
    const std::string chosen = choice(one);
    regret_of_kind& kind = made[one.kind];
    const auto measured = one.times.find(chosen);
    if (measured == one.times.end()) continue;
    const double regret = measured->second / best;
    ++kind.judged;
    kind.logs += std::log(regret);
    if (regret > kind.worst) {
      kind.worst = regret;
      kind.worst_choice = chosen + " for " + line.substr(0, line.find('|', line.find('|') + 1));
    }
  }
  return made;
}

// Effect  expects each kind's geometric mean to be at most `limit`, or the limit that `others` has for it
inline void expect_regrets(const std::map<std::string, regret_of_kind>& found, double limit,
                           const std::map<std::string, double>& others) {
  for (const auto& [name, kind] : found) {
    ASSERT_GE(kind.judged, 10) << name << ": measure the rows again";
    const auto other = others.find(name);
    const double mean = std::exp(kind.logs / kind.judged);
    EXPECT_LE(mean, other == others.end() ? limit : other->second)
        << name << ", worst " << kind.worst << ": " << kind.worst_choice;
    ::testing::Test::RecordProperty(name, std::to_string(mean));
  }
}

}  // namespace cornerturn::testing

// Coordinate descent on the expected regret, where a row is chosen with a probability that falls with its predicted time. Least
// squares of the times choose worse rows, even from good constants: docs/machines.md.
#include "bench/fit.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace cornerturn::bench {
namespace {

// Predictions that differ by a twentieth are about equally likely to be chosen: so much the times of one row scatter.
constexpr double scatter = 0.05;
constexpr double most_regret = 2.7;      // a worse one counts no more: it is a problem that constants cannot repair
constexpr double most_change = 3;        // of a constant, up or down
constexpr double least_constant = 0.05;  // a constant of 0 grows from it
// New constants win more than so many standard errors. With any gain, 120 seconds on an H200 made its own constants worse in L2: 160
// problems had a regret of 1.063, 1.041 before (2026-11-29).
constexpr double least_errors = 1.5;

const std::vector<double>* found_in(const constants& by, const std::string& group) {
  const auto found = by.find(group);
  return found == by.end() ? nullptr : &found->second;
}

double predicted(const std::vector<double>& terms, const std::vector<double>* by) {
  double sum = 0;
  for (std::size_t k = 0; k < terms.size(); ++k) sum += terms[k] * (by == nullptr ? 1 : (*by)[k]);
  return std::max(sum, std::numeric_limits<double>::min());
}

double fastest(const timed_problem& one) {
  double best = std::numeric_limits<double>::infinity();
  for (const timed_row& row : one.rows) best = std::min(best, row.seconds);
  return best;
}

// Problems and rows as numbers.
class descent {
 public:
  descent(const std::vector<timed_problem>& all, const constants& start, double caution)
      : caution_(caution), start_(start) {
    std::map<std::string, std::size_t> index;
    for (const timed_problem& one : all) {
      const double best = fastest(one);
      std::vector<entry> entries;
      for (const timed_row& row : one.rows) {
        const std::size_t group = index.emplace(row.group, index.size()).first->second;
        if (group == groups_.size()) {
          const std::vector<double>* const old = found_in(start, row.group);
          groups_.push_back({row.group, old == nullptr ? std::vector<double>(row.terms.size(), 1) : *old, {}, {}});
          groups_.back().now = groups_.back().start;
        }
        std::vector<std::size_t>& those = groups_[group].problems;
        if (those.empty() || those.back() != problems_.size()) those.push_back(problems_.size());
        entries.push_back({group, &row.terms, predicted(row.terms, &groups_[group].now),
                           std::min(std::log(row.seconds / best), std::log(most_regret))});
      }
      problems_.push_back(std::move(entries));
    }
  }

  constants run() {
    for (const double step : {0.5, 0.3, 0.2, 0.1, 0.05}) {
      for (int again = 0; again < 2; ++again) {
        for (group_state& one : groups_) {
          double loss = loss_of(one);
          improve(one, loss, step, 0, one.now.size());
          for (std::size_t k = 0; one.now.size() > 1 && k < one.now.size(); ++k) improve(one, loss, step, k, k + 1);
        }
      }
    }
    constants made = start_;
    for (const group_state& one : groups_) made[one.name] = one.now;
    return made;
  }

 private:
  struct group_state {
    std::string name;
    std::vector<double> start, now;
    std::vector<std::size_t> problems;
  };
  struct entry {
    std::size_t group;
    const std::vector<double>* terms;
    double time;  // predicted
    double lost;  // log
  };

  // Moves the constants [first, end) of a group together by a step up or down, if that is better.
  void improve(group_state& one, double& loss, double step, std::size_t first, std::size_t end) {
    const std::vector<double> before = one.now;
    for (const double factor : {std::exp(step), std::exp(-step)}) {
      for (std::size_t k = first; k < end; ++k) {
        const double start = std::max(one.start[k], least_constant);
        const bool stays = before[k] == 0 && factor < 1;
        one.now[k] =
            stays ? 0
                  : std::clamp(std::max(before[k], least_constant) * factor, start / most_change, start * most_change);
      }
      predict(one);
      const double other = loss_of(one);
      if (other < loss - 1e-9) {
        loss = other;
        return;
      }
    }
    one.now = before;
    predict(one);
  }

  void predict(const group_state& one) {
    const auto number = static_cast<std::size_t>(&one - groups_.data());
    for (const std::size_t p : one.problems) {
      for (entry& row : problems_[p]) {
        if (row.group == number) row.time = predicted(*row.terms, &one.now);
      }
    }
  }

  // The part of the loss that depends on a group.
  [[nodiscard]] double loss_of(const group_state& one) const {
    double sum = 0;
    for (std::size_t k = 0; k < one.now.size(); ++k) {
      const double now = std::max(one.now[k], least_constant), start = std::max(one.start[k], least_constant);
      sum += caution_ * std::abs(std::log(now / start));
    }
    for (const std::size_t p : one.problems) {
      double least = std::numeric_limits<double>::infinity(), weights = 0, lost = 0;
      for (const entry& row : problems_[p]) least = std::min(least, row.time);
      for (const entry& row : problems_[p]) {
        const double weight = std::pow(least / row.time, 1 / scatter);
        weights += weight, lost += weight * row.lost;
      }
      sum += lost / weights;
    }
    return sum;
  }

  double caution_;
  const constants& start_;
  std::vector<group_state> groups_;
  std::vector<std::vector<entry>> problems_;
};

double regret_of(const timed_problem& one, const constants& by) {
  double least = std::numeric_limits<double>::infinity(), chosen = 0;
  for (const timed_row& row : one.rows) {
    const double time = predicted(row.terms, found_in(by, row.group));
    if (time < least) least = time, chosen = row.seconds;
  }
  return chosen / fastest(one);
}

}  // namespace

regret_of_all regret_with(const std::vector<timed_problem>& all, const constants& by) {
  regret_of_all made;
  double sum = 0;
  for (const timed_problem& one : all) {
    const double regret = regret_of(one, by);
    sum += std::log(regret);
    made.worst = std::max(made.worst, regret);
  }
  if (!all.empty()) made.mean = std::exp(sum / static_cast<double>(all.size()));
  return made;
}

constants fit(const std::vector<timed_problem>& all, const constants& start, double caution) {
  return descent(all, start, caution).run();
}

constants cross_validated(const std::vector<timed_problem>& all, const constants& start) {
  constexpr std::size_t parts = 5;
  double most = 0, best = -1;
  for (const double caution : {3.0, 1.0, 0.3, 0.1, 0.03}) {
    double sum = 0,
           squares = 0;  // of the gains: logarithms of the regret of a problem that the fit did not see
    for (std::size_t part = 0; part < parts; ++part) {
      std::vector<timed_problem> seen;
      for (std::size_t k = 0; k < all.size(); ++k) {
        if (k % parts != part) seen.push_back(all[k]);
      }
      const constants found = fit(seen, start, caution);
      for (std::size_t k = part; k < all.size(); k += parts) {
        const double won = std::log(std::min(regret_of(all[k], start), most_regret)) -
                           std::log(std::min(regret_of(all[k], found), most_regret));
        sum += won, squares += won * won;
      }
    }
    const double error = std::sqrt(std::max(squares - sum * sum / static_cast<double>(all.size()), 0.0));
    if (sum > least_errors * error && sum > most) most = sum, best = caution;
  }
  return best < 0 ? start : fit(all, start, best);
}

}  // namespace cornerturn::bench

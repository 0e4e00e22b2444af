// Factors: coordinate descent on the expected regret, where a row is chosen with a probability that falls with its predicted
// time. Constants: weighted least squares, reweighted against outliers, with the old constants as a prior.
#include "bench/fit.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

namespace cornerturn::bench {
namespace {

// Predictions that differ by a twentieth are about equally likely to be chosen: so much the times of one row scatter.
constexpr double scatter = 0.05;
constexpr double most_regret = 2.7;  // a worse one counts no more: it is a problem that the factors cannot repair

double log_factor(const factors& by, const std::string& group) {
  const auto found = by.find(group);
  return found == by.end() ? 0 : std::log(found->second);
}

regret_of_all summary(const std::vector<double>& logs) {
  regret_of_all made;
  if (logs.empty()) return made;
  double sum = 0;
  for (const double one : logs) sum += one, made.worst = std::max(made.worst, std::exp(one));
  made.mean = std::exp(sum / static_cast<double>(logs.size()));
  return made;
}

// The log of the time of the row with the least predicted(row) over the fastest row's.
template <class Predicted>
double log_regret(const timed_problem& one, const Predicted& predicted) {
  double best = std::numeric_limits<double>::infinity(), least = best, chosen = 0;
  for (const timed_row& row : one.rows) {
    best = std::min(best, row.seconds);
    const double time = predicted(row);
    if (time < least) least = time, chosen = row.seconds;
  }
  return std::log(chosen / best);
}

// Problems and rows as numbers.
class descent {
 public:
  descent(const std::vector<timed_problem>& all, double caution) : caution_(caution) {
    std::map<std::string, std::size_t> index;
    for (const timed_problem& one : all) {
      double best = std::numeric_limits<double>::infinity();
      for (const timed_row& row : one.rows) best = std::min(best, row.seconds);
      std::vector<entry> entries;
      for (const timed_row& row : one.rows) {
        const std::size_t group = index.emplace(row.group, index.size()).first->second;
        entries.push_back(
            {group, std::log(row.predicted), std::min(std::log(row.seconds / best), std::log(most_regret))});
      }
      problems_.push_back(std::move(entries));
    }
    names_.resize(index.size());
    for (const auto& [name, k] : index) names_[k] = name;
    shifts_.resize(index.size());
    of_group_.resize(index.size());
    for (std::size_t p = 0; p < problems_.size(); ++p) {
      for (const entry& one : problems_[p]) {
        std::vector<std::size_t>& those = of_group_[one.group];
        if (those.empty() || those.back() != p) those.push_back(p);
      }
    }
  }

  factors run() {
    constexpr double most_shift = 1.1;  // e^1.1: a factor of 3
    for (const double step : {0.3, 0.2, 0.1, 0.05, 0.03}) {
      for (int again = 0; again < 2; ++again) {
        for (std::size_t group = 0; group < shifts_.size(); ++group) {
          const double before = shifts_[group];
          double least = loss_of(group, before), best = before;
          for (const double other : {before - step, before + step}) {
            const double loss = loss_of(group, std::clamp(other, -most_shift, most_shift));
            if (loss < least - 1e-9) least = loss, best = std::clamp(other, -most_shift, most_shift);
          }
          shifts_[group] = best;
        }
      }
    }
    factors made;
    for (std::size_t group = 0; group < shifts_.size(); ++group) {
      if (shifts_[group] != 0) made[names_[group]] = std::exp(shifts_[group]);
    }
    return made;
  }

 private:
  struct entry {
    std::size_t group;
    double predicted, lost;  // logs
  };

  // The part of the loss that depends on a group.
  double loss_of(std::size_t group, double shift) {
    shifts_[group] = shift;
    double sum = caution_ * std::abs(shift);
    for (const std::size_t p : of_group_[group]) {
      double least = std::numeric_limits<double>::infinity();
      for (const entry& one : problems_[p]) least = std::min(least, one.predicted + shifts_[one.group]);
      double weights = 0, lost = 0;
      for (const entry& one : problems_[p]) {
        const double weight = std::exp((least - one.predicted - shifts_[one.group]) / scatter);
        weights += weight, lost += weight * one.lost;
      }
      sum += lost / weights;
    }
    return sum;
  }

  double caution_;
  std::vector<std::vector<entry>> problems_;
  std::vector<std::string> names_;
  std::vector<double> shifts_;
  std::vector<std::vector<std::size_t>> of_group_;
};

}  // namespace

regret_of_all regret_with(const std::vector<timed_problem>& all, const factors& by) {
  std::vector<double> logs;
  for (const timed_problem& one : all) {
    logs.push_back(
        log_regret(one, [&](const timed_row& row) { return std::log(row.predicted) + log_factor(by, row.group); }));
  }
  return summary(logs);
}

factors fit_factors(const std::vector<timed_problem>& all, double caution) { return descent(all, caution).run(); }

factors cross_validated_factors(const std::vector<timed_problem>& all) {
  constexpr std::size_t parts = 5;
  // The last one keeps all factors at 1.
  constexpr double cautions[] = {0.1, 0.3, 1, 3, std::numeric_limits<double>::infinity()};
  double least = std::numeric_limits<double>::infinity(), best = cautions[0];
  for (const double caution : cautions) {
    double sum = 0;
    for (std::size_t part = 0; part < parts; ++part) {
      std::vector<timed_problem> seen, unseen;
      for (std::size_t k = 0; k < all.size(); ++k) (k % parts == part ? unseen : seen).push_back(all[k]);
      const factors made = std::isinf(caution) ? factors{} : fit_factors(seen, caution);
      sum += std::log(regret_with(unseen, made).mean) * static_cast<double>(unseen.size());
    }
    if (sum <= least) least = sum, best = caution;
  }
  return std::isinf(best) ? factors{} : fit_factors(all, best);
}

namespace {

// A row that takes so many times the fastest one's time teaches nothing about the choice.
constexpr double far = 15;
// Two terms that measurements hardly tell apart would grow against each other.
constexpr double most_constant = 5;
// The old constants count as much as so many problems.
constexpr double prior_problems = 1;

std::vector<double> terms_of(const timed_problem& one, const timed_row& row) {
  std::vector<double> terms;
  if (one.is_cached) terms.push_back(1);
  for (const double count : row.counts) terms.push_back(one.is_cached ? count * one.copy_us : count);
  return terms;
}

// In microseconds, or relative to a copy.
double time_of(const timed_problem& one, const timed_row& row) {
  return one.is_cached ? row.seconds * 1e6 : row.seconds * 1e6 / one.copy_us;
}

double sum_of(const std::vector<double>& terms, const std::vector<double>& by) {
  double sum = 0;
  for (std::size_t k = 0; k < terms.size(); ++k) sum += terms[k] * by[k];
  return sum;
}

struct sample {
  std::vector<double> terms;
  double time, closeness;
};

std::vector<double> fitted(const std::vector<sample>& all, const std::vector<double>& start) {
  std::vector<double> made = start, weights;
  for (const sample& one : all) weights.push_back(one.closeness / (one.time * one.time));
  for (int outliers = 0; outliers < 6; ++outliers) {
    for (int round = 0; round < 300; ++round) {
      double change = 0;
      for (std::size_t k = 0; k < made.size(); ++k) {
        double above = 0, below = 0;
        for (std::size_t i = 0; i < all.size(); ++i) {
          const double term = all[i].terms[k];
          const double rest = all[i].time - sum_of(all[i].terms, made) + made[k] * term;
          above += weights[i] * term * rest;
          below += weights[i] * term * term;
        }
        const double prior = prior_problems * below / static_cast<double>(all.size());
        if (below <= 0) continue;
        const double best = std::clamp((above + prior * start[k]) / (below + prior), 0.0, k == 0 ? 1e3 : most_constant);
        change = std::max(change, std::abs(best - made[k]));
        made[k] = best;
      }
      if (change < 1e-5) break;
    }
    for (std::size_t i = 0; i < all.size(); ++i) {
      const double error = std::abs(sum_of(all[i].terms, made) / all[i].time - 1);
      weights[i] = all[i].closeness / (all[i].time * all[i].time) / std::max(error, 0.03);
    }
  }
  return made;
}

}  // namespace

regret_of_all regret_with(const std::vector<timed_problem>& all, const constants& usual, const constants& cached) {
  std::vector<double> logs;
  for (const timed_problem& one : all) {
    const constants& by = one.is_cached ? cached : usual;
    logs.push_back(log_regret(one, [&](const timed_row& row) {
      const auto found = by.find(row.group);
      return found == by.end() ? std::numeric_limits<double>::max() : sum_of(terms_of(one, row), found->second);
    }));
  }
  return summary(logs);
}

constants fit_constants(const std::vector<timed_problem>& all, const constants& start, bool of_cached) {
  std::map<std::string, std::vector<sample>> groups;
  for (const timed_problem& one : all) {
    if (one.is_cached != of_cached) continue;
    double best = std::numeric_limits<double>::infinity();
    for (const timed_row& row : one.rows) best = std::min(best, row.seconds);
    for (const timed_row& row : one.rows) {
      if (row.seconds < far * best)
        groups[row.group].push_back({terms_of(one, row), time_of(one, row), best / row.seconds});
    }
  }
  constants made = start;
  for (const auto& [group, samples] : groups) {
    const auto old = start.find(group);
    if (old != start.end()) made[group] = fitted(samples, old->second);
  }
  return made;
}

}  // namespace cornerturn::bench

// Which iteration of which loop a thread is in, seen from the branch targets that it passes. Lanes of a warp that are in the
// same iteration at the same place execute one instruction together.
//   1. A thread keeps the targets on its way. If it comes to one of them again, this target is the head of a loop: the
//      targets behind it are forgotten, and the loop is in its next iteration
//   2. The forgotten targets belong to the loop. All threads of a launch collect them in a loop_map
//   3. An access belongs to those loops whose targets include the last target before it
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace cornerturn::emulated {

using target = const void*;

class loop_map {
 public:
  void clear() { bodies_.clear(); }
  void add(target head, target member) { bodies_[head].insert(member); }
  [[nodiscard]] bool contains(target head, target member) const {
    const auto found = bodies_.find(head);
    return found != bodies_.end() && found->second.count(member) != 0;
  }

 private:
  std::unordered_map<target, std::unordered_set<target>> bodies_;
};

struct loop_count {
  target head = nullptr;
  int turns = 0;  // iterations before this one
};

class iterations {
 public:
  void clear() { way_.clear(), at_.clear(); }
  void pass(target here, loop_map& loops) {
    const auto [found, is_new] = at_.try_emplace(here, way_.size());
    if (is_new) {
      way_.push_back({here, 0});
      return;
    }
    const std::size_t head = found->second;
    loops.add(here, here);
    for (; way_.size() > head + 1; way_.pop_back()) {
      loops.add(here, way_.back().head);
      at_.erase(way_.back().head);
    }
    ++way_.back().turns;
  }
  [[nodiscard]] target last() const { return way_.empty() ? nullptr : way_.back().head; }
  // Loops, also ended ones, with more than one iteration so far.
  void append_to(std::vector<loop_count>& all) const {
    for (const loop_count& one : way_) {
      if (one.turns > 0) all.push_back(one);
    }
  }

 private:
  std::vector<loop_count> way_;
  std::unordered_map<target, std::size_t> at_;  // its index in way_
};

}  // namespace cornerturn::emulated

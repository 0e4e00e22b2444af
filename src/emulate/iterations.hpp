// Which iteration of which loop a thread is in, seen from the branch targets that it passes. Lanes of a warp that are in the
// same iteration at the same place execute one instruction together.
//   1. A thread keeps the targets on its way. If it comes to one of them again, this target is the head of a loop: the
//      targets behind it are forgotten, and the loop is in its next iteration
//   2. The forgotten targets belong to the loop. All threads of a launch collect them in a loop_map
//   3. An access belongs to those loops whose targets include the last target before it
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_set>
#include <utility>
#include <vector>

namespace cornerturn::emulated {

using target = const void*;

class loop_map {
 public:
  void clear() { members_.clear(); }
  void add(target head, target member) { members_.insert({head, member}); }
  [[nodiscard]] bool contains(target head, target member) const { return members_.count({head, member}) != 0; }

 private:
  struct hash {
    std::size_t operator()(const std::pair<target, target>& one) const {
      return reinterpret_cast<std::size_t>(one.first) * 0x9e3779b97f4a7c15u ^ reinterpret_cast<std::size_t>(one.second);
    }
  };
  std::unordered_set<std::pair<target, target>, hash> members_;  // a loop's head, and a target of the loop
};

struct loop_count {
  target head = nullptr;
  int turns = 0;  // iterations before this one
};

class iterations {
 public:
  void clear() { way_.clear(); }
  void pass(target here, loop_map& loops) {
    std::size_t head = way_.size();
    while (head > 0 && way_[head - 1].head != here) --head;
    if (head == 0) {
      way_.push_back({here, 0});
      return;
    }
    for (std::size_t k = head - 1; k < way_.size(); ++k) loops.add(here, way_[k].head);
    way_.resize(head);
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
};

}  // namespace cornerturn::emulated

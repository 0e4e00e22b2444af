// The one-line calls: a bounded plan cache per thread, so that a hit costs a comparison and no lock.
#include "cornerturn/transpose.hpp"

#include <array>
#include <cstdint>
#include <optional>

#include "api/tuned.hpp"

namespace cornerturn {
namespace {

// 16 plans, recently used plans first. A linear search of more plans would cost more than making a plan.
class plan_cache {
 public:
  const plan& get(const problem& what) {
    // tune() may have found faster kernels.
    if (const std::uint64_t now = api::tuned_generation(); now != generation_) {
      for (auto& one : entries_) one.reset();
      count_ = 0;
      generation_ = now;
    }
    for (std::size_t k = 0; k < count_; ++k) {
      if (entries_[k]->what == what) {
        if (k > 0) std::swap(entries_[k], entries_[k - 1]);
        return entries_[k > 0 ? k - 1 : 0]->how;
      }
    }
    entry fresh{what, plan(what)};
    const std::size_t slot = count_ < entries_.size() ? count_++ : count_ - 1;
    entries_[slot].emplace(std::move(fresh));
    return entries_[slot]->how;
  }

 private:
  struct entry {
    problem what;
    plan how;
  };
  std::array<std::optional<entry>, 16> entries_;
  std::size_t count_ = 0;
  std::uint64_t generation_ = 0;
};

// If src is dst, the plan is for the problem in place.
const plan& plan_for(const problem& what, const void* src, const void* dst) {
  static thread_local plan_cache cache;
  if (src != dst) return cache.get(what);
  problem in_place = what;
  in_place.in_place = true;
  return cache.get(in_place);
}

}  // namespace

void move(const problem& what, const void* src, void* dst, void* stream) {
  plan_for(what, src, dst).execute(src, dst, stream);
}

void move(const problem& what, const operands& all, void* stream) {
  plan_for(what, all.src, all.dst).execute(all, stream);
}

}  // namespace cornerturn

// One interface for all that is timed: the library, the copies of the roof, and the peers.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "bench/case.hpp"
#include "bench/memory.hpp"
#include "cornerturn/error.hpp"
#include "cornerturn/plan.hpp"
#include "cornerturn/problem.hpp"

namespace cornerturn::bench {

// A contender made ready for one case: plans are built, threads are chosen.
class runner {
 public:
  runner() = default;
  runner(const runner&) = delete;
  runner& operator=(const runner&) = delete;
  virtual ~runner() = default;
  virtual void run(const std::byte* src, std::byte* dst) = 0;
  [[nodiscard]] virtual std::string detail() const { return ""; }  // the kernel or plan that was chosen
};

struct setup {
  const bench_case& original;
  view what;            // what this runner is to move; smaller than the case when the bench slices it
  int threads;          // 1 for a single-threaded contender
  buffer_pair scratch;  // for planners that measure; the bench refills the source afterwards
  std::string kernel;   // --kernel, or the row of a contender for --regret; ours only
};

enum class role { ours, roof, peer, row };  // row: one kernel forced by its name, for --regret

struct contender {
  std::string name;
  role part = role::peer;
  bool threaded = false;  // false: the bench slices the case over threads, and says so
  std::function<std::unique_ptr<runner>(const setup& how)> prepare;  // returns null: this case is not supported
};

// Effect  what the library is asked to do
[[nodiscard]] problem problem_of(const bench_case& one);

// Effect  the name of the kernel that a call with pointers of this alignment runs: where a plan for a GPU holds a second
//         kernel for misaligned pointers, plan::kernel() names the first
[[nodiscard]] std::string kernel_for(const plan& made, int alignment);

// Effect  the same from the parts of a plan: what plan::kernel() and plan::explain() say
[[nodiscard]] std::string kernel_in(const std::string& explanation, const std::string& aligned, int alignment);

// Effect  the names of the kernels of one backend that --regret tries: all but the reference
[[nodiscard]] std::vector<std::string> row_names(const std::string& backend);

// Effect  true where an error says that a forced kernel does not take this problem, or pointers of this alignment
[[nodiscard]] bool is_refusal(const error& failure);

// Effect  the library through a plan
[[nodiscard]] contender ours();

// Effect  one contender for each kernel that can be forced for this case, but not `chosen`; its prepare never refuses
[[nodiscard]] std::vector<contender> row_contenders(const setup& how, const std::string& chosen);

// Effect  one contender for each row of copies(), or of rewrites() where the case is in place
[[nodiscard]] std::vector<contender> roof_contenders(const bench_case& one);

// Effect  the peers this build links; empty without CORNERTURN_PEERS
[[nodiscard]] std::vector<contender> peers();

// Effect  prepares for `how.threads` threads: directly, or one runner per slice of the longest axis. Null: unsupported.
[[nodiscard]] std::unique_ptr<runner> prepare(const contender& who, const setup& how);

}  // namespace cornerturn::bench

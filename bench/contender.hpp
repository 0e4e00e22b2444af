// One interface for everything that is timed: the library, the copies of the roof, and the peers.
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

// A contender that is prepared for one case: plans are built, and threads are chosen.
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
  view what;            // the elements that this runner permutes; a part of the case when the bench slices it
  int threads;          // 1 for a single-threaded contender
  buffer_pair scratch;  // for planners that measure; the bench refills the source afterwards
  std::string kernel;   // --kernel, or the forced kernel for --regret; only for the library
};

enum class role { ours, roof, peer, row };  // row: one kernel forced by its name, for --regret

struct contender {
  std::string name;
  role part = role::peer;
  bool threaded = false;  // false: the bench slices the case over threads, and marks the result as sliced
  std::function<std::unique_ptr<runner>(const setup& how)> prepare;  // returns null: this case is not supported
};

// Effect  returns the problem that the library solves for this case
[[nodiscard]] problem problem_of(const bench_case& one);

// Effect  returns the name of the kernel that runs for pointers of this alignment. A plan for a GPU may hold other kernels
//         for misaligned pointers, but plan::kernel() only names the first one
[[nodiscard]] std::string kernel_for(const plan& made, int alignment);

// Effect  returns the result of kernel_for from the texts of a plan: `explanation` is plan::explain(), `aligned` is
//         plan::kernel()
[[nodiscard]] std::string kernel_in(const std::string& explanation, const std::string& aligned, int alignment);

// Effect  returns the names of the kernels of one backend that --regret tries: all but the reference
[[nodiscard]] std::vector<std::string> row_names(const std::string& backend);

// Effect  returns true when the error means that a forced kernel does not support this problem, or pointers of this
//         alignment
[[nodiscard]] bool is_refusal(const error& failure);

// Effect  returns the contender for the library, through a plan
[[nodiscard]] contender ours();

// Effect  returns one contender for each kernel that can be forced for this case, except `chosen`. Their `prepare` never
//         refuses
[[nodiscard]] std::vector<contender> row_contenders(const setup& how, const std::string& chosen);

// Effect  returns one contender for each row of copies(), or of rewrites() if the case is in place
[[nodiscard]] std::vector<contender> roof_contenders(const bench_case& one);

// Effect  returns the peers of cases in cache that need no library: loops as a user writes them
[[nodiscard]] std::vector<contender> loops();

// Effect  returns the peers that this build links; empty without CORNERTURN_PEERS
[[nodiscard]] std::vector<contender> peers();

// Effect  prepares for `how.threads` threads: directly, or one runner per slice of the longest axis. Null: unsupported.
[[nodiscard]] std::unique_ptr<runner> prepare(const contender& who, const setup& how);

}  // namespace cornerturn::bench

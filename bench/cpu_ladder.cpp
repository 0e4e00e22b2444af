// The CPU ladder as contenders of one case: the roof, the rungs and the library run in turn, and all are checked.
#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "bench/baselines/baselines.hpp"
#include "bench/bench.hpp"
#include "bench/load.hpp"
#include "bench/measure.hpp"
#include "cornerturn/system.hpp"
#include "ladder/cpu.hpp"

namespace cornerturn::bench {

namespace {

class rung_runner final : public runner {
 public:
  rung_runner(const ladder::cpu_rung& rung, const matrix_loop& what)
      : rung_(rung), shape_{what.rows, what.cols, what.src_ld, what.dst_ld} {}
  void run(const std::byte* src, std::byte* dst) override { rung_.run(src, dst, shape_); }

 private:
  const ladder::cpu_rung& rung_;
  ladder::cpu_matrix shape_;
};

contender contender_of(const ladder::cpu_rung& rung) {
  return {rung.name, role::peer, false, [&rung](const setup& how) -> std::unique_ptr<runner> {
            matrix_loop what;
            if (!matrix_loop::from(how.what, what)) return nullptr;  // one row or column: a copy
            return std::make_unique<rung_runner>(rung, what);
          }};
}

ladder::timing timing_of(const std::string& name, const ladder::matrix_shape& shape, const series& entry,
                         std::int64_t word_bytes, std::string note) {
  ladder::timing made{name, static_cast<int>(word_bytes), shape, {}, std::move(note)};
  for (const double one : entry.seconds) made.milliseconds.push_back(1e3 * one);
  std::sort(made.milliseconds.begin(), made.milliseconds.end());
  return made;
}

}  // namespace

std::vector<ladder::timing> time_cpu_ladder(const ladder::matrix_shape& shape, int word_bytes, int repetitions,
                                            int threads, std::string_view rung) {
  if (shape.batch != 1) throw std::invalid_argument("the CPU's rungs move one matrix");
  memory pool(false, cpu().l3_bytes);
  measure_options options;
  options.rounds = repetitions;
  for (const ladder::cpu_rung& one : ladder::cpu_rungs()) {
    if (one.word_bytes == word_bytes && ladder::is_named(one.name, rung)) options.more.push_back(contender_of(one));
  }
  const bench_case what{"ladder", word_bytes, {shape.rows, shape.cols}, {1, 0}, false, false, "", {}, {}};
  const load_watch watch;
  const result measured = measure_cold(what, threads, pool, options);
  for (const series& entry : measured.entries) {
    if (!entry.wrong.empty()) throw std::runtime_error(entry.name + ": " + entry.wrong);
  }
  const series& roof = *measured.best(role::roof);
  std::string note = roof.name;
  if (const double others = watch.other_cpus(); others > busy_limit) note += fmt::format(", busy {:.2f}", others);
  std::vector<ladder::timing> times{timing_of("00_copy", shape, roof, word_bytes, std::move(note))};
  for (const series& entry : measured.entries) {
    if (entry.part == role::peer) times.push_back(timing_of(entry.name, shape, entry, word_bytes, ""));
  }
  if (ladder::is_named("90_library", rung)) {
    times.push_back(timing_of("90_library", shape, measured.ours(), word_bytes, measured.ours().detail));
  }
  return times;
}

ladder::timed_on cpu_ladder_here(int threads) {
  const cpu_info here = cpu();
  return {here.model, here.simd, threads, "alternating with the copies, cold caches, median"};
}

}  // namespace cornerturn::bench

// The steps of one cold case:
//   1. prepare every contender
//   2. run each contender once to warm up, and check its result
//   3. time rounds in rotating order, each run on the next pair of the pool. In the last round each destination is poisoned
//      before the run and checked after it
// A hot case uses one pair, and a sample is a loop of calls.
#include "bench/measure.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <ctime>
#include <map>

#include "bench/verify.hpp"

namespace cornerturn::bench {

namespace {

// A slow peer gets fewer rounds, so that they fit this budget, but at least three; or one round, if one run exceeds it.
constexpr double slow_peer_budget = 1.0;  // seconds per case
constexpr double hot_sample = 60e-6;      // seconds: 2000 times the cost of reading the clock (~30 ns)
constexpr int hot_samples = 60;

struct entrant {
  std::unique_ptr<runner> ready;
  int planned = 0;
};

double cpu_now() {
  std::timespec now{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

struct stopwatch {
  double cpu = cpu_now();
  std::chrono::steady_clock::time_point wall = std::chrono::steady_clock::now();
  [[nodiscard]] double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - wall).count();
  }
};

struct timing {
  double wall;
  double cpu;
};

timing time_calls(runner& who, const buffer_pair& on, std::int64_t calls) {
  const stopwatch watch;
  for (std::int64_t i = 0; i < calls; ++i) who.run(on.src, on.dst);
  const double wall = watch.seconds();
  return {wall / static_cast<double>(calls), (cpu_now() - watch.cpu) / static_cast<double>(calls)};
}

// Copies of the roof get packed, aligned buffers. All other contenders get the addresses of the case.
buffer_pair addresses(role part, const bench_case& what, const buffer_pair& slot) {
  if (part == role::roof) return slot;
  return {slot.src + what.shift.src, slot.dst + what.shift.dst};
}
std::int64_t dst_bytes(role part, const bench_case& what) {
  return part == role::roof ? what.bytes() : what.dst_span_bytes();
}

// Prepares dst for a run that is checked. `on` is the result of addresses().
void make_ready(role part, const bench_case& what, const buffer_pair& on) {
  memory::poison(on.dst, dst_bytes(part, what));
  if (!what.in_place()) return;
  if (part == role::roof || what.is_packed()) {
    std::memcpy(on.dst, on.src, static_cast<std::size_t>(what.bytes()));
    return;
  }
  const std::int64_t row = what.extents.back() * what.element_bytes, ld = row + what.ld.src * what.element_bytes;
  for (std::int64_t at = 0; at < what.dst_span_bytes(); at += ld) {  // padding between rows keeps the poison
    std::memcpy(on.dst + at, on.src + at, static_cast<std::size_t>(row));
  }
}

// Checks a result. The roof copies bytes in order, or inverts them in place; all other contenders must produce the
// permutation.
std::string check(const series& entry, runner& who, const bench_case& what, const view& moved, const buffer_pair& on) {
  const std::int64_t bytes = dst_bytes(entry.part, what);
  if (entry.part == role::roof && what.in_place()) {
    if (std::memcmp(on.src, on.dst, 1) == 0) return "nothing was rewritten";
    who.run(on.src, on.dst);
  }
  if (!memory::guards_intact(on.dst, bytes)) return "bytes next to dst were written";
  if (memory::poisoned_bytes(on.dst, bytes) != bytes - what.bytes()) return "padding of dst was written, or no element";
  return difference(entry.part == role::roof ? view{1, {{bytes, 1, 1}}} : moved, on.src, on.dst);
}

// 1
void enter(const contender& who, const setup& how, memory& pool, result& into, std::vector<entrant>& entrants) {
  auto ready = prepare(who, how);
  if (ready == nullptr) return;
  if (who.part == role::peer) pool.refill(how.scratch.src, how.original.bytes());
  series entry;
  entry.name = who.name;
  entry.part = who.part;
  entry.detail = ready->detail();
  entry.sliced = how.threads > 1 && !who.threaded;
  into.entries.push_back(std::move(entry));
  entrants.push_back({std::move(ready), 0});
}

std::vector<entrant> enter_all(const bench_case& what, int threads, memory& pool, const measure_options& options,
                               const buffer_pair& scratch, result& into) {
  std::vector<entrant> entrants;
  into.offers = offers_for(what, threads, machine::cpu);
  const setup how{what, full_view(what), threads, scratch, options.kernel};
  enter(ours(), how, pool, into, entrants);
  for (const contender& who : roof_contenders(what)) enter(who, how, pool, into, entrants);
  if (options.with_peers && !what.in_place()) {  // peers do not run cases in place
    for (const contender& who : peers()) enter(who, how, pool, into, entrants);
    for (const contender& who : what.hot ? loops() : std::vector<contender>()) enter(who, how, pool, into, entrants);
  }
  for (const contender& who : options.more) enter(who, how, pool, into, entrants);
  if (options.regret) {
    const std::string chosen = into.ours().detail;
    for (const contender& who : row_contenders(how, chosen)) enter(who, how, pool, into, entrants);
  }
  return entrants;
}

// Spreads `planned` runs evenly over `rounds` rounds. The last round always has one.
bool runs_in(int round, int rounds, int planned) {
  return static_cast<std::int64_t>(round + 1) * planned / rounds > static_cast<std::int64_t>(round) * planned / rounds;
}

}  // namespace

quartiles series::gb_s(std::int64_t bytes_one_side) const {
  const quartiles each = time();
  const double gigabytes = 2e-9 * static_cast<double>(bytes_one_side);
  const auto rate = [gigabytes](double one) { return one > 0 ? gigabytes / one : 0; };
  return {rate(each.q3), rate(each.median), rate(each.q1)};
}

const series* result::best(role part) const {
  const series* fastest = nullptr;
  for (const series& entry : entries) {
    if (entry.part != part || !entry.wrong.empty() || entry.seconds.empty()) continue;
    if (fastest == nullptr || entry.time().median < fastest->time().median) fastest = &entry;
  }
  return fastest;
}

double result::roof_gb_s() const {
  const series* roof = best(role::roof);
  return roof == nullptr ? 0 : what.roof * median_gb_s(*roof);
}

quartiles result::share() const {
  const double roof = roof_gb_s();
  if (roof <= 0) return {};
  const quartiles rate = ours().gb_s(what.bytes());
  return {rate.q1 / roof, rate.median / roof, rate.q3 / roof};
}

quartiles result::place_shares() const {
  const series* roof = best(role::roof);
  std::map<int, std::vector<double>> by_place;
  for (std::size_t i = 0; i < ours().places.size(); ++i) by_place[ours().places[i]].push_back(ours().seconds[i]);
  if (roof == nullptr || by_place.empty()) return {};
  std::vector<double> shares;
  for (const auto& [place, seconds] : by_place) {
    shares.push_back(roof->time().median / what.roof / quartiles_of(seconds).median);
  }
  const auto [low, high] = std::minmax_element(shares.begin(), shares.end());
  return {*low, quartiles_of(shares).median, *high};
}

const series& result::fastest_kernel() const {
  const series* fastest = &ours();
  const series* const row = best(role::row);
  if (row != nullptr && (!ours().wrong.empty() || row->time().median < ours().time().median)) fastest = row;
  return *fastest;
}

double result::regret() const {
  if (!ours().wrong.empty() || ours().seconds.empty()) return 0;
  return ours().time().median / fastest_kernel().time().median;
}

const plan_offer* result::offer_of(std::string_view kernel) const {
  const auto found =
      std::find_if(offers.begin(), offers.end(), [kernel](const plan_offer& one) { return kernel == one.kernel; });
  return found == offers.end() ? nullptr : &*found;
}

double result::predicted_share() const {
  const plan_offer* const offer = offer_of(ours().detail);
  return offer == nullptr || offer->time <= 0 ? 0 : 1 / offer->time;
}

bool result::any_wrong() const {
  return std::any_of(entries.begin(), entries.end(), [](const series& entry) { return !entry.wrong.empty(); });
}

std::vector<plan_offer> offers_for(const bench_case& what, int threads, machine on) {
  try {
    return offers(problem_of(what), {.machine = on == machine::cpu ? "cpu" : "",
                                     .alignment = static_cast<int>(base_alignment(what)),
                                     .threads = threads});
  } catch (const error&) {
    return {};  // the library refuses the case, and its runner reports the error
  }
}

result measure_cold(const bench_case& what, int threads, memory& pool, const measure_options& options) {
  result outcome{what, threads, 0, {}, 0};
  const view moved = full_view(what);
  const std::vector<buffer_pair> pairs = pool.pairs(what.buffer_bytes());
  outcome.pairs = pairs.size();
  std::vector<entrant> entrants = enter_all(what, threads, pool, options, pairs.front(), outcome);  // 1

  std::size_t next = 0;
  const auto next_pair = [&](role part) { return addresses(part, what, pairs[next++ % pairs.size()]); };
  double fastest = 1e300;
  int rounds = std::max(1, options.rounds);
  for (std::size_t i = 0; i < entrants.size(); ++i) {  // 2
    series& entry = outcome.entries[i];
    const buffer_pair on = next_pair(entry.part);
    make_ready(entry.part, what, on);
    const double once = time_calls(*entrants[i].ready, on, 1).wall;
    entry.wrong = check(entry, *entrants[i].ready, what, moved, on);
    if (entry.part == role::ours && options.min_time > once * rounds) {
      rounds = static_cast<int>(std::ceil(options.min_time / once));
    }
    entrants[i].planned = rounds;
    if (entry.part != role::roof) fastest = std::min(fastest, once);
    if (entry.part == role::row && once > hopeless * fastest) {
      entrants[i].planned = 0;
      entry.seconds.push_back(once);
    }
    if (entry.part == role::peer && once * rounds > slow_peer_budget) {
      entrants[i].planned = once > slow_peer_budget ? 1 : std::min(rounds, std::max(3, int(slow_peer_budget / once)));
    }
  }
  for (int round = 0; round < rounds; ++round) {  // 3
    for (std::size_t turn = 0; turn < entrants.size(); ++turn) {
      const std::size_t i = (turn + static_cast<std::size_t>(round)) % entrants.size();
      if (!runs_in(round, rounds, entrants[i].planned)) continue;
      series& entry = outcome.entries[i];
      const buffer_pair on = next_pair(entry.part);
      const bool last = round == rounds - 1;
      if (last) make_ready(entry.part, what, on);
      const timing took = time_calls(*entrants[i].ready, on, 1);
      entry.seconds.push_back(took.wall);
      entry.cpu_seconds.push_back(took.cpu);
      if (last && entry.wrong.empty()) entry.wrong = check(entry, *entrants[i].ready, what, moved, on);
    }
  }
  return outcome;
}

result measure_hot(const bench_case& what, memory& pool, const measure_options& options) {
  result outcome{what, 1, 1, {}, 0};
  const view moved = full_view(what);
  const buffer_pair pair = pool.pair(what.buffer_bytes());
  std::vector<entrant> entrants = enter_all(what, 1, pool, options, pair, outcome);
  double fastest = 1e300;
  std::vector<bool> left_out(entrants.size());
  for (std::size_t i = 0; i < entrants.size(); ++i) {
    series& entry = outcome.entries[i];
    const buffer_pair on = addresses(entry.part, what, pair);
    make_ready(entry.part, what, on);
    entrants[i].ready->run(on.src, on.dst);
    entry.wrong = check(entry, *entrants[i].ready, what, moved, on);
    double once = time_calls(*entrants[i].ready, on, 3).wall;
    if (once < hot_sample) once = std::min(once, time_calls(*entrants[i].ready, on, 30).wall);
    once = std::max(1e-9, once);
    entry.calls_per_sample = std::max<std::int64_t>(1, std::int64_t(hot_sample / once));
    if (entry.part != role::roof) fastest = std::min(fastest, once);
    if (entry.part == role::row && once > hopeless * fastest) {
      left_out[i] = true;
      entry.seconds.push_back(once);
    }
  }
  const double needed = options.min_time / hot_sample;
  const int samples = std::max(hot_samples, static_cast<int>(std::min(needed, 1e6)));
  for (int sample = 0; sample < samples; ++sample) {
    for (std::size_t turn = 0; turn < entrants.size(); ++turn) {
      const std::size_t i = (turn + static_cast<std::size_t>(sample)) % entrants.size();
      if (left_out[i]) continue;
      series& entry = outcome.entries[i];
      const buffer_pair on = addresses(entry.part, what, pair);
      const bool last = sample == samples - 1;
      entrants[i].ready->run(on.src, on.dst);  // loads the pair into the caches again
      const timing took = time_calls(*entrants[i].ready, on, entry.calls_per_sample);
      entry.seconds.push_back(took.wall);
      entry.cpu_seconds.push_back(took.cpu);
      if (!last) continue;
      make_ready(entry.part, what, on);
      entrants[i].ready->run(on.src, on.dst);
      if (entry.wrong.empty()) entry.wrong = check(entry, *entrants[i].ready, what, moved, on);
    }
  }
  return outcome;
}

}  // namespace cornerturn::bench

// The steps of one case on a GPU:
//   1. run each contender once into a poisoned dst, and check its result. With --regret this run is timed, and forced
//      kernels that are far too slow are left out of the next steps
//   2. run two more rounds to warm up
//   3. run the timed rounds, with an event before and after each run. All runs are enqueued before the first one ends
//   4. run each contender once more, and check its result
// For a case that stays in L2, a run is a graph of calls on one pair of buffers.
//
// The order of contenders changes from round to round, and each contender visits all pairs.
#include <algorithm>
#include <map>
#include <numeric>
#include <optional>

#include "bench/cuda/call.hpp"
#include "bench/cuda/call_graph.hpp"
#include "bench/cuda/contender.hpp"
#include "bench/cuda/copies.hpp"
#include "bench/cuda/fill.hpp"
#include "bench/cuda/pool.hpp"
#include "bench/cuda/verify.hpp"
#include "bench/gpu.hpp"
#include "cornerturn/error.hpp"
#include "cornerturn/system.hpp"

namespace cornerturn::bench {

namespace cuda {
namespace {

constexpr int warm_rounds = 2;
constexpr int graph_rounds = 21;
constexpr std::int64_t host_lead = 100000;  // nanoseconds for the host to run ahead

// Number of calls in one graph, which takes about half a millisecond: a call takes about 2 us plus its bytes at 3.5 TB/s.
std::int64_t calls_in_graph(std::int64_t bytes) {
  const double each = 2e-6 + 2.0 * static_cast<double>(bytes) / 3.5e12;
  return std::clamp(static_cast<std::int64_t>(5e-4 / each), std::int64_t{8}, std::int64_t{200});
}

// Two findings for each contender: one of its first checked run, one of its last.
class findings {
 public:
  findings(std::size_t contenders, cudaStream_t on) : count_(2 * contenders), on_(on) {
    must(cudaMalloc(&on_device_, count_ * sizeof(finding)), "cudaMalloc of the findings");
    must(cudaMemsetAsync(on_device_, 0xff, count_ * sizeof(finding), on), "cudaMemsetAsync");
  }
  ~findings() { cudaFree(on_device_); }
  findings(const findings&) = delete;
  findings& operator=(const findings&) = delete;
  [[nodiscard]] finding* at(std::size_t contender, int which) const {
    return static_cast<finding*>(on_device_) + 2 * contender + static_cast<std::size_t>(which);
  }
  [[nodiscard]] std::vector<std::string> sentences() const {  // one for each contender; waits for the device
    std::vector<finding> found(count_);
    must(cudaMemcpyAsync(found.data(), on_device_, count_ * sizeof(finding), cudaMemcpyDeviceToHost, on_), "findings");
    must(cudaStreamSynchronize(on_), "cudaStreamSynchronize");
    std::vector<std::string> texts;
    for (std::size_t i = 0; i < count_; i += 2) {
      const std::string first = sentence(found[i]);
      texts.push_back(first.empty() ? sentence(found[i + 1]) : first);
    }
    return texts;
  }

 private:
  std::size_t count_;
  cudaStream_t on_;
  void* on_device_ = nullptr;
};

class meter {
 public:
  meter(const bench_case& what, device_pool& pool, const gpu_options& options, cudaStream_t on, int placement)
      : what_(what), options_(options), on_(on), placement_(placement), pairs_(pool.pairs(what)) {
    entrants_ = enter_all(what, {options.with_peers, options.kernel, options.regret});
    found_.emplace(entrants_.size(), on);
    graphs_.resize(entrants_.size());
    refused_.resize(entrants_.size());
    left_out_.resize(entrants_.size());
    moved_ = full_view(what);
    std::int64_t word = 16;
    while (what.bytes() % word != 0) word /= 2;
    copied_ = {word, {{what.bytes() / word, 1, 1}}};
  }

  result measure() {
    outcome_.what = what_;
    outcome_.pairs = pairs_.size();
    outcome_.offers = offers_for(what_, 0, machine::gpu);
    for (const entrant& who : entrants_) {
      series entry;
      entry.name = who.name;
      entry.part = who.part;
      entry.detail = who.ready ? who.ready->detail() : "";
      entry.wrong = who.refusal;
      entry.calls_per_sample = what_.hot ? calls_in_graph(what_.bytes()) : 1;
      outcome_.entries.push_back(std::move(entry));
    }
    for (std::size_t i = 0; i < entrants_.size(); ++i) {
      if (what_.hot) capture(i);
      checked_run(i, 0);  // 1
    }
    if (options_.regret) leave_out_hopeless();
    const int rounds = what_.hot ? std::max(graph_rounds, options_.rounds) : std::max(1, options_.rounds);
    timed_rounds(rounds);  // 2, 3
    for (std::size_t i = 0; i < entrants_.size(); ++i) {
      if (!left_out_[i]) checked_run(i, 1);  // 4
    }
    const std::vector<std::string> wrong = found_->sentences();
    for (std::size_t i = 0; i < entrants_.size(); ++i) {
      if (outcome_.entries[i].wrong.empty()) outcome_.entries[i].wrong = wrong[i];
    }
    read_clocks();
    drop_refused();
    return std::move(outcome_);
  }

 private:
  [[nodiscard]] bool runs(std::size_t i) const { return outcome_.entries[i].wrong.empty(); }

  // If a contender fails, it is left out. If the device fails, the measurement ends.
  template <class Body>
  void guarded(std::size_t i, const Body& body) {
    if (!runs(i)) return;
    try {
      body();
    } catch (const device_failure&) {
      throw;
    } catch (const std::exception& failure) {
      const auto* said = dynamic_cast<const error*>(&failure);
      refused_[i] = entrants_[i].part == role::row && said != nullptr && is_refusal(*said);
      outcome_.entries[i].wrong = failure.what();
      if (outcome_.entries[i].wrong.empty()) outcome_.entries[i].wrong = "failed";
    }
  }

  // A peer may load its kernel in its first call, which a capture may forbid: so the first call is not captured.
  void capture(std::size_t i) {
    guarded(i, [&] {
      const buffer_pair at = addresses(i, pairs_.front());
      if (entrants_[i].part == role::peer) entrants_[i].ready->enqueue(at.src, at.dst, on_);
      graphs_[i] = std::make_unique<call_graph>(*entrants_[i].ready, at, outcome_.entries[i].calls_per_sample, on_);
    });
  }

  // Copies of the roof get packed, aligned buffers. All other contenders get the addresses of the case.
  [[nodiscard]] buffer_pair addresses(std::size_t i, const buffer_pair& slot) const {
    if (entrants_[i].part == role::roof) return slot;
    return {slot.src + what_.shift.src, slot.dst + what_.shift.dst};
  }

  void run(std::size_t i, const buffer_pair& pair) {
    if (graphs_[i] != nullptr) {
      graphs_[i]->launch(on_);
      return;
    }
    const buffer_pair at = addresses(i, pair);
    entrants_[i].ready->enqueue(at.src, at.dst, on_);
  }

  // In a case in place, dst starts as a copy of src. Padding between its rows keeps the poison.
  void prepare_dst(std::size_t i, const buffer_pair& at) {
    const bool is_roof = entrants_[i].part == role::roof;
    fill_poison(at.dst, is_roof ? what_.bytes() : what_.dst_span_bytes(), on_);
    if (is_roof || !what_.in_place()) return;
    if (what_.is_packed()) {
      must(cudaMemcpyAsync(at.dst, at.src, static_cast<std::size_t>(what_.bytes()), cudaMemcpyDeviceToDevice, on_),
           "cudaMemcpyAsync");
      return;
    }
    const std::int64_t row = what_.extents.back() * what_.element_bytes, rows = what_.bytes() / row;
    const auto pitch = static_cast<std::size_t>(row + what_.ld.src * what_.element_bytes);
    must(cudaMemcpy2DAsync(at.dst, pitch, at.src, pitch, static_cast<std::size_t>(row), static_cast<std::size_t>(rows),
                           cudaMemcpyDeviceToDevice, on_),
         "cudaMemcpy2DAsync");
  }

  void checked_run(std::size_t i, int which) {
    guarded(i, [&] {
      const std::size_t place = (i + static_cast<std::size_t>(which)) % pairs_.size();
      const buffer_pair& pair = pairs_[place];
      const buffer_pair at = addresses(i, pair);
      prepare_dst(i, at);
      const bool is_timed = options_.regret && which == 0;
      if (is_timed) first_clocks_.emplace(i, std::pair<event, event>{}).first->second.first.record(on_);
      run(i, pair);
      if (is_timed) first_clocks_.at(i).second.record(on_);
      compare(entrants_[i].part == role::roof ? copied_ : moved_, at.src, at.dst, found_->at(i, which), on_);
      find_changed(pair.src, device_pool::source_bytes(what_), device_pool::source_seed(place),
                   &found_->at(i, which)->source, on_);
    });
  }

  // Leaves out forced kernels that are far slower than the fastest one. They keep the time of their first run.
  void leave_out_hopeless() {
    must(cudaStreamSynchronize(on_), "cudaStreamSynchronize");
    double fastest = 1e300;
    std::vector<double> first(entrants_.size(), 0);
    for (std::size_t i = 0; i < entrants_.size(); ++i) {
      if (entrants_[i].part == role::roof || entrants_[i].part == role::peer || !runs(i)) continue;
      const auto& [begin, end] = first_clocks_.at(i);
      first[i] = end.seconds_since(begin) / static_cast<double>(outcome_.entries[i].calls_per_sample);
      fastest = std::min(fastest, first[i]);
    }
    for (std::size_t i = 0; i < entrants_.size(); ++i) {
      if (entrants_[i].part != role::row || !runs(i) || first[i] <= hopeless * fastest) continue;
      left_out_[i] = true;
      outcome_.entries[i].seconds.push_back(first[i]);
      outcome_.entries[i].places.push_back(placement_ * static_cast<int>(pairs_.size()) +
                                           static_cast<int>(i % pairs_.size()));
    }
  }

  void drop_refused() {
    std::vector<series> kept;
    for (std::size_t i = 0; i < outcome_.entries.size(); ++i) {
      if (!refused_[i]) kept.push_back(std::move(outcome_.entries[i]));
    }
    outcome_.entries = std::move(kept);
  }

  void timed_rounds(int rounds) {
    std::vector<std::size_t> active;
    for (std::size_t i = 0; i < entrants_.size(); ++i) {
      if (runs(i) && !left_out_[i]) active.push_back(i);
    }
    const std::size_t n = active.size(), pairs = pairs_.size();
    // The order of contenders rotates by `step` in each round. n - step and the number of pairs have no common divisor, so
    // each contender visits all pairs.
    std::size_t step = 1;
    while (step < n && std::gcd(n - step, pairs) != 1) ++step;
    std::size_t next = 0;
    events_ = std::vector<event>(2 * n * static_cast<std::size_t>(rounds));
    spin(host_lead, on_);
    for (int round = -warm_rounds; round < rounds; ++round) {
      for (std::size_t turn = 0; turn < n; ++turn) {
        const std::size_t i = active[(turn + static_cast<std::size_t>(round + warm_rounds) * step) % n];
        const std::size_t place = next++ % pairs;
        guarded(i, [&] {
          if (round < 0) {
            run(i, pairs_[place]);
            return;
          }
          const std::size_t first = 2 * samples_.size();
          events_[first].record(on_);
          run(i, pairs_[place]);
          events_[first + 1].record(on_);
          samples_.push_back({i, static_cast<int>(place)});
        });
      }
    }
  }

  void read_clocks() {
    for (std::size_t k = 0; k < samples_.size(); ++k) {
      series& entry = outcome_.entries[samples_[k].contender];
      const double took = events_[2 * k + 1].seconds_since(events_[2 * k]);
      entry.seconds.push_back(took / static_cast<double>(entry.calls_per_sample));
      entry.places.push_back(placement_ * static_cast<int>(pairs_.size()) + samples_[k].place);
    }
  }

  struct sample {
    std::size_t contender;
    int place;
  };

  const bench_case& what_;
  const gpu_options& options_;
  cudaStream_t on_;
  int placement_;
  std::vector<buffer_pair> pairs_;
  std::vector<entrant> entrants_;
  std::optional<findings> found_;
  std::vector<std::unique_ptr<call_graph>> graphs_;
  std::vector<sample> samples_;
  std::vector<event> events_;                                    // two for each sample: before and after
  std::map<std::size_t, std::pair<event, event>> first_clocks_;  // of --regret: the first run of each contender
  std::vector<bool> refused_;   // a kernel that takes the problem, but not pointers of this alignment
  std::vector<bool> left_out_;  // contenders without timed rounds
  view moved_, copied_;
  result outcome_;
};

result refused(const bench_case& what, const std::string& why) {
  result outcome;
  outcome.what = what;
  series ours;
  ours.name = "cornerturn";
  ours.part = role::ours;
  ours.wrong = why;
  outcome.entries.push_back(std::move(ours));
  return outcome;
}

// The clocks of an idle device rise slowly. This case is for a fifth of a second of untimed copies before the first timed run.
const bench_case& alarm() {
  static const bench_case some{"", 4, {8192, 8192}, {1, 0}, true, false, ""};
  return some;
}

void wake_up(device_pool& pool, const stream& on) {
  const bench_case& some = alarm();
  const std::vector<buffer_pair> pairs = pool.pairs(some);
  for (int i = 0; i < 1500; ++i) device_copies()[1].enqueue(pairs[0].src, pairs[0].dst, some.bytes(), on);
  on.wait();
}

std::string version_text(int version) {
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

void join(result& into, result&& more) {
  for (std::size_t i = 0; i < into.entries.size() && i < more.entries.size(); ++i) {
    series& one = into.entries[i];
    series& other = more.entries[i];
    if (other.name != one.name) continue;  // only one placement has timed this kernel
    one.seconds.insert(one.seconds.end(), other.seconds.begin(), other.seconds.end());
    one.places.insert(one.places.end(), other.places.begin(), other.places.end());
    if (one.wrong.empty()) one.wrong = std::move(other.wrong);
  }
}

}  // namespace
}  // namespace cuda

gpu_facts look_at_gpu(int ordinal) {
  for (const backend_info& one : backends()) {  // one sentence for a missing driver, as in every other command
    if (one.id == device::cuda && !one.present) throw error(status::no_device, one.detail);
  }
  int count = 0;
  cuda::must(cudaGetDeviceCount(&count), "cudaGetDeviceCount");
  if (ordinal >= count) {
    throw error(status::no_device,
                "there is no GPU " + std::to_string(ordinal) + ", wanted 0 to " + std::to_string(count - 1));
  }
  cuda::must(cudaSetDevice(ordinal), "cudaSetDevice");
  cudaDeviceProp found{};
  cuda::must(cudaGetDeviceProperties(&found, ordinal), "cudaGetDeviceProperties");
  int runtime = 0, driver = 0;
  cuda::must(cudaRuntimeGetVersion(&runtime), "cudaRuntimeGetVersion");
  cuda::must(cudaDriverGetVersion(&driver), "cudaDriverGetVersion");
  return {found.name,
          "sm_" + std::to_string(found.major * 10 + found.minor),
          found.multiProcessorCount,
          found.l2CacheSize,
          static_cast<std::int64_t>(found.totalGlobalMem),
          cuda::version_text(runtime),
          cuda::version_text(driver)};
}

std::vector<gpu_peer> gpu_peers() {
  using cuda::cutensor_kernels;
  const bool is_cublas_here = cuda::cublas_is_found();
  return {{"cublas_geam", "", is_cublas_here ? "" : "libcublas is not found; CORNERTURN_CUBLAS may name its file"},
          {"cutensor", cuda::cutensor_version(), cuda::cutensor_absence(cutensor_kernels::shipped)},
          {"cutensor_jit", cuda::cutensor_version(), cuda::cutensor_absence(cutensor_kernels::compiled)}};
}

std::vector<result> measure_on_gpu(int ordinal, const std::vector<bench_case>& cases, const gpu_options& options,
                                   const std::function<void(const result&, int)>& done, std::string& failure) {
  std::vector<result> results;
  std::string at = "the start";
  try {
    const gpu_facts facts = look_at_gpu(ordinal);
    const cuda::stream on;
    cuda::device_pool pool(facts.l2_bytes, on);
    std::vector<bench_case> all = cases;
    all.push_back(cuda::alarm());
    pool.reserve(all);
    cuda::wake_up(pool, on);
    for (int placement = 0; placement < options.placements; ++placement) {
      if (placement > 0) pool.move(placement);
      for (std::size_t i = 0; i < cases.size(); ++i) {
        at = cases[i].name();
        result one;
        try {
          one = cuda::meter(cases[i], pool, options, on, placement).measure();
        } catch (const cuda::device_failure&) {
          throw;
        } catch (const std::exception& refusal) {
          one = cuda::refused(cases[i], refusal.what());
        }
        one.device = "cuda:" + std::to_string(ordinal);
        one.threads = 0;
        done(one, placement);
        if (placement == 0) {
          results.push_back(std::move(one));
        } else {
          cuda::join(results[i], std::move(one));
        }
      }
    }
  } catch (const cuda::device_failure& broken) {
    failure = at + ": " + broken.what();
  }
  return results;
}

}  // namespace cornerturn::bench

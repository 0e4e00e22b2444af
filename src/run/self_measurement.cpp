#include "run/self_measurement.hpp"

#include <algorithm>
#include <ctime>
#include <utility>

namespace cornerturn::running {

self_measurement::self_measurement(std::vector<kernels::offer> offers) noexcept : offers_(std::move(offers)) {}

// Other programs that have the core meanwhile count in the time of the wall clock, but not in the time of a thread. On a machine with
// three busy programs for each core, half of the wall clock times of calls of 1 to 30 ms were 2 to 10 times too long (Intel Xeon, model
// 207, 2026-11-27). A team has no such clock.
std::int64_t self_measurement::now() const noexcept {
  const bool is_one_thread =
      std::all_of(offers_.begin(), offers_.end(), [](const auto& one) { return one.threads == 1; });
  std::timespec time{};
  ::clock_gettime(is_one_thread ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC, &time);
  return std::int64_t{1'000'000'000} * time.tv_sec + time.tv_nsec;
}

self_measurement::turn::turn(self_measurement& of) noexcept : of_(of), offer_(&of.offers_.front()) {
  constexpr std::uint64_t one = std::uint64_t{1} << begun_shift;
  const std::uint64_t all = of_.calls_.fetch_add(one + 1, std::memory_order_acq_rel);
  before_ = all >> begun_shift;
  if (before_ >= most_calls) of_.settle();
  // This call is alone if all calls that had begun have ended. It sees their times, as each call stores its time before it ends.
  const kernels::offer* const next = all % one == 0 ? of_.next_try() : nullptr;
  if (const kernels::offer* const known = of_.settled()) {
    offer_ = known;
  } else if (next != nullptr) {
    offer_ = next;
    is_timed_ = true;
  }
}

void self_measurement::turn::took(std::int64_t nanoseconds) noexcept {
  if (of_.calls_.load(std::memory_order_acquire) >> begun_shift != before_ + 1) return;
  const std::size_t number = of_.number_of(*offer_);
  std::atomic<std::int64_t>& time = of_.times_[number];
  const std::int64_t known = time.load(std::memory_order_relaxed), here = std::max<std::int64_t>(nanoseconds, 1);
  time.store(known == 0 ? here : std::min(known, here), std::memory_order_relaxed);
  of_.tries_[number].fetch_add(1, std::memory_order_relaxed);
  if (of_.next_try() == nullptr) of_.settle();
}

const kernels::offer* self_measurement::next_try() const noexcept {
  for (const kernels::offer& one : offers_) {  // 1
    if (time_of(one) == 0) return &one;
  }
  for (const kernels::offer& one : offers_) {  // 2
    const auto is_faster = [&, time = time_of(one)](const kernels::offer& other) { return time_of(other) < time; };
    const bool is_finalist = std::count_if(offers_.begin(), offers_.end(), is_faster) < finalists;
    if (is_finalist && tries_[number_of(one)].load(std::memory_order_relaxed) < 2) return &one;
  }
  return nullptr;
}

// 3. Without a time of the cheapest offer nothing is compared.
void self_measurement::settle() noexcept {
  const kernels::offer* best = &offers_.front();
  auto least = static_cast<std::int64_t>(least_gain * static_cast<double>(time_of(*best)));
  for (const kernels::offer& one : offers_) {
    const std::int64_t time = time_of(one);
    if (time != 0 && time < least) best = &one, least = time;
  }
  const kernels::offer* none = nullptr;
  settled_.compare_exchange_strong(none, best, std::memory_order_release, std::memory_order_relaxed);
}

std::vector<kernels::offer> likely_offers(const map::canonical& form, const planning::cpu_request& wanted,
                                          const base::machine& machine) {
  std::vector<kernels::offer> all = planning::offers(form, wanted, machine);
  const double most = all.empty() ? 0 : self_measurement::most_time * all.front().time;
  std::erase_if(all, [&](const kernels::offer& one) { return one.time > most; });
  if (all.size() > self_measurement::most_offers) all.erase(all.begin() + self_measurement::most_offers, all.end());
  all.shrink_to_fit();
  return all;
}

}  // namespace cornerturn::running

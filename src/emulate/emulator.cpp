#include "emulate/emulator.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <new>
#include <numeric>
#include <tuple>
#include <vector>

#include "emulate/machine.hpp"
#include "emulate/stack_switch.hpp"

#ifdef EMULATOR_ASAN
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif

namespace cornerturn::emulated {

machine the_machine;

// Below each stack is a page that cannot be touched.
void machine::make_fibers(room& in, std::size_t threads) {
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  while (in.fibers.size() < threads) {
    void* memory = mmap(nullptr, stack_bytes + page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) throw std::bad_alloc();
    fiber one;
    one.stack = static_cast<unsigned char*>(memory) + page;
    if (mprotect(one.stack, stack_bytes, PROT_READ | PROT_WRITE) != 0) throw std::bad_alloc();
    in.fibers.push_back(std::move(one));
  }
}

void machine::prepare(fiber& one) {
  one.stack_pointer = prepare_stack(one.stack + stack_bytes, &machine::begin);
  one.fake_stack = nullptr;
  one.now = state::ready;
  one.signals = 0;
  one.has_waited = false;
  one.branches = 0;
  one.given.clear();
  one.heard.clear();
  one.copies.clear();
  one.way.clear();
}

#ifdef EMULATOR_ASAN
__attribute__((no_sanitize("address")))
#endif
void machine::begin() {
  machine& at = the_machine;
#ifdef EMULATOR_ASAN
  __sanitizer_finish_switch_fiber(nullptr, &at.scheduler_stack_, &at.scheduler_stack_bytes_);
#endif
  at.call_(at.job_);
  at.here().now = state::done;
  at.leave();
  std::abort();
}

#ifdef EMULATOR_ASAN
__attribute__((no_sanitize("address")))
#endif
void machine::enter(int thread) {
  current_ = thread;
  fiber& to = here();
#ifdef EMULATOR_ASAN
  void* mine = nullptr;
  __sanitizer_start_switch_fiber(&mine, to.stack, stack_bytes);
#endif
  cornerturn_switch_stack(&scheduler_, to.stack_pointer);
#ifdef EMULATOR_ASAN
  __sanitizer_finish_switch_fiber(mine, nullptr, nullptr);
#endif
  current_ = -1;
}

#ifdef EMULATOR_ASAN
__attribute__((no_sanitize("address")))
#endif
void machine::leave() {
  fiber& from = here();
#ifdef EMULATOR_ASAN
  __sanitizer_start_switch_fiber(from.now == state::done ? nullptr : &from.fake_stack, scheduler_stack_,
                                 scheduler_stack_bytes_);
#endif
  cornerturn_switch_stack(&from.stack_pointer, scheduler_);
#ifdef EMULATOR_ASAN
  __sanitizer_finish_switch_fiber(from.fake_stack, &scheduler_stack_, &scheduler_stack_bytes_);
#endif
}

template <class Index>
void put_in_order(std::vector<Index>& all, order how, std::uint64_t& state_of_shuffle) {
  std::iota(all.begin(), all.end(), Index{0});
  if (how == order::backward) std::reverse(all.begin(), all.end());
  if (how != order::shuffled) return;
  for (std::size_t k = all.size(); k > 1; --k) std::swap(all[k - 1], all[next_random(state_of_shuffle) % k]);
}

// The threads of a block: wavefronts in the order asked for, and the lanes of each.
void machine::put_threads_in_order(std::vector<int>& turns) {
  const auto lanes = static_cast<std::size_t>(of_->wavefront);
  if (lanes == 0) return put_in_order(turns, of_->threads, shuffle_);
  std::vector<std::size_t> waves((turns.size() + lanes - 1) / lanes), order(lanes);
  put_in_order(waves, of_->threads, shuffle_);
  auto to = turns.begin();
  for (const std::size_t wave : waves) {
    put_in_order(order, of_->threads, shuffle_);
    for (const std::size_t lane : order) {
      const std::size_t thread = wave * lanes + lane;
      if (thread < turns.size()) *to++ = static_cast<int>(thread);
    }
  }
}

void machine::start_block(room& in, std::uint32_t block, int threads, int shared_bytes) {
  const auto bytes = static_cast<std::size_t>(shared_bytes);
  in.block = block;
  in.threads = threads;
  in.memory = std::make_unique_for_overwrite<unsigned char[]>(bytes + slack);
  std::memset(in.memory.get(), 0xa5, bytes + slack);
  in.shared = in.memory.get();
  in.shared_end = in.shared + bytes;
  in.first_epoch = ++in.epoch;
  in.known.clear();
  in.log.clear();
  in.loops.clear();
  in.shadows.resize(std::max(in.shadows.size(), bytes));
  make_fibers(in, static_cast<std::size_t>(threads));
  for (int k = 0; k < threads; ++k) prepare(in.fibers[static_cast<std::size_t>(k)]);
}

// Which of the resident blocks goes on: forward the oldest, backward the youngest. Null: all of them wait.
room* machine::next_room(const std::vector<room*>& running) {
  std::vector<room*> able;
  for (room* const one : running) {
    if (can_run(*one)) able.push_back(one);
  }
  if (able.empty()) return nullptr;
  if (of_->threads == order::forward) return able.front();
  return of_->threads == order::backward ? able.back() : able[next_random(shuffle_) % able.size()];
}

// Lets each thread of the block run that can, until it waits or lets others run.
machine::outcome machine::run_on() {
  turns_.resize(static_cast<std::size_t>(in_->threads));
  put_threads_in_order(turns_);
  bool all_stopped = true;
  for (const int thread : turns_) {
    fiber& one = in_->fibers[static_cast<std::size_t>(thread)];
    if (can_run(one)) {
      one.now = state::ready;
      enter(thread);
      if (faulty_ && of_->stop_at_fault) return outcome::faulty;
    }
    all_stopped = all_stopped && (one.now == state::at_barrier || one.now == state::done);
  }
  return all_stopped ? pass_barrier() : outcome::goes_on;
}

// Makes requests of the accesses since the last barrier.
void machine::tell_requests() {
  std::vector<logged>& log = in_->log;
  if (log.empty()) return;
  const int lanes = of_->lanes;
  for (logged& one : log) {
    for (std::size_t k = one.loops; k < one.loops + one.depth; ++k) {
      const loop_count& loop = in_->loops[k];
      if (!loops_.contains(loop.head, one.behind)) continue;
      std::uint64_t mixed = one.iteration ^ number(loop.head) ^ static_cast<std::uint64_t>(loop.turns) << 48;
      one.iteration = next_random(mixed);
    }
  }
  const auto place = [lanes](const logged& one) {
    return std::tuple(one.lane.lane / lanes, one.from, one.what, one.size, one.iteration);
  };
  std::stable_sort(log.begin(), log.end(), [&](const logged& a, const logged& b) {
    return std::tuple(place(a), a.lane.lane) < std::tuple(place(b), b.lane.lane);
  });
  for (std::size_t k = 1; k < log.size(); ++k) {
    const logged& before = log[k - 1];
    if (place(before) == place(log[k]) && before.lane.lane == log[k].lane.lane) log[k].turn = before.turn + 1;
  }
  std::stable_sort(log.begin(), log.end(), [&](const logged& a, const logged& b) {
    return std::tuple(place(a), a.turn) < std::tuple(place(b), b.turn);
  });
  std::vector<lane_access> of_one;
  for (auto one = log.begin(); one != log.end();) {
    of_one.clear();
    const auto first = one;
    for (; one != log.end() && place(*one) == place(*first) && one->turn == first->turn; ++one) {
      of_one.push_back(one->lane);
      of_one.back().lane %= lanes;
    }
    of_->on_request(of_->context, {first->what, first->from, first->size, of_one});
  }
  log.clear();
  in_->loops.clear();
}

// All threads of the block are at a barrier, or have ended.
machine::outcome machine::pass_barrier() {
  int ended = -1, waits = -1;
  for (int k = 0; k < in_->threads; ++k) {
    const fiber& one = in_->fibers[static_cast<std::size_t>(k)];
    if (one.now == state::done) {
      ended = k;
      continue;
    }
    if (waits >= 0 && one.line != in_->fibers[static_cast<std::size_t>(waits)].line) {
      if (of_->fault.empty()) of_->fault_places = {barrier_of(waits), barrier_of(k)};
      fault("thread ", waits, " waits at the barrier of line ", in_->fibers[static_cast<std::size_t>(waits)].line,
            ", thread ", k, " at the barrier of line ", one.line);
      return outcome::faulty;
    }
    waits = k;
  }
  if (waits >= 0 && ended >= 0) {
    if (of_->fault.empty()) of_->fault_places = {barrier_of(waits)};
    fault("thread ", ended, " has ended, thread ", waits, " waits at the barrier of line ",
          in_->fibers[static_cast<std::size_t>(waits)].line);
    return outcome::faulty;
  }
  tell_requests();
  if (waits < 0) {
    for (int k = 0; k < in_->threads; ++k) {
      if (in_->fibers[static_cast<std::size_t>(k)].copies.empty()) continue;
      fault("thread ", k, " ended before a copy that it had started");
    }
    return outcome::ended;
  }
  ++in_->epoch;
  for (int k = 0; k < in_->threads; ++k) {
    fiber& one = in_->fibers[static_cast<std::size_t>(k)];
    one.now = state::ready;
    in_->known.add(one.heard);
    one.heard.clear();
  }
  return outcome::goes_on;
}

// Threads that have not ended are never resumed.
void machine::end_block() {
#ifdef EMULATOR_ASAN
  for (int k = 0; k < in_->threads; ++k) {
    ASAN_UNPOISON_MEMORY_REGION(in_->fibers[static_cast<std::size_t>(k)].stack, stack_bytes);
  }
#endif
  in_->memory.reset();
  in_->shared = in_->shared_end = nullptr;
}

const char* machine::launch(kernel_call call, const void* job, std::size_t job_bytes, int threads, std::uint32_t blocks,
                            int shared_bytes, session& of, bool early) {
  of_ = &of;
  early_ = early;
  call_ = call;
  faulty_ = false;
  since_fault_ = 0;
  job_ = static_cast<const unsigned char*>(job);
  job_bytes_ = job_bytes;
  signals_.clear();
  loops_.clear();
  tracks_bytes_ = !of.record && of.on_request == nullptr;
  loads_dst_ = tracks_bytes_ && loads_dst();
  if (loads_dst_) races_.watch(of.dst.begin, of.dst.end);
  if (tracks_bytes_) {
    stored_.assign(number(of.dst.end) - number(of.dst.begin), false);
    stored_too_.assign(number(of.second.end) - number(of.second.begin), false);
  }
  shuffle_ = of.seed;
  std::vector<std::uint32_t> turns = of.blocks;
  if (turns.empty()) {
    turns.resize(blocks);
    put_in_order(turns, of.threads, shuffle_);
  }
  const auto resident = static_cast<std::size_t>(std::max(of.resident, 1));
  while (rooms_.size() < resident) rooms_.push_back(std::make_unique<room>());
  std::vector<room*> running, free;
  for (std::size_t k = resident; k-- > 0;) free.push_back(rooms_[k].get());
  for (auto next = turns.begin(); of.fault.empty() && (next != turns.end() || !running.empty());) {
    while (next != turns.end() && !free.empty()) {
      start_block(*free.back(), *next++, threads, shared_bytes);
      running.push_back(free.back());
      free.pop_back();
    }
    in_ = next_room(running);
    if (in_ == nullptr) {
      in_ = running.front();
      const auto waits = std::find_if(in_->fibers.begin(), in_->fibers.begin() + in_->threads, [](const fiber& one) {
        return one.now == state::at_flag || one.now == state::at_lane;
      });
      current_ = static_cast<int>(waits - in_->fibers.begin());
      if (waits->now == state::at_lane) {
        fault("waits for the values of all lanes, and not all give one");
      } else {
        fault("waits for a flag to become ", waits->wanted, ", which no block will do");
      }
      current_ = -1;
    } else if (run_on() != outcome::goes_on) {
      end_block();
      running.erase(std::find(running.begin(), running.end(), in_));
      free.push_back(in_);
    }
  }
  for (room* const one : running) in_ = one, end_block();
  in_ = nullptr;
  of_ = nullptr;
  return of.fault.empty() ? nullptr : of.fault.c_str();
}

bool sees_every_access() noexcept {
#ifdef EMULATOR_SEES_EVERY_ACCESS
  return true;
#else
  return false;
#endif
}

const char* launch(kernel_call call, const void* job, std::size_t job_bytes, int threads, std::uint32_t blocks,
                   int shared_bytes, void* stream, bool early) noexcept {
  return the_machine.launch(call, job, job_bytes, threads, blocks, shared_bytes, *static_cast<session*>(stream), early);
}

}  // namespace cornerturn::emulated

#include "emulate/emulator.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <numeric>
#include <sstream>
#include <tuple>
#include <vector>

#include "emulate/global_races.hpp"
#include "emulate/iterations.hpp"
#include "emulate/stack_switch.hpp"

#if defined(__SANITIZE_ADDRESS__)
#define EMULATOR_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define EMULATOR_ASAN 1
#endif
#endif

#ifdef EMULATOR_ASAN
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif

namespace cornerturn::emulated {
namespace {

constexpr std::size_t stack_bytes = 128 << 10;
#ifdef EMULATOR_ASAN
constexpr std::size_t slack = 0;
#else
constexpr std::size_t slack = 64;  // a fault that is only told of must not destroy the heap
#endif

struct copy {
  unsigned char* to;
  const unsigned char* from;
  int size;
};

enum class state { ready, at_barrier, at_flag, done };

struct fiber {
  void* stack_pointer = nullptr;
  unsigned char* stack = nullptr;  // its lowest byte
  void* fake_stack = nullptr;      // AddressSanitizer's
  state now = state::ready;
  unsigned line = 0;  // of the barrier that it waits at
  // At a flag: continues when the flag has this value, or these bits.
  const std::uint32_t* flag = nullptr;
  std::uint32_t wanted = 0;
  bool wants_bits = false;
  std::uint16_t signals = 0;  // sent so far
  knowledge heard;            // since the last barrier
  std::vector<copy> copies;
  iterations way;
};

// The accesses of a thread since the block's last barrier, for counting.
struct logged {
  const void* from = nullptr;  // the place in the text
  access what = access::global_load;
  int size = 0;
  lane_access lane;  // its thread in the block
  target behind = nullptr;
  std::size_t loops = 0;  // of room::loops: the first one, and how many
  std::size_t depth = 0;
  std::uint64_t iteration = 0;  // a number for the iterations of all loops around the place
  int turn = 0;                 // so many accesses of the thread have the place and the iteration in common
};

// Who touched a byte of shared memory last. Epochs count the barriers of all blocks that use the same room.
constexpr std::uint16_t several = 0xffff;
constexpr int most_after_fault = 1 << 20;
constexpr std::uint32_t all_bits = 0xffffffff;  // of a flag that counts
struct shadow {
  std::uint32_t written = 0;
  std::uint32_t read = 0;
  std::uint16_t writer = 0;
  std::uint16_t reader = 0;
  bool on_its_way = false;  // a copy was started and not waited for
};

std::uint64_t number(const void* address) { return reinterpret_cast<std::uint64_t>(address); }
bool within(const void* address, int size, const void* begin, const void* end) {
  return number(address) >= number(begin) && number(address) + static_cast<std::uint64_t>(size) <= number(end);
}

std::uint64_t next_random(std::uint64_t& state) {
  std::uint64_t x = state += 0x9e3779b97f4a7c15u;  // splitmix64
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

// Where one block runs. Rooms are used again; the marks of an earlier block are older than the first epoch.
struct room {
  std::uint32_t block = 0;
  int threads = 0;
  std::unique_ptr<unsigned char[]> memory;
  unsigned char* shared = nullptr;
  unsigned char* shared_end = nullptr;
  std::uint32_t epoch = 0;
  std::uint32_t first_epoch = 0;
  std::vector<fiber> fibers;
  std::vector<shadow> shadows;
  std::vector<logged> log;
  std::vector<loop_count> loops;  // of the log
  knowledge known;                // by all threads, since the last barrier
};

class machine {
 public:
  const char* launch(kernel_call call, const void* job, std::size_t job_bytes, int threads, std::uint32_t blocks,
                     int shared_bytes, session& of);

  void barrier(unsigned line) {
    here().now = state::at_barrier;
    here().line = line;
    leave();
  }
  void load_global(void* value, const void* from, int size) {
    expect_aligned(from, size);
    if (may_be_read(from, size)) {
      count_read(from, size);
      std::memcpy(value, from, static_cast<std::size_t>(size));
      return;
    }
    std::memset(value, 0, static_cast<std::size_t>(size));
    fault("reads ", size, " bytes outside of src, at ", place(from));
  }
  void store_global(void* to, const void* value, int size) {
    expect_aligned(to, size);
    if (!may_be_written(to, size)) {
      return fault("writes ", size, " bytes outside of dst, at ", place(to));
    }
    count_store(to, size);
    std::memcpy(to, value, static_cast<std::size_t>(size));
  }
  void start_copy(void* shared, const void* global, int size) {
    expect_aligned(global, size);
    expect_aligned(shared, size);
    if (!may_be_read(global, size)) {
      return fault("starts a copy of ", size, " bytes outside of src, at ", place(global));
    }
    if (!within(shared, size, in_->shared, in_->shared_end)) {
      return fault("starts a copy of ", size, " bytes outside of shared memory, at ", place(shared));
    }
    count_read(global, size);
    write_shared(shared, size, true);
    here().copies.push_back({static_cast<unsigned char*>(shared), static_cast<const unsigned char*>(global), size});
  }
  void wait_for_copies() {
    for (const copy& one : here().copies) {
      if (loads_dst_) count_read(one.from, one.size);  // again: the copy may read as late as this
      write_shared(one.to, one.size, false);
      std::memcpy(one.to, one.from, static_cast<std::size_t>(one.size));
    }
    here().copies.clear();
  }
  void expect_aligned(const void* address, int size) {
    if (of_ != nullptr && number(address) % static_cast<std::uint64_t>(size) != 0) {
      fault("an access of ", size, " bytes is misaligned, at ", place(address));
    }
  }
  bool is_flag(const std::uint32_t* flag) {
    expect_aligned(flag, sizeof *flag);
    if (within(flag, sizeof *flag, of_->flags.begin, of_->flags.end)) return true;
    fault("touches a flag outside of the flags, at ", place(flag));
    return false;
  }
  // Effect  the access to a flag that follows may come before or after the accesses of other blocks
  void let_others_run() {
    if (of_->resident > 1 && of_->threads == order::shuffled && next_random(shuffle_) % 2 == 0) leave();
  }
  void log(const void* from, access what, const void* address, int size, const void* shared = nullptr) {
    if (of_->on_request == nullptr) return;
    const bool is_shared = what == access::shared_load || what == access::shared_store;
    const lane_access lane = {current_, is_shared ? 0 : number(address),
                              is_shared           ? number(address) - number(in_->shared)
                              : shared != nullptr ? number(shared) - number(in_->shared)
                                                  : 0};
    const std::size_t loops = in_->loops.size();
    here().way.append_to(in_->loops);
    in_->log.push_back({from, what, size, lane, here().way.last(), loops, in_->loops.size() - loops});
  }
  // A branch target that the compiler tells of.
  void pass(target from) {
    if (of_ == nullptr || current_ < 0 || inside_ || of_->on_request == nullptr) return;
    const at_work guard(*this);
    here().way.pass(from, loops_);
  }
  // Publishes what the thread may promise to the blocks that wait for these bits.
  void signal(const std::uint32_t* flag, std::uint32_t bits) {
    knowledge& told = signals_.of(flag, bits);
    told.add(in_->known);
    told.add(here().heard);
    told.add(now());
    ++here().signals;
  }
  void wait_for(const std::uint32_t* flag, std::uint32_t value, bool bits) {
    {
      const at_work guard(*this);
      if (!is_flag(flag)) return;
      here().flag = flag, here().wanted = value, here().wants_bits = bits;
    }
    if (of_->on_request == nullptr && !has_its_flag(here())) {
      here().now = state::at_flag;
      leave();
    }
    const at_work guard(*this);
    here().heard.add(signals_.of(flag, bits ? value : all_bits));
  }

  // While the emulator itself works for a thread, its accesses are not the thread's.
  class at_work {
   public:
    explicit at_work(machine& of) : inside_(of.inside_) { inside_ = true; }
    ~at_work() { inside_ = false; }

   private:
    bool& inside_;
  };

  // Behind a fault a loop need not end. A thread that still makes so many accesses never goes on.
  void stop_if_endless() {
    if (!faulty_ || ++since_fault_ < most_after_fault) return;
    here().now = state::done;
    here().copies.clear();
    leave();
  }

  // An access that the compiler tells of.
  void accessed(const void* from, const void* address, int size, bool write) {
    if (of_ == nullptr || current_ < 0 || inside_) return;
    stop_if_endless();
    if (within(address, size, here().stack, here().stack + stack_bytes)) return;
    const at_work guard(*this);
    if (within(address, size, in_->shared, in_->shared_end)) {
      log(from, write ? access::shared_store : access::shared_load, address, size);
      write ? write_shared(address, size, false) : read_shared(address, size);
    } else if (write ? may_be_written(address, size) : may_be_read(address, size)) {
      log(from, write ? access::global_store : access::global_load, address, size);
      write ? count_store(address, size) : count_read(address, size);
    } else if (within(address, size, of_->src.begin, of_->src.end)) {
      fault("writes to src, at ", place(address));
    } else if (within(address, size, of_->dst.begin, of_->dst.end)) {
      fault("reads dst, at ", place(address));
    } else if (write || !within(address, size, job_, job_ + job_bytes_)) {
      fault((write ? "writes " : "reads "), size, " bytes outside of every array, at ", place(address));
    }
  }

  [[nodiscard]] std::uint32_t thread_index() const { return static_cast<std::uint32_t>(current_); }
  [[nodiscard]] std::uint32_t block_index() const { return in_->block; }
  [[nodiscard]] unsigned char* shared_memory() const { return in_->shared; }

 private:
  fiber& here() { return in_->fibers[static_cast<std::size_t>(current_)]; }
  [[nodiscard]] moment now() { return {in_->block, in_->epoch, static_cast<std::uint16_t>(current_), here().signals}; }

  template <class... Parts>
  void fault(const Parts&... what) {
    if (!of_->fault.empty()) return;
    std::ostringstream said;
    said << "block " << in_->block;
    if (current_ >= 0) said << ", thread " << current_;
    said << ": ";
    (said << ... << what);
    of_->fault = said.str();
    faulty_ = true;
  }
  [[nodiscard]] std::string place(const void* address) const {
    const auto from = [&](const char* name, const void* begin) {
      return "byte " + std::to_string(static_cast<std::int64_t>(number(address) - number(begin))) + " of " + name;
    };
    std::int64_t best = INT64_MAX;
    std::string named;
    const auto near = [&](const char* name, const void* begin, const void* end) {
      const std::int64_t below = static_cast<std::int64_t>(number(begin) - number(address));
      const std::int64_t above = static_cast<std::int64_t>(number(address) - number(end));
      const std::int64_t distance = std::max<std::int64_t>({below, above, 0});
      if (distance < best) best = distance, named = from(name, begin);
    };
    near("shared memory", in_->shared, in_->shared_end);
    near("src", of_->src.begin, of_->src.end);
    near("dst", of_->dst.begin, of_->dst.end);
    if (of_->second.begin != nullptr) near("the second array", of_->second.begin, of_->second.end);
    if (of_->flags.begin != nullptr) near("the flags", of_->flags.begin, of_->flags.end);
    return named;
  }

  // Lanes of one wavefront may run in lockstep, which hides a race from a GPU whose wavefronts are as wide.
  [[nodiscard]] const char* lockstep_with(int other) const {
    if (of_->wavefront == 0 || current_ / of_->wavefront != other / of_->wavefront) return "";
    return " (both are lanes of one wavefront, where lockstep may hide it)";
  }

  [[nodiscard]] bool in_place() const { return of_->src.begin == of_->dst.begin; }
  // Whether the launch may load bytes that it also stores.
  [[nodiscard]] bool loads_dst() const {
    return of_->dst_is_read ||
           (number(of_->src.begin) < number(of_->dst.end) && number(of_->dst.begin) < number(of_->src.end));
  }

  [[nodiscard]] bool may_be_read(const void* from, int size) const {
    return within(from, size, of_->src.begin, of_->src.end) || within(from, size, of_->scale.begin, of_->scale.end) ||
           (!of_->second_written && within(from, size, of_->second.begin, of_->second.end)) ||
           ((of_->dst_is_read || in_place()) && within(from, size, of_->dst.begin, of_->dst.end)) ||
           std::any_of(of_->also_read.begin(), of_->also_read.end(),
                       [&](const bytes& one) { return within(from, size, one.begin, one.end); });
  }
  [[nodiscard]] bool may_be_written(const void* to, int size) const {
    return within(to, size, of_->dst.begin, of_->dst.end) ||
           (of_->second_written && within(to, size, of_->second.begin, of_->second.end));
  }

  void count_read(const void* from, int size) {
    if (loads_dst_) {
      const std::uint64_t begin = number(of_->dst.begin), end = number(of_->dst.end), at = number(from);
      for (std::uint64_t k = std::max(at, begin); k < std::min(at + static_cast<std::uint64_t>(size), end); ++k) {
        if (stored_[k - begin]) return fault("reads what was written before, byte ", k - begin, " of dst");
      }
      races_.load(from, size, now());
    }
    if (of_->record) of_->reads.push_back({from, static_cast<const unsigned char*>(from) + size});
  }
  void count_store(const void* to, int size) {
    if (of_->record) return of_->writes.push_back({to, static_cast<const unsigned char*>(to) + size});
    if (!tracks_bytes_) return;
    const bool to_dst = within(to, size, of_->dst.begin, of_->dst.end);
    std::vector<bool>& stored = to_dst ? stored_ : stored_too_;
    const std::uint64_t first = number(to) - number(to_dst ? of_->dst.begin : of_->second.begin);
    for (std::uint64_t k = first; k < first + static_cast<std::uint64_t>(size); ++k) {
      if (stored[k]) {
        return fault("writes what was written before, byte ", k, to_dst ? " of dst" : " of the second array");
      }
      stored[k] = true;
    }
    if (!loads_dst_ || !to_dst) return;
    if (const auto load = races_.store(to, size, now(), in_->known, here().heard)) {
      fault("writes ", place(to), ", which thread ", load->thread, " of block ", load->block,
            " reads, and nothing orders the read before the write");
    }
  }
  void read_shared(const void* address, int size) {
    const std::uint64_t first = number(address) - number(in_->shared);
    for (std::uint64_t k = first; k < first + static_cast<std::uint64_t>(size); ++k) {
      shadow& byte = in_->shadows[k];
      const auto me = static_cast<std::uint16_t>(current_);
      if (byte.on_its_way && byte.written >= in_->first_epoch) {
        fault("reads byte ", k, " of shared memory, to which thread ", byte.writer,
              " has started a copy that it did not wait for");
      } else if (byte.written == in_->epoch && byte.writer != me) {
        fault("reads byte ", k, " of shared memory, which thread ", byte.writer, " wrote, and no barrier was between",
              lockstep_with(byte.writer));
      }
      byte.reader = byte.read == in_->epoch && byte.reader != me ? several : me;
      byte.read = in_->epoch;
    }
  }
  void write_shared(const void* address, int size, bool on_its_way) {
    const std::uint64_t first = number(address) - number(in_->shared);
    for (std::uint64_t k = first; k < first + static_cast<std::uint64_t>(size); ++k) {
      shadow& byte = in_->shadows[k];
      const auto me = static_cast<std::uint16_t>(current_);
      if (byte.written == in_->epoch && byte.writer != me) {
        fault("writes byte ", k, " of shared memory, which thread ", byte.writer,
              " wrote too, and no barrier was between", lockstep_with(byte.writer));
      } else if (byte.read == in_->epoch && byte.reader != me) {
        fault("writes byte ", k, " of shared memory, which ",
              byte.reader == several ? "several threads" : "another thread", " read, and no barrier was between");
      }
      byte.writer = me;
      byte.written = in_->epoch;
      byte.on_its_way = on_its_way;
    }
  }

  static bool has_its_flag(const fiber& one) {
    return one.wants_bits ? (*one.flag & one.wanted) == one.wanted : *one.flag == one.wanted;
  }
  static bool can_run(const fiber& one) {
    return one.now == state::ready || (one.now == state::at_flag && has_its_flag(one));
  }
  [[nodiscard]] static bool can_run(const room& one) {
    return std::any_of(one.fibers.begin(), one.fibers.begin() + one.threads,
                       [](const fiber& thread) { return can_run(thread); });
  }

  void put_threads_in_order(std::vector<int>& turns);
  static void make_fibers(room& in, std::size_t threads);
  static void prepare(fiber& one);
  void start_block(room& in, std::uint32_t block, int threads, int shared_bytes);
  room* next_room(const std::vector<room*>& running);
  enum class outcome { goes_on, ended, faulty };
  outcome run_on();
  outcome pass_barrier();
  void tell_requests();
  void end_block();
  void enter(int thread);
  void leave();
  [[noreturn]] static void begin();

  session* of_ = nullptr;
  kernel_call call_ = nullptr;
  const unsigned char* job_ = nullptr;
  std::size_t job_bytes_ = 0;
  room* in_ = nullptr;  // of the block that runs
  int current_ = -1;    // the thread that runs
  bool inside_ = false;
  bool tracks_bytes_ = false;  // which bytes were stored, and by whom loaded
  bool loads_dst_ = false;
  bool faulty_ = false;
  int since_fault_ = 0;  // accesses
  std::uint64_t shuffle_ = 0;
  std::vector<std::unique_ptr<room>> rooms_;
  std::vector<int> turns_;
  std::vector<bool> stored_;      // of dst
  std::vector<bool> stored_too_;  // of the second array
  global_races races_;            // of dst, where it is loaded too
  signal_board signals_;
  loop_map loops_;
  void* scheduler_ = nullptr;  // its stack pointer while a fiber runs
#ifdef EMULATOR_ASAN
  const void* scheduler_stack_ = nullptr;
  std::size_t scheduler_stack_bytes_ = 0;
#endif
};

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

// Which of the resident blocks goes on: forward the oldest, backward the youngest. Null: all of them wait for flags.
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
    of_->on_request(of_->context, {first->what, first->size, of_one});
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
      fault("thread ", waits, " waits at the barrier of line ", in_->fibers[static_cast<std::size_t>(waits)].line,
            ", thread ", k, " at the barrier of line ", one.line);
      return outcome::faulty;
    }
    waits = k;
  }
  if (waits >= 0 && ended >= 0) {
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
                            int shared_bytes, session& of) {
  of_ = &of;
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
      const auto waits = std::find_if(in_->fibers.begin(), in_->fibers.begin() + in_->threads,
                                      [](const fiber& one) { return one.now == state::at_flag; });
      current_ = static_cast<int>(waits - in_->fibers.begin());
      fault("waits for a flag to become ", waits->wanted, ", which no block will do");
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

}  // namespace

bool sees_every_access() noexcept {
#ifdef EMULATOR_SEES_EVERY_ACCESS
  return true;
#else
  return false;
#endif
}

const char* launch(kernel_call call, const void* job, std::size_t job_bytes, int threads, std::uint32_t blocks,
                   int shared_bytes, void* stream) noexcept {
  return the_machine.launch(call, job, job_bytes, threads, blocks, shared_bytes, *static_cast<session*>(stream));
}

std::uint32_t thread_index() noexcept { return the_machine.thread_index(); }
std::uint32_t block_index() noexcept { return the_machine.block_index(); }
unsigned char* shared_memory() noexcept { return the_machine.shared_memory(); }
void barrier(unsigned line) noexcept { the_machine.barrier(line); }
void load_global(void* value, const void* from, int size) noexcept {
  the_machine.stop_if_endless();
  const machine::at_work guard(the_machine);
  the_machine.log(__builtin_return_address(0), access::global_load, from, size);
  the_machine.load_global(value, from, size);
}
void store_global(void* to, const void* value, int size) noexcept {
  the_machine.stop_if_endless();
  const machine::at_work guard(the_machine);
  the_machine.log(__builtin_return_address(0), access::global_store, to, size);
  the_machine.store_global(to, value, size);
}
void start_copy(void* shared, const void* global, int size) noexcept {
  const machine::at_work guard(the_machine);
  the_machine.log(__builtin_return_address(0), access::async_copy, global, size, shared);
  the_machine.start_copy(shared, global, size);
}
void wait_for_copies() noexcept {
  const machine::at_work guard(the_machine);
  the_machine.wait_for_copies();
}
void copy_word(void* to, const void* from, int size) noexcept {
  {
    const machine::at_work guard(the_machine);
    the_machine.expect_aligned(to, size);
    the_machine.expect_aligned(from, size);
  }
  the_machine.accessed(__builtin_return_address(0), from, size, false);
  the_machine.accessed(__builtin_return_address(0), to, size, true);
  std::memcpy(to, from, static_cast<std::size_t>(size));
}
std::uint32_t read_flag(const std::uint32_t* flag) noexcept {
  the_machine.let_others_run();
  const machine::at_work guard(the_machine);
  the_machine.log(__builtin_return_address(0), access::global_load, flag, sizeof *flag);
  return the_machine.is_flag(flag) ? *flag : 0;
}
bool claim_bit(std::uint32_t* flag, std::uint32_t bit) noexcept {
  the_machine.let_others_run();
  const machine::at_work guard(the_machine);
  the_machine.log(__builtin_return_address(0), access::atomic, flag, sizeof *flag);
  if (!the_machine.is_flag(flag)) return false;
  const std::uint32_t before = *flag;
  *flag = before | bit;
  return (before & bit) == 0;
}
void publish_bit(std::uint32_t* flag, std::uint32_t bit) noexcept {
  the_machine.let_others_run();
  const machine::at_work guard(the_machine);
  the_machine.log(__builtin_return_address(0), access::atomic, flag, sizeof *flag);
  if (!the_machine.is_flag(flag)) return;
  *flag |= bit;
  the_machine.signal(flag, bit);
}
void wait_for_bit(const std::uint32_t* flag, std::uint32_t bit) noexcept {
  the_machine.log(__builtin_return_address(0), access::global_load, flag, sizeof *flag);
  the_machine.wait_for(flag, bit, true);
}
void raise_flag(std::uint32_t* flag) noexcept {
  the_machine.let_others_run();
  const machine::at_work guard(the_machine);
  the_machine.log(__builtin_return_address(0), access::atomic, flag, sizeof *flag);
  if (!the_machine.is_flag(flag)) return;
  ++*flag;
  the_machine.signal(flag, all_bits);
}
void wait_for_flag(const std::uint32_t* flag, std::uint32_t value) noexcept {
  the_machine.log(__builtin_return_address(0), access::global_load, flag, sizeof *flag);
  the_machine.wait_for(flag, value, false);
}

}  // namespace cornerturn::emulated

// ---- what instrumented code calls: g++ -fsanitize=thread, without its library; clang's trace-loads, trace-stores ----
extern "C" {
#define EMULATOR_HOOK(name, size, write)                                                           \
  void name(const void* address) {                                                                 \
    cornerturn::emulated::the_machine.accessed(__builtin_return_address(0), address, size, write); \
  }
#define EMULATOR_HOOKS(size)                              \
  EMULATOR_HOOK(__sanitizer_cov_load##size, size, false)  \
  EMULATOR_HOOK(__sanitizer_cov_store##size, size, true)  \
  EMULATOR_HOOK(__tsan_read##size, size, false)           \
  EMULATOR_HOOK(__tsan_write##size, size, true)           \
  EMULATOR_HOOK(__tsan_unaligned_read##size, size, false) \
  EMULATOR_HOOK(__tsan_unaligned_write##size, size, true)
EMULATOR_HOOKS(1)
EMULATOR_HOOKS(2)
EMULATOR_HOOKS(4)
EMULATOR_HOOKS(8)
EMULATOR_HOOKS(16)
void __tsan_read_range(const void* address, std::size_t size) {
  cornerturn::emulated::the_machine.accessed(__builtin_return_address(0), address, static_cast<int>(size), false);
}
void __tsan_write_range(const void* address, std::size_t size) {
  cornerturn::emulated::the_machine.accessed(__builtin_return_address(0), address, static_cast<int>(size), true);
}
void __tsan_init() {}
void __sanitizer_cov_trace_pc() { cornerturn::emulated::the_machine.pass(__builtin_return_address(0)); }
void __tsan_func_entry(void*) {}
void __tsan_func_exit(void*) {}
}

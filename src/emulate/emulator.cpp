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
#include <vector>

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

enum class state { ready, at_barrier, done };

struct fiber {
  void* stack_pointer = nullptr;
  unsigned char* stack = nullptr;  // its lowest byte
  void* fake_stack = nullptr;      // AddressSanitizer's
  state now = state::ready;
  unsigned line = 0;  // of the barrier that it waits at
  std::vector<copy> copies;
};

// Who touched a byte of shared memory last. Epochs count barriers, of all blocks: what a block before this one left
// is older than this block's first epoch.
constexpr std::uint16_t several = 0xffff;
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
    if (!within(shared, size, shared_, shared_end_)) {
      return fault("starts a copy of ", size, " bytes outside of shared memory, at ", place(shared));
    }
    count_read(global, size);
    write_shared(shared, size, true);
    here().copies.push_back({static_cast<unsigned char*>(shared), static_cast<const unsigned char*>(global), size});
  }
  void wait_for_copies() {
    for (const copy& one : here().copies) {
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
  void wait_for_flag(const std::uint32_t* flag, std::uint32_t value) {
    if (is_flag(flag) && *flag != value) fault("waits for a flag to become ", value, ", which no block will do");
  }

  // While the emulator itself works for a thread, its accesses are not the thread's.
  class at_work {
   public:
    explicit at_work(machine& of) : inside_(of.inside_) { inside_ = true; }
    ~at_work() { inside_ = false; }

   private:
    bool& inside_;
  };

  // An access that the compiler tells of.
  void access(const void* address, int size, bool write) {
    if (of_ == nullptr || current_ < 0 || inside_) return;
    if (within(address, size, here().stack, here().stack + stack_bytes)) return;
    const at_work guard(*this);
    if (within(address, size, shared_, shared_end_)) {
      write ? write_shared(address, size, false) : read_shared(address, size);
    } else if (write ? may_be_written(address, size) : may_be_read(address, size)) {
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
  [[nodiscard]] std::uint32_t block_index() const { return block_; }
  [[nodiscard]] unsigned char* shared_memory() const { return shared_; }

 private:
  fiber& here() { return fibers_[static_cast<std::size_t>(current_)]; }

  template <class... Parts>
  void fault(const Parts&... what) {
    if (!of_->fault.empty()) return;
    std::ostringstream said;
    said << "block " << block_;
    if (current_ >= 0) said << ", thread " << current_;
    said << ": ";
    (said << ... << what);
    of_->fault = said.str();
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
    near("shared memory", shared_, shared_end_);
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
    if ((in_place() || of_->dst_is_read) && !of_->record && within(from, size, of_->dst.begin, of_->dst.end)) {
      const std::uint64_t first = number(from) - number(of_->dst.begin);
      for (std::uint64_t k = first; k < first + static_cast<std::uint64_t>(size); ++k) {
        if (stored_[k]) return fault("reads what was written before, byte ", k, " of dst");
      }
    }
    if (of_->record) of_->reads.push_back({from, static_cast<const unsigned char*>(from) + size});
  }
  void count_store(const void* to, int size) {
    if (of_->record) return of_->writes.push_back({to, static_cast<const unsigned char*>(to) + size});
    const bool to_dst = within(to, size, of_->dst.begin, of_->dst.end);
    std::vector<bool>& stored = to_dst ? stored_ : stored_too_;
    const std::uint64_t first = number(to) - number(to_dst ? of_->dst.begin : of_->second.begin);
    for (std::uint64_t k = first; k < first + static_cast<std::uint64_t>(size); ++k) {
      if (stored[k]) {
        return fault("writes what was written before, byte ", k, to_dst ? " of dst" : " of the second array");
      }
      stored[k] = true;
    }
  }
  void read_shared(const void* address, int size) {
    const std::uint64_t first = number(address) - number(shared_);
    for (std::uint64_t k = first; k < first + static_cast<std::uint64_t>(size); ++k) {
      shadow& byte = shadows_[k];
      const auto me = static_cast<std::uint16_t>(current_);
      if (byte.on_its_way && byte.written >= first_epoch_) {
        fault("reads byte ", k, " of shared memory, to which thread ", byte.writer,
              " has started a copy that it did not wait for");
      } else if (byte.written == epoch_ && byte.writer != me) {
        fault("reads byte ", k, " of shared memory, which thread ", byte.writer, " wrote, and no barrier was between",
              lockstep_with(byte.writer));
      }
      byte.reader = byte.read == epoch_ && byte.reader != me ? several : me;
      byte.read = epoch_;
    }
  }
  void write_shared(const void* address, int size, bool on_its_way) {
    const std::uint64_t first = number(address) - number(shared_);
    for (std::uint64_t k = first; k < first + static_cast<std::uint64_t>(size); ++k) {
      shadow& byte = shadows_[k];
      const auto me = static_cast<std::uint16_t>(current_);
      if (byte.written == epoch_ && byte.writer != me) {
        fault("writes byte ", k, " of shared memory, which thread ", byte.writer,
              " wrote too, and no barrier was between", lockstep_with(byte.writer));
      } else if (byte.read == epoch_ && byte.reader != me) {
        fault("writes byte ", k, " of shared memory, which ",
              byte.reader == several ? "several threads" : "another thread", " read, and no barrier was between");
      }
      byte.writer = me;
      byte.written = epoch_;
      byte.on_its_way = on_its_way;
    }
  }

  void put_threads_in_order(std::vector<int>& turns);
  void make_fibers(std::size_t threads);
  void prepare(fiber& one);
  void run_block(int threads);
  void enter(int thread);
  void leave();
  [[noreturn]] static void begin();

  session* of_ = nullptr;
  kernel_call call_ = nullptr;
  const unsigned char* job_ = nullptr;
  std::size_t job_bytes_ = 0;
  std::uint32_t block_ = 0;
  int current_ = -1;
  bool inside_ = false;
  unsigned char* shared_ = nullptr;
  unsigned char* shared_end_ = nullptr;
  std::uint32_t epoch_ = 0;
  std::uint32_t first_epoch_ = 0;
  std::uint64_t shuffle_ = 0;
  std::vector<fiber> fibers_;
  std::vector<shadow> shadows_;
  std::vector<bool> stored_;      // of dst
  std::vector<bool> stored_too_;  // of the second array
  void* scheduler_ = nullptr;     // its stack pointer while a fiber runs
#ifdef EMULATOR_ASAN
  const void* scheduler_stack_ = nullptr;
  std::size_t scheduler_stack_bytes_ = 0;
#endif
};

machine the_machine;

// One allocation for all stacks, a page that cannot be touched below each.
void machine::make_fibers(std::size_t threads) {
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  while (fibers_.size() < threads) {
    void* memory = mmap(nullptr, stack_bytes + page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) throw std::bad_alloc();
    fiber one;
    one.stack = static_cast<unsigned char*>(memory) + page;
    if (mprotect(one.stack, stack_bytes, PROT_READ | PROT_WRITE) != 0) throw std::bad_alloc();
    fibers_.push_back(std::move(one));
  }
}

void machine::prepare(fiber& one) {
  one.stack_pointer = prepare_stack(one.stack + stack_bytes, &machine::begin);
  one.fake_stack = nullptr;
  one.now = state::ready;
  one.copies.clear();
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
  for (std::size_t k = all.size(); k > 1; --k) {
    std::uint64_t x = state_of_shuffle += 0x9e3779b97f4a7c15u;  // splitmix64
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    std::swap(all[k - 1], all[(x ^ (x >> 31)) % k]);
  }
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

void machine::run_block(int threads) {
  first_epoch_ = ++epoch_;
  for (int k = 0; k < threads; ++k) prepare(fibers_[static_cast<std::size_t>(k)]);
  std::vector<int> turns(static_cast<std::size_t>(threads));
  for (int waiting = threads; waiting > 0;) {
    put_threads_in_order(turns);
    for (const int thread : turns) enter(thread);
    waiting = 0;
    int left = -1, waits = -1;
    for (int k = 0; k < threads; ++k) {
      const fiber& one = fibers_[static_cast<std::size_t>(k)];
      if (one.now == state::done) {
        left = k;
        continue;
      }
      if (waits >= 0 && one.line != fibers_[static_cast<std::size_t>(waits)].line) {
        fault("thread ", waits, " waits at the barrier of line ", fibers_[static_cast<std::size_t>(waits)].line,
              ", thread ", k, " at that of line ", one.line);
        waiting = -1;
        break;
      }
      waits = k;
      ++waiting;
    }
    if (waiting > 0 && left >= 0) {
      fault("thread ", left, " has ended, thread ", waits, " waits at the barrier of line ",
            fibers_[static_cast<std::size_t>(waits)].line);
      waiting = -1;
    }
    if (waiting < 0) {  // the others are never resumed
#ifdef EMULATOR_ASAN
      for (int k = 0; k < threads; ++k)
        ASAN_UNPOISON_MEMORY_REGION(fibers_[static_cast<std::size_t>(k)].stack, stack_bytes);
#endif
      return;
    }
    ++epoch_;
  }
  for (int k = 0; k < threads; ++k) {
    if (fibers_[static_cast<std::size_t>(k)].copies.empty()) continue;
    fault("thread ", k, " ended before a copy that it had started");
  }
}

const char* machine::launch(kernel_call call, const void* job, std::size_t job_bytes, int threads, std::uint32_t blocks,
                            int shared_bytes, session& of) {
  of_ = &of;
  call_ = call;
  job_ = static_cast<const unsigned char*>(job);
  job_bytes_ = job_bytes;
  make_fibers(static_cast<std::size_t>(threads));
  shadows_.resize(std::max(shadows_.size(), static_cast<std::size_t>(shared_bytes)));
  if (!of.record) {
    stored_.assign(number(of.dst.end) - number(of.dst.begin), false);
    stored_too_.assign(number(of.second.end) - number(of.second.begin), false);
  }
  shuffle_ = of.seed;
  std::vector<std::uint32_t> turns = of.blocks;
  if (turns.empty()) {
    turns.resize(blocks);
    put_in_order(turns, of.threads, shuffle_);
  }
  for (const std::uint32_t block : turns) {
    block_ = block;
    const auto room = static_cast<std::size_t>(shared_bytes);
    const auto memory = std::make_unique_for_overwrite<unsigned char[]>(room + slack);
    std::memset(memory.get(), 0xa5, room + slack);
    shared_ = memory.get();
    shared_end_ = shared_ + room;
    run_block(threads);
    shared_ = shared_end_ = nullptr;
    if (!of.fault.empty()) break;
  }
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
  const machine::at_work guard(the_machine);
  the_machine.load_global(value, from, size);
}
void store_global(void* to, const void* value, int size) noexcept {
  const machine::at_work guard(the_machine);
  the_machine.store_global(to, value, size);
}
void start_copy(void* shared, const void* global, int size) noexcept {
  const machine::at_work guard(the_machine);
  the_machine.start_copy(shared, global, size);
}
void wait_for_copies() noexcept {
  const machine::at_work guard(the_machine);
  the_machine.wait_for_copies();
}
void expect_aligned(const void* address, int size) noexcept {
  const machine::at_work guard(the_machine);
  the_machine.expect_aligned(address, size);
}
std::uint32_t read_flag(const std::uint32_t* flag) noexcept {
  const machine::at_work guard(the_machine);
  return the_machine.is_flag(flag) ? *flag : 0;
}
void write_flag(std::uint32_t* flag, std::uint32_t value) noexcept {
  const machine::at_work guard(the_machine);
  if (the_machine.is_flag(flag)) *flag = value;
}
void wait_for_flag(const std::uint32_t* flag, std::uint32_t value) noexcept {
  const machine::at_work guard(the_machine);
  the_machine.wait_for_flag(flag, value);
}

}  // namespace cornerturn::emulated

// ---- what instrumented code calls: g++ -fsanitize=thread, without its library; clang's trace-loads, trace-stores ----
extern "C" {
#define EMULATOR_HOOK(name, size, write) \
  void name(const void* address) { cornerturn::emulated::the_machine.access(address, size, write); }
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
  cornerturn::emulated::the_machine.access(address, static_cast<int>(size), false);
}
void __tsan_write_range(const void* address, std::size_t size) {
  cornerturn::emulated::the_machine.access(address, static_cast<int>(size), true);
}
void __tsan_init() {}
void __tsan_func_entry(void*) {}
void __tsan_func_exit(void*) {}
}

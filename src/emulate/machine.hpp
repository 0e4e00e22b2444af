// The emulated GPU: the block that runs, its threads as fibers, and the memory whose accesses are checked.
// emulator.cpp runs blocks; text_calls.cpp has the functions that the text of a kernel calls.
#pragma once

#include <algorithm>
#include <cstring>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "emulate/emulator.hpp"
#include "emulate/global_races.hpp"
#include "emulate/iterations.hpp"

#if defined(__SANITIZE_ADDRESS__)
#define EMULATOR_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define EMULATOR_ASAN 1
#endif
#endif

namespace cornerturn::emulated {

inline constexpr std::size_t stack_bytes = 128 << 10;
#ifdef EMULATOR_ASAN
inline constexpr std::size_t slack = 0;
#else
inline constexpr std::size_t slack = 64;  // a fault that is only told of must not destroy the heap
#endif

struct copy {
  unsigned char* to;
  const unsigned char* from;
  int size;
  int first, end;  // the bytes that the text uses
};

enum class state { ready, at_barrier, at_flag, at_lane, done };

struct fiber {
  void* stack_pointer = nullptr;
  unsigned char* stack = nullptr;  // its lowest byte
  void* fake_stack = nullptr;      // AddressSanitizer's
  state now = state::ready;
  unsigned line = 0;              // of the barrier that it waits at
  const void* barrier = nullptr;  // its place in the text
  int branches = 0;               // taken so far, if faults stop the run
  // At a flag: continues when the flag has this value, or these bits.
  const std::uint32_t* flag = nullptr;
  std::uint32_t wanted = 0;
  bool wants_bits = false;
  std::vector<std::uint32_t> given;  // to the lane before it, so far
  const fiber* lanes = nullptr;      // at a lane: continues when each of these has given as many
  int lane_count = 0;
  std::uint16_t signals = 0;  // sent so far
  bool has_waited = false;    // for earlier launches
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
inline constexpr std::uint16_t several = 0xffff;
inline constexpr int most_after_fault = 1 << 20;
inline constexpr std::int64_t far_away = std::int64_t{1} << 32;  // from every array: a null pointer, say
inline constexpr int most_branches = 1 << 24;                    // of a thread; the largest kernels take some thousands
inline constexpr std::uint32_t all_bits = 0xffffffff;            // of a flag that counts
struct shadow {
  std::uint32_t written = 0;
  std::uint32_t read = 0;
  std::uint16_t writer = 0;
  std::uint16_t reader = 0;
  bool on_its_way = false;  // a copy was started and not waited for
};

inline std::uint64_t number(const void* address) { return reinterpret_cast<std::uint64_t>(address); }
inline bool within(const void* address, int size, const void* begin, const void* end) {
  return number(address) >= number(begin) && number(address) + static_cast<std::uint64_t>(size) <= number(end);
}

inline std::uint64_t next_random(std::uint64_t& state) {
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
                     int shared_bytes, session& of, bool early);

  void wait_for_earlier_launches() { here().has_waited = true; }

  void barrier(unsigned line, const void* from) {
    here().now = state::at_barrier;
    here().line = line;
    here().barrier = from;
    leave();
  }
  std::uint32_t value_of_next_lane(std::uint32_t value) {
    constexpr int all_lanes = 32;
    fiber& mine = here();
    const int lane = current_ % all_lanes;
    mine.given.push_back(value);
    mine.lanes = &mine - lane;
    mine.lane_count = std::min(all_lanes, in_->threads - (current_ - lane));
    if (!has_all_values(mine)) {
      mine.now = state::at_lane;
      leave();
    }
    return lane + 1 == mine.lane_count ? value : (&mine + 1)->given[mine.given.size() - 1];
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
  void start_copy(void* shared, const void* global, int size, int first, int end) {
    expect_aligned(global, size);
    expect_aligned(shared, size);
    if (!may_be_read(global, size)) {
      return fault("starts a copy of ", size, " bytes outside of src, at ", place(global));
    }
    if (!within(shared, size, in_->shared, in_->shared_end)) {
      return fault("starts a copy of ", size, " bytes outside of shared memory, at ", place(shared));
    }
    const copy made = {static_cast<unsigned char*>(shared), static_cast<const unsigned char*>(global), size, first,
                       end};
    count_read(made.from + first, end - first);
    write_shared(shared, size, true);
    here().copies.push_back(made);
  }
  void wait_for_copies(const void* from) {
    for (const copy& one : here().copies) {
      const int used = one.end - one.first;
      remember(from, access::async_copy, one.from + one.first, used, one.to);
      if (loads_dst_) count_read(one.from + one.first, used);  // again: the copy may read as late as this
      write_shared(one.to, one.size, false);
      std::memset(one.to, 0xa5, static_cast<std::size_t>(one.size));
      std::memcpy(one.to + one.first, one.from + one.first, static_cast<std::size_t>(used));
    }
    here().copies.clear();
  }
  // A word of a box of the tensor memory accelerator. No thread's instruction makes the access, so it is no request.
  void bring_word(void* shared, const void* global, int size, const void* from) {
    const auto bytes = static_cast<std::size_t>(size);
    remember(from, access::async_copy, shared, size);
    if (!within(shared, size, in_->shared, in_->shared_end)) {
      return fault("brings ", size, " bytes outside of shared memory, at ", place(shared));
    }
    write_shared(shared, size, false);
    if (global == nullptr) return static_cast<void>(std::memset(shared, 0, bytes));
    remember(from, access::async_copy, global, size, shared);
    if (!may_be_read(global, size)) return fault("brings ", size, " bytes outside of src, at ", place(global));
    count_read(global, size);
    std::memcpy(shared, global, bytes);
  }
  void send_word(void* global, const void* shared, int size, const void* from) {
    remember(from, access::shared_load, shared, size);
    if (!within(shared, size, in_->shared, in_->shared_end)) {
      return fault("sends ", size, " bytes outside of shared memory, at ", place(shared));
    }
    read_shared(shared, size);
    remember(from, access::global_store, global, size);
    if (!may_be_written(global, size)) return fault("sends ", size, " bytes outside of dst, at ", place(global));
    count_store(global, size);
    std::memcpy(global, shared, static_cast<std::size_t>(size));
  }
  void expect_aligned(const void* address, int size) {
    if (of_ != nullptr && number(address) % static_cast<std::uint64_t>(size) != 0) {
      fault("an access of ", size, " bytes is misaligned, at ", place(address));
    }
  }
  // Of a word that is copied as a whole.
  void expect_aligned(const void* address, int size, const void* from, bool write) {
    if (of_ == nullptr) return;
    at_ = {from, write ? access::global_store : access::global_load, address, size};
    expect_aligned(address, size);
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
  // The access that follows: a fault may be about it.
  void remember(const void* from, access what, const void* address, int size, const void* shared = nullptr) {
    at_ = {from, what, address, size};
    if (of_->watches.end > of_->watches.begin) watch(shared);
  }
  void log(const void* from, access what, const void* address, int size, const void* shared = nullptr) {
    remember(from, what, address, size, shared);
    const bool is_shared = what == access::shared_load || what == access::shared_store;
    if (early_ && !is_shared && !here().has_waited)
      fault("accesses global memory before it waits for earlier launches");
    if (of_->on_request == nullptr) return;
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
    if (of_ == nullptr || current_ < 0 || inside_) return;
    if (of_->stop_at_fault && ++here().branches > most_branches) {
      at_ = {from, access::barrier, nullptr, 0};
      fault("takes ", most_branches, " branches and does not end");
    }
    if (of_->on_request == nullptr) return;
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
    if (faulty_ && ++since_fault_ >= most_after_fault) stop();
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
      return;
    }
    if (write ? may_be_written(address, size) : may_be_read(address, size)) {
      log(from, write ? access::global_store : access::global_load, address, size);
      write ? count_store(address, size) : count_read(address, size);
      return;
    }
    remember(from, write ? access::global_store : access::global_load, address, size);
    if (within(address, size, of_->src.begin, of_->src.end)) {
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
    if (of_->fault.empty()) {
      std::ostringstream said;
      said << "block " << in_->block;
      if (current_ >= 0) said << ", thread " << current_;
      said << ": ";
      (said << ... << what);
      of_->fault = said.str();
      faulty_ = true;
      if (current_ >= 0 && at_.from != nullptr) {
        of_->fault_bytes = range_of(at_.address, at_.size);
        if (of_->fault_bytes.shared && at_.what == access::global_load) at_.what = access::shared_load;
        if (of_->fault_bytes.shared && at_.what == access::global_store) at_.what = access::shared_store;
        of_->fault_places = {{at_.what, at_.from, in_->block, current_}};
        of_->fault_places.insert(of_->fault_places.end(), others_.begin(), others_.end());
      }
    }
    others_.clear();
    if (of_->stop_at_fault && current_ >= 0) stop();
  }
  // The fault that follows is about one byte, and about an earlier access too.
  void blame(const void* byte, access what, std::uint32_t block, int thread) {
    at_.address = byte, at_.size = 1;
    others_ = {{what, nullptr, block, thread}};
  }
  // The thread never goes on.
  void stop() {
    inside_ = false;
    here().now = state::done;
    here().copies.clear();
    leave();
  }
  [[nodiscard]] touched_bytes range_of(const void* address, int size) const {
    const std::uint64_t at = number(address), bytes = static_cast<std::uint64_t>(size);
    if (!within(address, size, in_->shared, in_->shared_end)) return {false, 0, at, at + bytes};
    return {true, in_->block, at - number(in_->shared), at - number(in_->shared) + bytes};
  }
  void watch(const void* shared) {
    const auto overlaps = [&](const touched_bytes& made) {
      const touched_bytes& wanted = of_->watches;
      return made.shared == wanted.shared && made.block == wanted.block && made.begin < wanted.end &&
             made.end > wanted.begin;
    };
    if (overlaps(range_of(at_.address, at_.size)) || (shared != nullptr && overlaps(range_of(shared, at_.size)))) {
      of_->touches.push_back({at_.what, at_.from, in_->block, current_});
    }
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
    if (best < far_away) return named;
    std::ostringstream said;
    said << "address 0x" << std::hex << number(address);
    return said.str();
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
        if (!stored_[k - begin]) continue;
        blame(reinterpret_cast<const void*>(k), access::global_store, any_block, any_thread);
        return fault("reads what was written before, byte ", k - begin, " of dst");
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
        blame(static_cast<const unsigned char*>(to) + (k - first), access::global_store, any_block, any_thread);
        return fault("writes what was written before, byte ", k, to_dst ? " of dst" : " of the second array");
      }
      stored[k] = true;
    }
    if (!loads_dst_ || !to_dst) return;
    if (const auto load = races_.store(to, size, now(), in_->known, here().heard)) {
      others_ = {{access::global_load, nullptr, load->block, load->thread}};
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
        blame(in_->shared + k, access::async_copy, in_->block, byte.writer);
        fault("reads byte ", k, " of shared memory, to which thread ", byte.writer,
              " has started a copy that it did not wait for");
      } else if (of_->refuse_unwritten && byte.written < in_->first_epoch) {
        at_.address = in_->shared + k, at_.size = 1;
        fault("reads byte ", k, " of shared memory, which no thread wrote");
      } else if (byte.written == in_->epoch && byte.writer != me) {
        blame(in_->shared + k, access::shared_store, in_->block, byte.writer);
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
        blame(in_->shared + k, access::shared_store, in_->block, byte.writer);
        fault("writes byte ", k, " of shared memory, which thread ", byte.writer,
              " wrote too, and no barrier was between", lockstep_with(byte.writer));
      } else if (byte.read == in_->epoch && byte.reader != me) {
        blame(in_->shared + k, access::shared_load, in_->block, byte.reader == several ? any_thread : byte.reader);
        fault("writes byte ", k, " of shared memory, which ",
              byte.reader == several ? "several threads" : "another thread", " read, and no barrier was between");
      }
      byte.writer = me;
      byte.written = in_->epoch;
      byte.on_its_way = on_its_way;
    }
  }

  [[nodiscard]] touch barrier_of(int thread) const {
    return {access::barrier, in_->fibers[static_cast<std::size_t>(thread)].barrier, in_->block, thread};
  }
  static bool has_its_flag(const fiber& one) {
    return one.wants_bits ? (*one.flag & one.wanted) == one.wanted : *one.flag == one.wanted;
  }
  static bool has_all_values(const fiber& one) {
    return std::all_of(one.lanes, one.lanes + one.lane_count,
                       [&](const fiber& lane) { return lane.given.size() >= one.given.size(); });
  }
  static bool can_run(const fiber& one) {
    return one.now == state::ready || (one.now == state::at_flag && has_its_flag(one)) ||
           (one.now == state::at_lane && has_all_values(one));
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
  struct {
    const void* from = nullptr;
    access what = access::global_load;
    const void* address = nullptr;
    int size = 0;
  } at_;                       // the access of the thread that runs
  std::vector<touch> others_;  // of the next fault
  bool faulty_ = false;
  bool early_ = false;   // the launch may begin before earlier ones end
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

extern machine the_machine;

}  // namespace cornerturn::emulated

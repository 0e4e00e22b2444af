// A ring of slots, each with the buffer of one box. A thread takes one job at a time:
//   1. read: it reads a part of a box into its own buffer, and a kernel transposes it into the slot. An array in memory is
//      not read first
//   2. write: after all parts of the box, it writes a contiguous part of the slot
//   3. after all writes the slot takes the next box
// While one box is written, the next one is read. A thread writes if fewer threads write than read, else it reads: neither
// direction of the disk idles. The threads mostly sleep in system calls. The pool of base/pool.hpp has no more threads than
// cores, so the engine starts its own, for the time of a pass.
#include "file/engine.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <thread>
#include <vector>

#include "kernels/kernel.hpp"
#include "map/canonical.hpp"
#include "plan/choose.hpp"

namespace cornerturn::files {
namespace {

using index = box_grid::index;

// Anonymous memory, in huge pages if available: a box is written by columns, which needs many TLB entries.
class buffer {
 public:
  explicit buffer(std::int64_t bytes) : bytes_(static_cast<std::size_t>(std::max<std::int64_t>(bytes, 1))) {
    void* const at = mmap(nullptr, bytes_ + huge, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED) throw std::bad_alloc();
    map_ = static_cast<std::byte*>(at);
    const auto address = reinterpret_cast<std::uintptr_t>(map_);
    data_ = map_ + ((address + huge - 1) / huge * huge - address);
    // Only whole huge pages: the last one would be larger than the budget.
    madvise(data_, bytes_ / huge * huge, MADV_HUGEPAGE);
  }
  ~buffer() { munmap(map_, bytes_ + huge); }
  buffer(const buffer&) = delete;
  buffer& operator=(const buffer&) = delete;
  [[nodiscard]] std::byte* data() const noexcept { return data_; }

 private:
  static constexpr std::size_t huge = 2 << 20;
  std::size_t bytes_;
  std::byte* map_ = nullptr;
  std::byte* data_ = nullptr;
};

// A kernel and the problem that it was chosen for: only units at the upper edges differ from the one before.
class mover {
 public:
  void execute(const problem& what, const std::byte* src, std::byte* dst) {
    if (!chosen_ || !(what == planned_)) {
      planned_ = what;
      form_ = map::canonicalize(what);
      chosen_ = planning::choose(form_, {.threads = 1}, kernels::this_machine());
    }
    if (form_.empty) return;
    chosen_->row->run(chosen_->args, {.src = src, .dst = dst}, 0, chosen_->units);
  }
  [[nodiscard]] const char* kernel() const noexcept {
    return chosen_ && chosen_->row != nullptr ? chosen_->row->name : "";
  }

 private:
  problem planned_;
  map::canonical form_;
  std::optional<kernels::offer> chosen_;
};

struct slot {
  std::unique_ptr<buffer> memory;
  std::int64_t box = -1;  // none
  box_grid::piece at{};
  std::optional<box_grid> reads;
  std::optional<box_grid> writes;
  std::int64_t read_next = 0, read_done = 0;
  std::int64_t write_next = 0, write_done = 0;
};

struct job {
  slot* in = nullptr;  // null: no more work
  bool is_write = false;
  std::int64_t unit = 0;
};

class engine {
 public:
  engine(const pass& how, const engine_calls& calls)
      : how_(how),
        calls_(calls),
        rank_(static_cast<std::size_t>(how.what.rank)),
        boxes_({how.what.extents.data(), rank_}, {how.box.data(), rank_}) {
    for (std::size_t k = 0; k < rank_; ++k) by_src_[static_cast<std::size_t>(how.what.axes[k])] = static_cast<int>(k);
    std::int64_t stride = 1;
    for (std::size_t s = rank_; s-- > 0;) {
      whole_src_strides_[static_cast<std::size_t>(by_src_[s])] = stride;
      stride *= how.what.extents[static_cast<std::size_t>(by_src_[s])];
    }
    slots_.resize(static_cast<std::size_t>(std::min<std::int64_t>(how.slots, boxes_.count())));
    for (slot& one : slots_) one.memory = std::make_unique<buffer>(how.summary.box_bytes);
    most_readers_ = limit(calls.src == nullptr ? 0 : calls.src->threads());
    most_writers_ = limit(calls.dst->threads());
  }

  engine_result run();

 private:
  [[nodiscard]] int limit(int threads) const { return threads > 0 ? std::min(threads, how_.threads) : how_.threads; }
  void work(bool is_caller) noexcept;
  [[nodiscard]] job next_job(bool is_caller);
  [[nodiscard]] std::optional<job> find_job();
  void fill_slots();
  void read(const slot& from, std::int64_t unit, mover& by, buffer* staging) const;
  void write(const slot& from, std::int64_t unit) const;
  void done(const job& one);
  [[nodiscard]] std::int64_t bytes_of(const box_grid::piece& part) const;
  void show_progress(bool is_caller) {
    if (is_caller && calls_.progress) calls_.progress(written_.load());
  }

  const pass& how_;
  const engine_calls& calls_;
  std::size_t rank_;
  box_grid boxes_;
  std::array<int, map::max_axes> by_src_{};  // the axis of dst, for each axis of src
  index whole_src_strides_{};
  std::vector<slot> slots_;
  std::atomic<std::int64_t> written_{0};

  std::mutex finishing_;
  std::mutex guard_;  // of all below, and of the slots but for their buffers
  std::condition_variable changed_;
  std::int64_t next_box_ = 0;
  int readers_ = 0, most_readers_ = 0;
  int writers_ = 0, most_writers_ = 0;
  engine_result result_;
};

// 3
void engine::fill_slots() {
  for (slot& one : slots_) {
    if (one.box >= 0) continue;
    while (next_box_ < boxes_.count() && calls_.is_done && calls_.is_done(next_box_)) {
      written_ += bytes_of(boxes_.at(next_box_++));
    }
    if (next_box_ == boxes_.count()) return;
    one.box = next_box_++;
    one.at = boxes_.at(one.box);
    index unit{};
    const std::span<const std::int64_t> extents(one.at.extents.data(), rank_);
    for (std::size_t k = 0; k < rank_; ++k) unit[k] = std::min(how_.read_unit[k], one.at.extents[k]);
    one.reads.emplace(extents, std::span<const std::int64_t>(unit.data(), rank_));
    for (std::size_t k = 0; k < rank_; ++k) unit[k] = std::min(how_.write_unit[k], one.at.extents[k]);
    one.writes.emplace(extents, std::span<const std::int64_t>(unit.data(), rank_));
    one.read_next = one.read_done = one.write_next = one.write_done = 0;
  }
}

std::optional<job> engine::find_job() {
  fill_slots();
  std::optional<job> to_read, to_write;
  for (slot& one : slots_) {
    if (one.box < 0) continue;
    if (one.read_next < one.reads->count()) {
      if (!to_read && readers_ < most_readers_) to_read = job{&one, false, one.read_next};
    } else if (one.read_done == one.reads->count() && one.write_next < one.writes->count()) {
      if (!to_write && writers_ < most_writers_) to_write = job{&one, true, one.write_next};
    }
  }
  const bool writes = to_write && (!to_read || writers_ <= readers_);
  std::optional<job>& chosen = writes ? to_write : to_read;
  if (!chosen) return std::nullopt;
  (writes ? chosen->in->write_next : chosen->in->read_next)++;
  (writes ? writers_ : readers_)++;
  return chosen;
}

job engine::next_job(bool is_caller) {
  std::unique_lock lock(guard_);
  while (true) {
    if (result_.fault) return {};
    if (const std::optional<job> found = find_job()) return *found;
    if (std::all_of(slots_.begin(), slots_.end(), [](const slot& one) { return one.box < 0; })) return {};
    changed_.wait_for(lock, std::chrono::milliseconds(100));
    lock.unlock();
    show_progress(is_caller);
    lock.lock();
  }
}

// 1
void engine::read(const slot& from, std::int64_t unit, mover& by, buffer* staging) const {
  const box_grid::piece part = from.reads->at(unit, {by_src_.data(), rank_});  // in the order of src
  index first{}, extents{};
  problem what;
  what.element_bytes = how_.what.element_bytes;
  what.rank = static_cast<int>(rank_);
  std::int64_t src_stride = 1, dst_stride = 1, src_offset = 0, dst_offset = 0;
  for (std::size_t s = rank_; s-- > 0;) {
    const auto k = static_cast<std::size_t>(by_src_[s]);
    first[s] = from.at.first[k] + part.first[k];
    extents[s] = part.extents[k];
    src_offset += first[s] * whole_src_strides_[k];
    what.axes[k] = {part.extents[k], calls_.memory != nullptr ? whole_src_strides_[k] : src_stride, 0};
    src_stride *= part.extents[k];
  }
  for (std::size_t k = rank_; k-- > 0;) {
    what.axes[k].dst_stride = dst_stride;
    dst_offset += part.first[k] * dst_stride;
    dst_stride *= from.at.extents[k];
  }
  const std::byte* src = nullptr;
  if (calls_.memory != nullptr) {
    src = calls_.memory + src_offset * what.element_bytes;
  } else {
    calls_.src->read({{first.data(), rank_}, {extents.data(), rank_}}, staging->data());
    src = staging->data();
  }
  by.execute(what, src, from.memory->data() + dst_offset * what.element_bytes);
}

// 2
void engine::write(const slot& from, std::int64_t unit) const {
  box_grid::piece part = from.writes->at(unit);
  std::int64_t offset = 0, stride = 1;
  for (std::size_t k = rank_; k-- > 0;) {
    offset += part.first[k] * stride;
    stride *= from.at.extents[k];
    part.first[k] += from.at.first[k];
  }
  calls_.dst->write({{part.first.data(), rank_}, {part.extents.data(), rank_}},
                    from.memory->data() + offset * how_.what.element_bytes);
}

std::int64_t engine::bytes_of(const box_grid::piece& part) const {
  std::int64_t bytes = how_.what.element_bytes;
  for (std::size_t k = 0; k < rank_; ++k) bytes *= part.extents[k];
  return bytes;
}

void engine::done(const job& one) {
  std::unique_lock lock(guard_);
  slot& its = *one.in;
  if (!one.is_write) {
    --readers_;
    ++its.read_done;
  } else {
    --writers_;
    const std::int64_t bytes = bytes_of(its.writes->at(one.unit));
    written_ += bytes;
    result_.bytes += bytes;
    if (++its.write_done == its.writes->count()) {
      if (calls_.finished) {
        lock.unlock();  // the journal may wait for the disk
        {
          const std::lock_guard one_call(finishing_);
          calls_.finished(its.box, {its.memory->data(), static_cast<std::size_t>(bytes_of(its.at))});
        }
        lock.lock();
      }
      its.box = -1;
    }
  }
  changed_.notify_all();
}

void engine::work(bool is_caller) noexcept {
  bool has_worked = false;
  mover by;
  try {
    std::optional<buffer> staging;
    for (job one = next_job(is_caller); one.in != nullptr; one = next_job(is_caller)) {
      if (one.is_write) {
        write(*one.in, one.unit);
      } else {
        if (!staging && calls_.memory == nullptr) {
          std::int64_t bytes = how_.what.element_bytes;
          for (std::size_t k = 0; k < rank_; ++k) bytes *= how_.read_unit[k];
          staging.emplace(bytes);
        }
        read(*one.in, one.unit, by, staging ? &*staging : nullptr);
      }
      has_worked = true;
      done(one);
      show_progress(is_caller);
    }
  } catch (...) {
    const std::lock_guard lock(guard_);
    if (!result_.fault) result_.fault = std::current_exception();
    changed_.notify_all();
  }
  const std::lock_guard lock(guard_);
  if (has_worked) ++result_.threads;
  if (result_.kernel.empty()) result_.kernel = by.kernel();
}

engine_result engine::run() {
  std::vector<std::thread> team;
  team.reserve(static_cast<std::size_t>(how_.threads));
  try {
    for (int k = 1; k < how_.threads; ++k) team.emplace_back([this] { work(false); });
  } catch (const std::exception&) {  // the system refuses a thread, or has no memory for it: the others do all the work
  }
  work(true);
  for (std::thread& one : team) one.join();
  return std::move(result_);
}

}  // namespace

engine_result run_pass(const pass& how, const engine_calls& calls) { return engine(how, calls).run(); }

}  // namespace cornerturn::files

// Rectangles in place: a walker follows the cycles of the permutation of args.hpp. Each item is stored in the place whose
// item was loaded just before.
//
//   1. a walker claims an unclaimed place, loads its item and sets the place's "read" bit: a path begins
//   2. the walker claims the place where its item belongs. Line by line it loads the item there and stores the item that it
//      held. It knows the next places: it touches their pages some places ahead, and prefetches their lines later
//   3. if that place is already claimed, by this walker or another one, a path began there. The walker waits for the "read"
//      bit of the place, stores its item, and begins at 1. again, until all places are claimed
//
// A walker never blocks between claiming and reading a place, so any number of walkers makes progress, in parallel or one
// after another. A unit is one walker. Of n walkers, walker u starts its search for unclaimed places at u / n of the places.
// Long items are moved in parts; each part is handled as an item.
#include "kernels/cpu/targets.hpp"  // before Highway

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/cycles/cycles.cpp"
#include <hwy/foreach_target.h>  // first, and before highway.h

#include <hwy/highway.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstring>
#include <thread>
#include <utility>

#include "kernels/cpu/cycles/args.hpp"
#include "kernels/kernel.hpp"

HWY_BEFORE_NAMESPACE();
namespace cornerturn::kernels::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Copies `from` to `kept` and `had` to `to`, and prefetches `bytes` at `ahead`. `to` is `from` or does not overlap it.
// Level: 3 prefetches into L1, 2 into L2
template <int Level>
HWY_INLINE void pass_on(const std::byte* from, std::byte* to, const std::byte* had, std::byte* kept,
                        const std::byte* ahead, std::int64_t bytes) {
  constexpr std::int64_t line = 64;
  using one_line = std::array<std::byte, line>;
  if (bytes < line) {
    std::memcpy(kept, from, static_cast<std::size_t>(bytes));
    std::memcpy(to, had, static_cast<std::size_t>(bytes));
    return __builtin_prefetch(ahead, 0, Level);
  }
  // Both ends may be partial lines. Stores between them are aligned.
  one_line from_begin, from_end, had_begin, had_end;
  const std::int64_t end = bytes - line;
  std::memcpy(from_begin.data(), from, line);
  std::memcpy(from_end.data(), from + end, line);
  std::memcpy(had_begin.data(), had, line);
  std::memcpy(had_end.data(), had + end, line);
  __builtin_prefetch(ahead, 0, Level);
  const hn::CappedTag<std::uint8_t, line> d;
  const auto step = static_cast<std::int64_t>(hn::Lanes(d));
  const auto bytes_at = [](const std::byte* p) HWY_ATTR { return reinterpret_cast<const std::uint8_t*>(p); };
  const auto room_at = [](std::byte* p) HWY_ATTR { return reinterpret_cast<std::uint8_t*>(p); };
  std::int64_t k = -static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(to)) & (line - 1);
  for (; k <= end; k += line) {
    __builtin_prefetch(ahead + k, 0, Level);
    HWY_UNROLL(4)
    for (std::int64_t v = k; v < k + line; v += step) {
      const auto read = hn::LoadU(d, bytes_at(from + v));
      const auto held = hn::LoadU(d, bytes_at(had + v));
      hn::StoreU(held, d, room_at(to + v));
      hn::StoreU(read, d, room_at(kept + v));
    }
  }
  __builtin_prefetch(ahead + bytes - 1, 0, Level);
  std::memcpy(to, had_begin.data(), line);
  std::memcpy(to + end, had_end.data(), line);
  std::memcpy(kept, from_begin.data(), line);
  std::memcpy(kept + end, from_end.data(), line);
}

// One bit for each part of each place. Any walker may set it.
class shared_bits {
 public:
  // alone: there is only one walker, so no locked instruction is needed. It would take a tenth of the time of a 2 KB item.
  shared_bits(std::byte* words, bool alone) noexcept : words_(reinterpret_cast<word*>(words)), alone_(alone) {}

  // Sets bit k. Returns false if it was already set. acq_rel: a set "read" bit publishes that the item has been loaded.
  HWY_INLINE bool set(std::int64_t k) const noexcept {
    const word bit = word{1} << (k % bits);
    if (!alone_) return (at(k).fetch_or(bit, std::memory_order_acq_rel) & bit) == 0;
    word& all = words_[k / bits];
    const bool free = (all & bit) == 0;
    all |= bit;
    return free;
  }
  [[nodiscard]] HWY_INLINE bool is_set(std::int64_t k) const noexcept {
    return (at(k).load(std::memory_order_acquire) >> (k % bits) & 1) != 0;
  }
  // The first bit from k on that is not set. A number >= end: there is none before `end`.
  [[nodiscard]] HWY_INLINE std::int64_t next_free(std::int64_t k, std::int64_t end) const noexcept {
    while (k < end) {
      const word free = ~at(k).load(std::memory_order_relaxed) >> (k % bits);
      if (free != 0) return k + std::countr_zero(free);
      k += bits - k % bits;
    }
    return k;
  }
  HWY_INLINE void fetch(std::int64_t k) const noexcept { __builtin_prefetch(words_ + k / bits, 1, 3); }

 private:
  using word = std::uint64_t;
  static constexpr std::int64_t bits = 64;

  [[nodiscard]] HWY_INLINE std::atomic_ref<word> at(std::int64_t k) const noexcept {
    return std::atomic_ref<word>(words_[k / bits]);
  }

  word* words_;
  bool alone_;
};

struct stop {
  std::int64_t place;
  const std::byte* from;  // its item is loaded from here
  std::byte* to;          // its new item is stored here
};

// The addresses of all places, for one part of the items.
class part_map {
 public:
  part_map(const cycles::args& work, std::byte* data, std::byte* workspace, std::int64_t part) noexcept
      : items_(work.items),
        item_bytes_(work.items.item_bytes),
        data_(data + part * cycle_part_bytes),
        away_(workspace + work.items.workspace_at + part * cycle_part_bytes) {}

  [[nodiscard]] HWY_INLINE stop at(std::int64_t place) const noexcept {
    const std::int64_t row = place / items_.row_slots;
    std::byte* const here = data_ + row * items_.row_bytes + (place - row * items_.row_slots) * item_bytes_;
    stop made{place, here, here};
    const std::int64_t waiting = place - items_.first_in_workspace;
    if (waiting >= 0 && waiting < items_.count_in_workspace) {
      std::byte* const there = away_ + waiting * item_bytes_;
      if (items_.writes_workspace) {
        made.to = there;
      } else {
        made.from = there;
      }
    }
    return made;
  }
  [[nodiscard]] HWY_INLINE stop after(const stop& one) const noexcept {
    std::int64_t outer = one.place / items_.inner;
    std::int64_t inner = one.place - outer * items_.inner + items_.rotated_inner;
    outer += items_.rotated_outer;
    if (inner >= items_.inner) inner -= items_.inner;
    if (outer >= items_.outer) outer -= items_.outer;
    return at(inner * items_.outer + outer);
  }

 private:
  const item_cycles& items_;
  std::int64_t item_bytes_;
  std::byte* data_;
  std::byte* away_;
};

// LinesAhead: the lines of the place that comes so many places later are prefetched: two places fit the L1, more the L2.
template <std::size_t LinesAhead>
class walker {
 public:
  walker(const cycles::args& work, std::byte* data, std::byte* workspace) noexcept
      : work_(work),
        data_(data),
        workspace_(workspace),
        claimed_(cycle_flags(work, workspace), work.walkers == 1),
        read_(cycle_flags(work, workspace) + cycle_bits_bytes(work), work.walkers == 1) {}

  void look_from(std::int64_t number, std::int64_t walkers) noexcept {
    const std::int64_t places = work_.items.slots();
    const std::int64_t count = places * base::ceil_div(work_.items.item_bytes, cycle_part_bytes);
    const std::int64_t first = count / walkers * number;
    for (const auto& [begin, end] : {std::pair{first, count}, std::pair{std::int64_t{0}, first}}) {
      for (std::int64_t k = begin; (k = claimed_.next_free(k, end)) < end;) {
        if (!claimed_.set(k)) continue;
        const std::int64_t part = k / places;
        go(part_map(work_, data_, workspace_, part), k - part * places, part * places,
           std::min(cycle_part_bytes, work_.items.item_bytes - part * cycle_part_bytes));
      }
    }
  }

 private:
  // The pages of the places behind LinesAhead are opened earlier: one line of each of four places together, so that their page
  // walks overlap.
  static constexpr std::size_t opened = 4;
  static constexpr std::size_t known = 16;
  static_assert(LinesAhead + 2 * opened <= known);

  void go(const part_map& map, std::int64_t first, std::int64_t bits_at, std::int64_t bytes) noexcept {
    const stop begin = map.at(first);
    std::byte* had = held_begin(0, begin.to);
    std::memcpy(had, begin.from, static_cast<std::size_t>(bytes));
    read_.set(bits_at + first);
    std::array<stop, known> coming;
    coming[0] = map.after(begin);
    for (std::size_t k = 1; k < LinesAhead + opened; ++k) coming[k] = map.after(coming[k - 1]);
    for (std::size_t n = 0;; ++n) {
      const stop now = coming[n % known];
      const stop& soon = coming[(n + LinesAhead) % known];
      claimed_.fetch(bits_at + soon.place);
      if (now.place == first || !claimed_.set(bits_at + now.place)) {
        while (!read_.is_set(bits_at + now.place)) std::this_thread::yield();
        std::memcpy(now.to, had, static_cast<std::size_t>(bytes));
        return;
      }
      if (n % opened == 0) {  // after the locked instruction, which would wait for these prefetches
        for (std::size_t k = n + LinesAhead + opened; k < n + LinesAhead + 2 * opened; ++k) {
          coming[k % known] = map.after(coming[(k - 1) % known]);
        }
        for (std::size_t k = n + LinesAhead + opened; k < n + LinesAhead + 2 * opened; ++k) {
          const std::byte* const from = coming[k % known].from;
          __builtin_prefetch(from, 0, 2);
          __builtin_prefetch(from + bytes - 1, 0, 2);
        }
      }
      // The lines at `to` are stored to but not loaded. Without a prefetch, a twentieth of the items takes a third of the
      // time.
      if (soon.to != soon.from) {
        for (std::int64_t k = 0; k < bytes; k += 64) __builtin_prefetch(soon.to + k, 1, 3);
      }
      std::byte* const kept = held_begin(n + 1, now.to);
      pass_on<LinesAhead <= 2 ? 3 : 2>(now.from, now.to, had, kept, soon.from, bytes);
      had = kept;
    }
  }
  // One of two buffers, at an address with the alignment of `to` modulo a line.
  HWY_INLINE std::byte* held_begin(std::size_t n, const std::byte* to) noexcept {
    return held_[n % 2].data() + reinterpret_cast<std::uintptr_t>(to) % 64;
  }

  const cycles::args& work_;
  std::byte* data_;
  std::byte* workspace_;
  shared_bits claimed_;
  shared_bits read_;
  // The buffers are about half a page apart modulo 4 KiB. So no load from one buffer has the page offset of a store to the
  // other, which the core would mistake for a dependency.
  alignas(64) std::array<std::array<std::byte, cycle_part_bytes + 64 + 2048>, 2> held_;
};

template <std::size_t LinesAhead>
void walk_from(const cycles::args& work, const arrays& all, std::int64_t begin, std::int64_t end) {
  walker<LinesAhead> one(work, all.dst, all.workspace);
  for (std::int64_t unit = begin; unit < end; ++unit) one.look_from(unit, work.walkers);
}

void follow_cycles(const void* args, const arrays& all, std::int64_t begin, std::int64_t end) {
  const auto& work = *static_cast<const cycles::args*>(args);
  if (work.prefetches_to_l2) return walk_from<6>(work, all, begin, end);
  walk_from<2>(work, all, begin, end);
}

}  // namespace cornerturn::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#define CPU_ROWS "kernels/cpu/cycles/rows.inc"
#include "kernels/cpu/rows-inl.hpp"

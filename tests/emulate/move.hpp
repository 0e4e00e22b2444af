// One problem through canonicalize -> choose -> a launch of the chosen row by the emulator, compared with the walk of
// the problem's definition.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "../kernels/cases.hpp"
#include "../kernels/oracle.hpp"
#include "../plan/gpu_choice.hpp"
#include "emulate/emulator.hpp"
#include "kernels/gpu/policy/grid.hpp"
#include "map/canonical.hpp"

namespace cornerturn::testing {

struct gpu_setting {
  std::string row;              // forced; empty: the list decides
  std::int64_t alignment = 16;  // the planner knows no larger one
  std::int64_t shared_bytes = 227 << 10;
  int multiprocessors = 1;
  gpu::device_costs tuned = gpu::costs_for({.arch = 90});
  std::size_t src_misalignment = 0;  // bytes, of the lowest byte of either side
  std::size_t dst_misalignment = 0;
  emulated::order threads = emulated::order::forward;
  std::uint64_t seed = 1;
  int resident = 1;      // blocks that are alive at a time
  int store_bytes = 32;  // or 128: dst is stored over a link
};

inline std::string to_text(const gpu_setting& one) {
  constexpr const char* orders[] = {"forward", "backward", "shuffled"};
  std::string text = (one.row.empty() ? "unforced" : one.row) + ", alignment " + std::to_string(one.alignment) +
                     ", src + " + std::to_string(one.src_misalignment) + ", dst + " +
                     std::to_string(one.dst_misalignment) + ", " + orders[static_cast<int>(one.threads)] + ", seed " +
                     std::to_string(one.seed) + ", " + std::to_string(one.resident) + " blocks at a time, " +
                     std::to_string(one.multiprocessors) + " multiprocessors of " + std::to_string(one.shared_bytes) +
                     " bytes, stores of " + std::to_string(one.store_bytes) + "; geometry: pieces of " +
                     std::to_string(one.tuned.piece_words) + ", sides of " + std::to_string(one.tuned.side_bytes) +
                     ", boxes of";
  for (const std::int64_t bytes : one.tuned.gather_bytes) text.append(" ").append(std::to_string(bytes));
  return text;
}

// A random setting. Half of the tunings have tiles so small that a few kilobytes have all kinds of edges; but a problem
// takes at most some hundred blocks.
inline gpu_setting any_setting(dice& roll, const problem& what) {
  const std::int64_t element_bytes = what.element_bytes;
  const std::int64_t part = elements_of(what) * element_bytes / 50;
  gpu_setting made;
  const auto misalignment = [&]() -> std::size_t {
    const std::int64_t unit = element_bytes & -element_bytes;
    if (roll.one_in(2)) return 0;
    if (roll.one_in(4)) return static_cast<std::size_t>(roll.below(64));  // complex<float> may have such an address
    return static_cast<std::size_t>(roll.below(64) / unit * unit);
  };
  made.src_misalignment = misalignment();
  made.dst_misalignment = misalignment();
  if (roll.one_in(6)) made.alignment = std::int64_t{1} << roll.below(5);
  constexpr std::int64_t shared[] = {48 << 10, 64 << 10, 99 << 10, 163 << 10, 227 << 10, 227 << 10, 227 << 10};
  made.shared_bytes = roll.of(shared);
  made.multiprocessors = roll.one_in(2) ? 1 : 132;
  made.threads = static_cast<emulated::order>(roll.below(3));
  made.seed = static_cast<std::uint64_t>(roll.below(1 << 30));
  if (roll.one_in(2)) {
    made.tuned.piece_words = std::int64_t{1} << roll.below(11);
    made.tuned.side_bytes = std::int64_t{8} << roll.below(7);
    for (int k = 0; k < 5; ++k) made.tuned.gather_bytes[k] = std::max<std::int64_t>(64 << k, part) << roll.below(6);
  }
  return made;
}

inline std::int64_t alignment_of(std::int64_t src_address, std::int64_t dst_address) {
  const std::int64_t both = src_address | dst_address | 16;
  return both & -both;
}

struct gpu_way {
  map::canonical form;
  kernels::offer chosen;
};

// Plans as api/gpu_plan.cpp does: words are at most as long as the pointers' alignment, and as the forced row's words.
inline gpu_way plan_of(const problem& what, const gpu_setting& setting) {
  // The misalignment of the caller's pointers: workbench aligns the lowest byte to 64.
  const std::int64_t src = static_cast<std::int64_t>(setting.src_misalignment) - range_of(what, &axis::src_stride).lo;
  const std::int64_t dst = static_cast<std::int64_t>(setting.dst_misalignment) - range_of(what, &axis::dst_stride).lo;
  std::int64_t word = std::min(setting.alignment, alignment_of(src, dst));
  const kernels::kernel* const forced = setting.row.empty() ? nullptr : kernels::find(setting.row);
  if (forced != nullptr) word = std::min<std::int64_t>(word, forced->element_bytes);
  gpu_way way;
  way.form = map::canonicalize(what, word);
  const std::int64_t first =
      alignment_of(src + way.form.src_offset * way.form.word_bytes, dst + way.form.dst_offset * way.form.word_bytes);
  const gpu_wish wanted = {.multiprocessors = setting.multiprocessors,
                           .shared_bytes = setting.shared_bytes,
                           .alignment = static_cast<int>(std::min(setting.alignment, first)),
                           .kernel = setting.row,
                           .costs = &setting.tuned,
                           .store_bytes = setting.store_bytes};
  way.chosen =
      what.in_place ? choose_in_place(way.form, map::in_place(way.form), wanted) : choose_move(way.form, wanted);
  return way;
}

struct moved {
  std::string fault;  // empty: dst is right
  std::string row;    // empty: refused

  [[nodiscard]] bool can_run() const { return !row.empty() && fault.empty(); }
};

// The chosen row before it runs. A row that needs more shared memory than the setting has is a fault.
inline moved chosen(const kernels::offer& made, const gpu_setting& setting) {
  moved result;
  if (made.row == nullptr) return result;
  result.row = made.row->name;
  if (made.shared_bytes > setting.shared_bytes) {
    result.fault = "wants " + std::to_string(made.shared_bytes) + " bytes of shared memory";
  }
  return result;
}

// The arguments of an offer, to be changed.
template <class Args>
Args& args_of(kernels::offer& made) {
  return *std::launder(reinterpret_cast<Args*>(made.args));
}

inline moved move(const problem& what, const gpu_setting& setting) {
  gpu_way way = plan_of(what, setting);
  const map::canonical& form = way.form;
  kernels::offer& made = way.chosen;
  moved result = chosen(made, setting);
  if (!result.can_run()) return result;

  workbench bench(what, placement::heap, setting.src_misalignment, setting.dst_misalignment);
  const map::byte_span src_span = map::src_span(form), dst_span = map::dst_span(form);
  emulated::session running;
  running.threads = setting.threads;
  running.seed = setting.seed;
  running.src = {bench.src() + src_span.lo, bench.src() + src_span.hi};
  running.dst = {bench.dst() + dst_span.lo, bench.dst() + dst_span.hi};
  auto& args = args_of<gpu::array_args>(made);
  args.src = bench.src() + form.src_offset * form.word_bytes;
  args.dst = bench.dst() + form.dst_offset * form.word_bytes;
  args.src_begin = reinterpret_cast<std::uint64_t>(running.src.begin);
  args.src_end = reinterpret_cast<std::uint64_t>(running.src.end);
  if (made.blocks > 0) made.row->launch(made.args, made.blocks, made.shared_bytes, &running);
  result.fault = running.fault.empty() ? bench.difference() : running.fault;
  return result;
}

#if defined(__SANITIZE_ADDRESS__)
inline constexpr bool address_sanitizer = true;
#elif defined(__has_feature)
inline constexpr bool address_sanitizer = __has_feature(address_sanitizer);
#else
inline constexpr bool address_sanitizer = false;
#endif

// Slow builds test fewer problems, by this factor. The emulator sees every access without AddressSanitizer too.
#if defined(EMULATED_PROCESSOR)
inline const int slower = 8;
#else
inline const int slower = thinner() * (address_sanitizer ? 2 : 1);
#endif

}  // namespace cornerturn::testing

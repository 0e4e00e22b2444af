// The list as a table.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/family.hpp"

namespace cornerturn::kernels {

// The kind of problems that a row accepts.
enum class row_kind : std::uint8_t {
  move,        // out of place, bits unchanged
  arithmetic,  // out of place, elements are computed, or copied to two destinations
  in_place,    // src is dst
  batch,       // many items, each at addresses of its own
  alternating  // several problems of a row of moves in one launch: gpu/policy/alternating.hpp
};

// The arrays of a call on the CPU, each at the word of index 0. A row in place reads and writes dst alone.
struct arrays {
  const std::byte* src = nullptr;
  std::byte* dst = nullptr;
  const std::byte* second = nullptr;  // where math.second is source; dst itself where beta multiplies dst
  std::byte* second_dst = nullptr;    // where math.second is destination
  float scale = 1;
  std::byte* workspace = nullptr;  // as many bytes as the plan says, contents unspecified
};

// Effect  runs units [begin, end) on the CPU; args is the struct of the family's args.hpp
// Alias   two calls on disjoint ranges write disjoint bytes. In place they touch disjoint bytes, or synchronise through
//         flags in the workspace. Where second is dst, the call that writes an element reads it before
using run_function = void (*)(const void* args, const arrays& all, std::int64_t begin, std::int64_t end) noexcept;

// Effect  starts `blocks` blocks of a GPU kernel on the current device; args is the struct of the family's args.hpp.
//         With 0 blocks it starts none, and args may be null: it loads the kernel and requests the shared memory, so
//         that a later start does no first-use work
// Returns null, or the driver's message
using launch_function = const char* (*)(const void* args, std::uint32_t blocks, int shared_bytes,
                                        void* stream) noexcept;

struct batch_shape;
struct batch_tables;

// Effect  adds the launches of the shapes that a batch row has won: kernels/batch.hpp
using lay_out_function = void (*)(std::span<const batch_shape* const> shapes, const target& on, const kernel& row,
                                  batch_tables& made);

inline constexpr int all_shared_bytes = 0x7fffffff;  // with 0 blocks: all that the device allows

// Returns  the geometry of an offer, one or more lines for plan.explain()
using describe_function = std::string (*)(const offer& made);

struct kernel {
  const char* name;
  const char* family;
  row_kind kind;
  int element_bytes;      // 0: any
  int dst_element_bytes;  // differs where a row converts
  const char* note;
  offer_function offer;        // GPU: offers::<family> of its offer.cpp; CPU: the function that rows.inc names
  run_function run = nullptr;  // on the CPU: cpu/rows-inl.hpp makes it
  describe_function describe = nullptr;  // null: no geometry to tell
  launch_function launch = nullptr;      // on a GPU: cuda/launch.cuh makes it
  lay_out_function lay_out = nullptr;    // of a batch row: lay_outs::<family> of its batch.cpp
  int tile_rows = 0;                     // of a GPU kernel whose tile has a fixed size
  int tile_cols = 0;
  int shared_bytes = 0;      // that its tile takes
  std::uint64_t limits = 0;  // GPU: kernels/gpu/policy/limits.hpp
  bool is_oracle = false;    // the tests compare other rows with it; the planner never chooses it by itself
  bool any_stride = false;   // its offer and its kernel take every stride that check() accepts
};

// Every row of every backend. In a build without a backend, its rows have a null `launch`, and the planner still asks
// them.
[[nodiscard]] std::span<const kernel> all() noexcept;
// Returns null when no row has that name. A GPU row is found by its name of version 0.1 too, which begins with cuda_ instead of
//         gpu_: tuning files may have it
[[nodiscard]] const kernel* find(std::string_view name) noexcept;

// True if this build can run the row.
[[nodiscard]] inline bool is_present(const kernel& row) noexcept { return row.run != nullptr || row.launch != nullptr; }
[[nodiscard]] inline bool is_of_gpu(const kernel& row) noexcept { return row.run == nullptr; }

// True if the row is the variant of its family that the suffix names: "_fused", "_unaligned".
[[nodiscard]] inline bool is_variant(const kernel& row, std::string_view suffix) noexcept {
  return std::string_view(row.name).ends_with(suffix);
}

// Returns  the CPU that the kernels run on, with the SIMD target in use. It is read once
[[nodiscard]] const base::machine& this_machine();

// SIMD targets that this build has and this machine runs, best first; the first one is in use.
[[nodiscard]] std::vector<std::string_view> simd_targets();

// Effect  until the next call, only targets named `name` are used ("" for all). For tests; not thread-safe.
// Returns false, and changes nothing, when this machine has no such target
bool force_simd_target(std::string_view name);

#define CPU_ROW(name, ...) \
  void name(const void* args, const arrays& all, std::int64_t begin, std::int64_t end) noexcept;
#define GPU_ROW(name, ...) const char* name(const void* args, std::uint32_t blocks, int shared, void* stream) noexcept;
#include "kernels/kernels.inc"

}  // namespace cornerturn::kernels

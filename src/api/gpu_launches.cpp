#include "api/gpu_launches.hpp"

#include <algorithm>
#include <memory>
#include <string>

#include "api/check.hpp"
#include "cornerturn/error.hpp"
#include "kernels/kernel.hpp"
#include "plan/batch_gpu.hpp"
#include "run/launch.hpp"

namespace cornerturn::detail {
namespace {

byte_range range_of(const map::byte_span& span, const std::byte* first) { return {first + span.lo, first + span.hi}; }

class teller {
 public:
  teller(const gpu_arguments& all, const std::function<void(const gpu_launch&)>& each) : all_(all), each_(each) {}

  void tell(const map::canonical& form, const kernels::offer& chosen, gpu_launch launch, const std::byte* src,
            std::byte* dst) const {
    if (chosen.blocks == 0) return;
    launch.row = chosen.row->name;
    launch.blocks = chosen.blocks;
    launch.shared_bytes = chosen.shared_bytes;
    if (chosen.grid_extents != nullptr) launch.digits = chosen.grid_extents(chosen);
    const running::launch_arguments arguments(
        form, chosen, {.src = src, .dst = dst, .second = all_.second, .scale = all_.scale}, launch.flags);
    launch.arguments = arguments.get();
    each_(launch);
  }

 private:
  const gpu_arguments& all_;
  const std::function<void(const gpu_launch&)>& each_;
};

void tell_rectangle(const running::gpu_variant& way, const gpu_arguments& all, const teller& told) {
  const planning::gpu_rectangle& made = *way.rectangle;
  std::byte* const data = all.dst + way.form.dst_offset * way.form.word_bytes;
  std::byte* const workspace = made.workspace_bytes == 0 ? nullptr : all.workspace(made.workspace_bytes);
  const map::byte_span array = map::dst_span(way.form);
  static_cast<void>(running::run_rectangle(
      made, data, workspace,
      [&](const planning::gpu_move& move, const std::byte* from, std::byte* to, std::uint32_t* flags) -> const char* {
        gpu_launch launch;
        if (move.follows_cycles) {
          launch.src = launch.dst = range_of(array, all.dst);
          launch.second = {from, from + move.workspace_bytes};
          launch.second_written = move.writes_workspace;
        } else {
          launch.src = range_of(map::src_span(move.form), from);
          launch.dst = range_of(map::dst_span(move.form), to);
        }
        launch.flags = flags;
        launch.flag_count = move.flags();
        told.tell(move.form, move.chosen, launch, from, to);
        return nullptr;
      },
      [](std::uint32_t* flags, std::int64_t bytes) -> const char* {
        std::fill(flags, flags + bytes / 4, 0U);
        return nullptr;
      }));
}

}  // namespace

void for_each_launch(const problem& what, const kernels::gpu_traits& on, std::string_view row, const gpu_arguments& all,
                     const std::function<void(const gpu_launch&)>& each) {
  api::check(what);
  const std::string name(row);
  if (!row.empty()) {
    const std::vector<std::string_view> rows = gpu_rows();
    if (std::find(rows.begin(), rows.end(), row) == rows.end()) {
      throw error(status::invalid_argument, "kernel: \"" + name + "\" is no GPU row of this build");
    }
  }
  const running::work work(what);
  const int alignment =
      running::alignment_of(work.form, {.src = all.src, .dst = all.dst, .second = all.second, .scale = all.scale});
  const running::gpu_variant way = running::choose_variant(work, on, alignment, row);
  if (way.chosen.row == nullptr) {
    throw error(status::invalid_argument, "kernel: \"" + name + "\" cannot move this problem");
  }
  const teller told(all, each);
  if (way.rectangle != nullptr) return tell_rectangle(way, all, told);
  gpu_launch launch;
  launch.src = range_of(map::src_span(way.form), all.src);
  launch.dst = range_of(map::dst_span(way.form), all.dst);
  if (all.second != nullptr) {
    launch.second = range_of(map::second_span(way.form), all.second);
    launch.second_written = what.math.second == second_array::destination;
  }
  told.tell(way.form, way.chosen, launch, all.src, all.dst);
}

void for_each_batch_launch(const problem& what, std::span<const std::byte* const> src, std::span<std::byte* const> dst,
                           const kernels::gpu_traits& on, const std::function<void(const gpu_launch&)>& each) {
  api::check(what);
  std::vector<planning::batch_move> moves;
  byte_range all_src = {src.front(), src.front()}, all_dst = {dst.front(), dst.front()};
  const auto widen = [](byte_range& all, const std::byte* at, const map::byte_span& span) {
    all = {std::min(all.begin, at + span.lo), std::max(all.end, at + span.hi)};
  };
  const map::canonical form = map::canonicalize(what);
  for (std::size_t k = 0; k < src.size(); ++k) {
    moves.push_back({0, src[k], dst[k]});
    widen(all_src, src[k], map::src_span(form));
    widen(all_dst, dst[k], map::dst_span(form));
  }
  const problem problems[] = {what};
  const planning::gpu_batch made = planning::lay_out(problems, moves, planning::target_of(on));
  if (!made.alone.empty()) throw error(status::invalid_argument, "an item of this batch has a launch of its own");
  // In a GPU's memory the table begins at a multiple of 256 bytes, on which its sectors depend.
  std::vector<std::byte> room(made.bytes.size() + 256);
  void* table = room.data();
  std::size_t space = room.size();
  std::align(256, made.bytes.size(), table, space);
  std::copy(made.bytes.begin(), made.bytes.end(), static_cast<std::byte*>(table));
  for (const kernels::batch_launch& one : made.launches) {
    gpu_launch launch;
    launch.row = one.row->name;
    launch.blocks = one.blocks;
    launch.shared_bytes = one.shared_bytes;
    launch.src = all_src;
    launch.dst = all_dst;
    launch.table = {static_cast<std::byte*>(table), static_cast<std::byte*>(table) + made.bytes.size()};
    kernels::with_tables(one, table, [&](const void* args) {
      launch.arguments = args;
      each(launch);
    });
  }
}

std::vector<std::string_view> gpu_rows() {
  std::vector<std::string_view> names;
  for (const kernels::kernel& one : kernels::all()) {
    if (kernels::is_of_gpu(one)) names.emplace_back(one.name);
  }
  return names;
}

}  // namespace cornerturn::detail

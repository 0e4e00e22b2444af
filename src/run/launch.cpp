#include "run/launch.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <iterator>
#include <new>
#include <string>

#include "cornerturn/error.hpp"
#include "kernels/gpu/device.hpp"
#include "kernels/gpu/policy/alternating.hpp"
#include "kernels/gpu/policy/computed_args.hpp"

namespace cornerturn::running {
namespace {

// The addresses of index 0.
struct first_words {
  first_words(const map::canonical& form, const gpu_arrays& all) noexcept
      : src(static_cast<const std::byte*>(all.src) + form.src_offset * form.word_bytes),
        dst(static_cast<std::byte*>(all.dst) + form.dst_offset * form.dst_word_bytes),
        second(all.second == nullptr ? nullptr
                                     : static_cast<std::byte*>(all.second) + form.second_offset * form.dst_word_bytes) {
  }
  // True if each address is a multiple of its own element size.
  [[nodiscard]] bool are_whole(const map::canonical& form) const noexcept {
    const auto is_whole = [](const void* at, std::int64_t bytes) {
      return reinterpret_cast<std::uintptr_t>(at) % static_cast<std::uintptr_t>(bytes) == 0;
    };
    return is_whole(src, form.word_bytes) && is_whole(dst, form.dst_word_bytes) &&
           is_whole(second, form.dst_word_bytes);
  }

  const std::byte* src;
  std::byte* dst;
  std::byte* second;
};

}  // namespace

int alignment_of(const map::canonical& form, const gpu_arrays& all) noexcept {
  const first_words at(form, all);
  const auto number = [](const void* one) { return reinterpret_cast<std::uintptr_t>(one); };
  const std::uintptr_t each = number(at.src) | number(at.dst) | number(at.second) | 16;
  const auto common = static_cast<int>(each & -each);
  const auto larger = static_cast<int>(std::max(form.word_bytes, form.dst_word_bytes));
  return common < larger && at.are_whole(form) ? larger : common;
}

// The arguments begin with array_args in every GPU family, and with computed_args in a row of arithmetic.
launch_arguments::launch_arguments(const map::canonical& form, const kernels::offer& chosen, const gpu_arrays& all,
                                   std::uint32_t* flags) noexcept {
  std::memcpy(bytes_, chosen.args, chosen.args_bytes);
  const first_words at(form, all);
  const map::byte_span span = map::src_span(form);
  auto& arrays = *std::launder(reinterpret_cast<gpu::array_args*>(bytes_));
  arrays.src = at.src;
  arrays.dst = at.dst;
  arrays.src_begin = reinterpret_cast<std::uint64_t>(all.src) + static_cast<std::uint64_t>(span.lo);
  arrays.src_end = reinterpret_cast<std::uint64_t>(all.src) + static_cast<std::uint64_t>(span.hi);
  arrays.flags = flags;
  if (chosen.row->kind != kernels::row_kind::arithmetic) return;
  auto& computed = *std::launder(reinterpret_cast<gpu::computed_args*>(bytes_));
  computed.second = at.second;
  computed.scale = all.scale;
  computed.bytewise = at.are_whole(form) ? 0 : 1;
}

namespace {

const char* launch(const map::canonical& form, const kernels::offer& chosen, const gpu_arrays& all,
                   std::uint32_t* flags, void* stream) noexcept {
  if (chosen.blocks == 0) return nullptr;
  const launch_arguments arguments(form, chosen, all, flags);
  return chosen.row->launch(arguments.get(), chosen.blocks, chosen.shared_bytes, stream);
}

const char* launch_rectangle(const planning::gpu_rectangle& all, std::byte* data, std::byte* workspace,
                             void* stream) noexcept {
  return run_rectangle(
      all, data, workspace,
      [&](const planning::gpu_move& move, const std::byte* from, std::byte* to, std::uint32_t* flags) {
        return launch(move.form, move.chosen, {.src = from, .dst = to}, flags, stream);
      },
      [&](std::uint32_t* flags, std::int64_t bytes) { return gpu::clear(flags, bytes, stream); });
}

}  // namespace

const char* start(const gpu_variant& variant, const gpu_arrays& all, void* stream, int shared_bytes) noexcept {
  const kernels::offer& chosen = variant.chosen;
  if (chosen.blocks == 0) return nullptr;
  const launch_arguments arguments(variant.form, chosen, all);
  return chosen.row->launch(arguments.get(), chosen.blocks, std::max(chosen.shared_bytes, shared_bytes), stream);
}

const kernels::kernel* alternating_row(const kernels::kernel& row) {
  const kernels::kernel* const found = kernels::find(std::string(row.name) + "_alternating");
  return found != nullptr && found->launch != nullptr ? found : nullptr;
}

std::size_t most_parts(const kernels::offer& one) noexcept {
  return static_cast<std::size_t>(gpu::most_alternating(static_cast<int>(one.args_bytes)));
}

const char* start_alternating(const kernels::kernel& row, std::span<const gpu_part> parts, void* stream) noexcept {
  static_assert(gpu::most_alternating_bytes == kernels::max_args_bytes);
  alignas(16) std::byte bytes[gpu::most_alternating_bytes];
  gpu::alternating_head head;
  std::array<std::uint32_t, std::size(gpu::alternating_head().shares)> counts{};
  std::uint32_t blocks = 0;
  int shared_bytes = 0;
  for (const gpu_part& one : parts) {
    const kernels::offer& chosen = one.how->chosen;
    if (chosen.blocks == 0) continue;
    const launch_arguments arguments(one.how->form, chosen, one.arrays);
    std::memcpy(bytes + sizeof head + std::size_t{head.count} * chosen.args_bytes, arguments.get(), chosen.args_bytes);
    counts[head.count++] = chosen.blocks;
    blocks += chosen.blocks;
    shared_bytes = std::max(shared_bytes, chosen.shared_bytes + row.shared_bytes - chosen.row->shared_bytes);
  }
  if (blocks == 0) return nullptr;
  for (std::uint32_t k = 0, rest = blocks; k + 1 < head.count; rest -= counts[k++]) {
    head.shares[k] = gpu::share_of(counts[k], rest);
  }
  std::memcpy(bytes, &head, sizeof head);
  return row.launch(bytes, blocks, shared_bytes, stream);
}

const char* start_rectangle(const planning::gpu_rectangle& all, std::byte* data, std::span<std::byte> workspace,
                            void* stream) {
  if (!workspace.empty()) return launch_rectangle(all, data, workspace.data(), stream);
  void* const own = gpu::allocate(all.workspace_bytes, stream);
  if (own == nullptr) {
    throw error(status::out_of_memory, "no memory on GPU " + std::to_string(gpu::current_device()) +
                                           " for a workspace of " + std::to_string(all.workspace_bytes) + " bytes");
  }
  const char* const message = launch_rectangle(all, data, static_cast<std::byte*>(own), stream);
  gpu::release(own, stream);
  return message;
}

}  // namespace cornerturn::running

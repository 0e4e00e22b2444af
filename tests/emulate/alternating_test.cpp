// Every alternating row, emulated: several generated problems of its row of moves in one launch. Every src is an allocation of its
// own, with no byte more than may be read. All dst are in one array, with guard bytes between them.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "api/check.hpp"
#include "gpu_problems.hpp"
#include "kernels/gpu/policy/limits.hpp"
#include "move.hpp"
#include "run/launch.hpp"

namespace cornerturn::testing::alternating_test {
namespace {

constexpr std::string_view suffix = "_alternating";

std::vector<std::string> moves_of_rows() {
  std::vector<std::string> names;
  for (const kernels::kernel& one : kernels::all()) {
    if (one.kind != kernels::row_kind::alternating) continue;
    std::string_view name = one.name;
    EXPECT_TRUE(name.ends_with(suffix)) << name;
    name.remove_suffix(suffix.size());
    names.emplace_back(name);
  }
  return names;
}

// The parts of one launch.
class several {
 public:
  // Returns false if the row does not accept the problem.
  bool add(const problem& what, const gpu_setting& setting) {
    const gpu_way way = plan_of(what, setting);
    if (!chosen(way.chosen, setting).can_run() || way.chosen.blocks == 0) return false;
    const byte_range src = range_of(what, &axis::src_stride), dst = range_of(what, &axis::dst_stride);
    part made{.what = what, .how = {}, .memory = lines(setting.src_misalignment + src.size()), .src = nullptr};
    std::byte* const lowest = made.memory.get() + setting.src_misalignment;
    seed_ += 8;
    std::memcpy(lowest, pattern(seed_ + src.size()) + seed_, src.size());
    made.src = lowest - src.lo;
    made.how.form = way.form;
    made.how.chosen = way.chosen;
    read_.push_back({lowest, lowest + src.size()});
    const std::size_t at = (dst_bytes_ + 63) / 64 * 64 + 64 + setting.dst_misalignment;
    dst_bytes_ = at + dst.size();
    made.dst_at = at - static_cast<std::size_t>(dst.lo);  // the offset of the caller's pointer
    parts_.push_back(std::move(made));
    return true;
  }
  [[nodiscard]] std::size_t size() const { return parts_.size(); }
  [[nodiscard]] const kernels::offer& first() const { return parts_.front().how.chosen; }

  // Returns "" when one launch has transposed every problem.
  std::string start(const kernels::kernel& row, const gpu_setting& setting) const {
    const std::size_t bytes = dst_bytes_ + 64;
    const heap_memory dst = lines(bytes), wanted = lines(bytes);
    std::memset(dst.get(), static_cast<int>(poison), bytes);
    std::memset(wanted.get(), static_cast<int>(poison), bytes);
    emulated::session running;
    running.threads = setting.threads;
    running.seed = setting.seed;
    running.dst = {dst.get(), dst.get() + bytes};
    running.also_read = read_;
    std::vector<cornerturn::running::gpu_part> parts;
    for (const part& one : parts_) {
      std::byte* const to = wanted.get() + one.dst_at;
      walk(one.what, [&](std::int64_t s, std::int64_t d) {
        std::memcpy(to + d * one.what.element_bytes, one.src + s * one.what.element_bytes,
                    static_cast<std::size_t>(one.what.element_bytes));
      });
      parts.push_back({&one.how, {.src = one.src, .dst = dst.get() + one.dst_at}});
    }
    const char* const said = cornerturn::running::start_alternating(row, parts, &running);
    if (said != nullptr) return said;
    for (std::size_t k = 0; k < bytes; ++k) {
      if (dst.get()[k] == wanted.get()[k]) continue;
      std::size_t near = 0;
      while (near + 1 < parts_.size() && parts_[near + 1].dst_at <= k) ++near;
      return "byte " + std::to_string(k - parts_[near].dst_at) + " of dst of problem " + std::to_string(near) + ", " +
             to_text(parts_[near].what);
    }
    return "";
  }

 private:
  struct part {
    problem what;
    cornerturn::running::gpu_variant how;
    heap_memory memory;
    const std::byte* src;
    std::size_t dst_at = 0;
  };
  std::vector<part> parts_;
  std::vector<emulated::bytes> read_;
  std::size_t dst_bytes_ = 0, seed_ = 0;
};

class emulated_alternating : public ::testing::TestWithParam<std::string> {};

TEST_P(emulated_alternating, problems_of_one_launch_arrive) {
  const kernels::kernel& alone = *kernels::find(GetParam());
  const kernels::kernel* const row = cornerturn::running::alternating_row(alone);
  ASSERT_NE(row, nullptr);
  EXPECT_EQ(gpu::threads_of(row->limits), gpu::threads_of(alone.limits));
  EXPECT_GE(row->shared_bytes, alone.shared_bytes);
  // Elements of three words have rows of their own.
  const bool has_three = GetParam().starts_with("gpu_assemble") && GetParam().find("x3") != std::string::npos;
  const std::int64_t element_bytes = has_three ? 3 * alone.element_bytes : alone.element_bytes;
  dice roll(static_cast<std::uint64_t>(alone.element_bytes) + 46);
  int launches = 0, full = 0;
  for (int round = 0; round < 12 / std::min(slower, 4) + 2; ++round) {
    several some;
    gpu_setting setting = any_setting(roll, transpose_problem(64, 64, alone.element_bytes));
    const bool is_full = round == 0 || roll.one_in(2);
    for (int k = 0; k < 1600 && (is_full || some.size() < 2); ++k) {
      if (some.size() > 0 && some.size() == cornerturn::running::most_parts(some.first())) break;
      const problem what = any_gpu_problem(roll, &alone, element_bytes);
      ASSERT_NO_THROW(api::check(what));
      const gpu_setting other = any_setting(roll, what);
      setting.src_misalignment = other.src_misalignment;
      setting.dst_misalignment = other.dst_misalignment;
      if (alone.family == std::string_view("tile")) setting.src_misalignment = setting.dst_misalignment = 0;
      setting.alignment = 16;
      setting.store_bytes = roll.one_in(3) ? 32 : 128;
      setting.row = GetParam();
      static_cast<void>(some.add(what, setting));
    }
    if (some.size() < 2) continue;
    ++launches;
    full += some.size() == cornerturn::running::most_parts(some.first()) ? 1 : 0;
    ASSERT_EQ(some.start(*row, setting), "") << to_text(setting);
  }
  EXPECT_GE(launches, 2);
  EXPECT_GE(full, 1);
}

INSTANTIATE_TEST_SUITE_P(list, emulated_alternating, ::testing::ValuesIn(moves_of_rows()),
                         [](const auto& one) { return one.param; });

}  // namespace
}  // namespace cornerturn::testing::alternating_test

// Every CPU row of kernels.inc x every SIMD target of this machine, on the problems of cases.hpp.
//
//   1. planning::choose plans a problem for machines with so small, or so large, caches that problems of a few kilobytes
//      use both non-temporal and ordinary stores
//   2. the kernel runs it whole, then in uneven ranges of units, last range first, each into a separate dst: no two
//      ranges may write one byte, and all ranges together must be the whole
//   3. step 2 repeats with panels, groups and row chunks of other sizes, as a plan for more threads or other caches
//      would cut them
//
// Then some problems without memory for a buffer.
#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <string>
#include <tuple>

#include "api/check.hpp"
#include "cases.hpp"
#include "instructions.hpp"
#include "kernels/cpu/block_sizes.hpp"
#include "kernels/cpu/scratch.hpp"
#include "kernels/cpu/short_wide/args.hpp"
#include "kernels/cpu/split.hpp"
#include "kernels/cpu/stream/args.hpp"
#include "kernels/cpu/tall_skinny/args.hpp"
#include "kernels/kernel.hpp"
#include "map/canonical.hpp"
#include "oracle.hpp"
#include "plan/choose.hpp"

namespace cornerturn::testing::registry_test {
namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr int thin = 4;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
constexpr int thin = 4;
#else
constexpr int thin = 1;
#endif
#else
constexpr int thin = 1;
#endif

constexpr int enough_failures = 4;

// An access to an unreadable page ends the process; print the problem.
char current_case[1024];
void say_where(int signal) {
  const ssize_t ignored = write(STDERR_FILENO, current_case, std::strlen(current_case));
  static_cast<void>(ignored);
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

class bench_of_one_problem {
 public:
  bench_of_one_problem(const problem& what, const map::canonical& form, dice& roll)
      : text_(to_text(what)),
        bench_(what, static_cast<placement>(roll.below(3)), static_cast<std::size_t>(roll.below(64)),
               static_cast<std::size_t>(roll.one_in(2) ? 0 : roll.below(64))),
        src_(bench_.src() + form.src_offset * form.word_bytes),
        dst_(bench_.dst() + form.dst_offset * form.word_bytes),
        roll_(roll) {}

  bool check(const kernels::offer& made) {
    const kernels::kernel& row = *made.row;
    std::string where = row.name;
    if (const auto* work = kernels::cpu::blocking_of(made); work != nullptr) {
      where += std::string(work->streaming ? ", non-temporal" : ", ordinary") + " stores, panel " +
               std::to_string(work->panel) + ", group " + std::to_string(work->group) + ", row chunk " +
               std::to_string(work->row_chunk);
    }
    where += ": " + text_ + "\n";
    where.copy(current_case, sizeof current_case - 1);
    current_case[std::min(where.size(), sizeof current_case - 1)] = 0;

    bench_.clear();
    row.run(made.args, {.src = src_, .dst = dst_}, 0, made.units);
    const std::string whole = bench_.difference();
    EXPECT_EQ(whole, "") << where;
    if (made.units < 2) return whole.empty();

    std::string fault;
    bench_.clear();
    for (std::int64_t end = made.units, ranges = 1; end > 0; ++ranges) {
      const std::int64_t begin = ranges == 4 ? 0 : roll_.below(end);
      row.run(made.args, {.src = src_, .dst = dst_}, begin, end);
      const std::string twice = bench_.add_part();
      if (fault.empty()) fault = twice;
      end = begin;
    }
    EXPECT_EQ(fault, "") << where;
    const std::string sum = bench_.difference_of_sum();
    EXPECT_EQ(sum, "") << "in ranges: " << where;
    return whole.empty() && fault.empty() && sum.empty();
  }

 private:
  std::string text_;
  workbench bench_;
  const std::byte* src_;
  std::byte* dst_;
  dice& roll_;
};

// The arguments in place; they are trivially copyable.
template <class Args>
Args& args_of(kernels::offer& made) {
  return const_cast<Args&>(made.as<Args>());
}

// Another legal way to cut the work of an offer of the families stream or gather.
void cut_again(kernels::offer& made, dice& roll) {
  constexpr std::int64_t panels[] = {1, 2, 3, 5, 16, 31, 64, 65, 130};
  auto& work = args_of<kernels::cpu::blocking>(made);
  work.panel = std::min(work.cols.total, roll.of(panels));
  // A piece that is not the last of its run is longer than a line: see policy/line_stores-inl.hpp.
  const std::int64_t step = (64 + work.element_bytes) / work.element_bytes;
  work.group = std::min(work.rows.total, (1 + roll.below(3)) * step);
  work.row_chunk = std::min(work.rows.total, (1 + roll.below(3)) * work.group);
  const std::string_view row = made.row->name;
  if (row == "cpu_stream_elements") args_of<kernels::cpu::stream::elements_args>(made).folded = 1;
  if (row == "cpu_stream_shuffled") {  // panels of whole items
    const std::int64_t cols = args_of<kernels::cpu::stream::elements_args>(made).item.item_bytes / work.element_bytes;
    work.panel = base::ceil_div(work.panel, cols) * cols;
  }
  if (row.starts_with("cpu_stream_lines")) {
    args_of<kernels::cpu::stream::lines_args>(made).lines = std::int64_t{1} << roll.below(3);
  }
  if (row.starts_with("cpu_stream_strips")) {
    args_of<kernels::cpu::stream::strips_args>(made).lines = std::int64_t{2} << roll.below(2);
    work.prefetches_pages = roll.one_in(2);
    work.prefetch_bytes = 512;
  }
  made.units = work.units();
}

// Strips of fewer rows than one strip, which are never offered, and of any columns.
bool as_strips(const kernels::offer& lines, const kernels::kernel& row, kernels::offer& made) {
  static_cast<kernels::cpu::blocking&>(made.emplace<kernels::cpu::stream::strips_args>()) =
      lines.as<kernels::cpu::blocking>();
  made.row = &row;
  return true;
}

// Few columns or few rows, wherever they are, though the offer of so small a problem would be refused.
bool as_few(const kernels::offer& lines, const kernels::kernel& row, dice& roll, kernels::offer& made) {
  const std::string_view family = row.family;
  auto work = lines.as<kernels::cpu::blocking>();
  work.row_chunk = work.rows.total;
  work.prefetches_pages = roll.one_in(2);
  if (family == "short_wide") {
    const bool rows = work.streaming && work.rows.total * work.element_bytes <= 128;
    if (!rows || !kernels::cpu::columns_end_to_end(work)) return false;
    work.panel = std::min(work.cols.total, 1 + roll.below(600));
    made.emplace<kernels::cpu::short_wide::any_args>() = work;
  } else {
    if (work.cols.rank != 1 || work.rows.axes[0].src_stride != work.cols.total) return false;
    work.panel = work.cols.total;
    work.row_chunk = std::min(work.rows.total, (1 + roll.below(5)) * 128 / work.element_bytes);
    made.emplace<kernels::cpu::tall_skinny::args>() = work;
  }
  made.row = &row;
  made.units = work.units();
  return true;
}

std::string best_target() {
  static const std::string best(kernels::simd_targets().front());  // before a row is forced
  return best;
}

using parameter = std::tuple<std::string, std::string>;

class registry : public ::testing::TestWithParam<parameter> {
 protected:
  void SetUp() override {
    std::signal(SIGSEGV, say_where);
    std::signal(SIGBUS, say_where);
    ASSERT_TRUE(kernels::force_simd_target(std::get<1>(GetParam())));
  }
  void TearDown() override {
    EXPECT_TRUE(kernels::force_simd_target(""));
    std::signal(SIGSEGV, SIG_DFL);
    std::signal(SIGBUS, SIG_DFL);
  }
};

TEST_P(registry, moves_every_problem_that_it_accepts) {
  const std::string& forced = std::get<0>(GetParam());
  // Each tuning row, with non-temporal stores only: no cache, or a cache that other data fill.
  const base::machine machines[] = {machine_with(0, true), machine_with(0, false), machine_with(2 << 20, false),
                                    machine_with(std::int64_t{1} << 40, true)};
  // A row for one word size has a separate loop. All other rows share their loops, so only the first target runs them
  // in full.
  const kernels::kernel* row = kernels::find(forced);
  const bool own_loop = row != nullptr && row->element_bytes != 0;
  int keep = thin * thinner() * (own_loop || std::get<1>(GetParam()) == best_target() ? 1 : 4);
  int accepted = 0;
  int failures = 0;
  dice roll(1);
  const auto try_one_in = [&](int so_many, std::int64_t element_bytes) {
    for_each_problem(element_bytes, so_many, own_loop ? 8 : 1, machines[0], [&](const problem& what) {
      if (failures >= enough_failures) return;
      ASSERT_NO_THROW(api::check(what)) << to_text(what);
      const map::canonical form = map::canonicalize(what);
      std::unique_ptr<bench_of_one_problem> bench;
      kernels::offer last;
      last.row = nullptr;
      const auto check = [&](const kernels::offer& made) {
        ++accepted;
        if (bench == nullptr) bench = std::make_unique<bench_of_one_problem>(what, form, roll);
        failures += !bench->check(made);
      };
      const std::string lines_row = "cpu_stream_lines_b" + std::to_string(form.word_bytes);
      for (const base::machine& machine : machines) {
        const std::int64_t beside = machine.l2_bytes == 2 << 20 ? machine.l2_bytes : 0;
        const auto ask = [&](std::string_view name) {
          return planning::choose(form, {.kernel = name, .beside_bytes = beside}, machine);
        };
        const kernels::offer lines = ask(lines_row);
        if (lines.row != nullptr && row != nullptr && row->element_bytes == form.word_bytes) {
          kernels::offer other;
          const bool few = forced.starts_with("cpu_tall_skinny_b") || forced.starts_with("cpu_short_wide_b");
          if (few && as_few(lines, *row, roll, other)) check(other);
          if (forced.starts_with("cpu_stream_strips") && as_strips(lines, *row, other)) {
            cut_again(other, roll);
            check(other);
          }
        }
        const kernels::offer made = ask(forced);
        if (made.row == nullptr) continue;
        if (!forced.empty()) {
          ASSERT_STREQ(made.row->name, forced.c_str());
        }
        // Other machines often cut small problems alike.
        if (last.row == made.row && last.args_bytes == made.args_bytes &&
            std::memcmp(last.args, made.args, made.args_bytes) == 0) {
          continue;
        }
        last = made;
        check(made);
        const bool cut = std::string_view(made.row->family) == "stream" || forced == "cpu_gather";
        if (made.units == 0 || !cut) continue;
        kernels::offer other = made;
        cut_again(other, roll);
        check(other);
      }
    });
  };
  for (; accepted == 0 && keep > 0; keep /= 4) {  // few problems reach some rows
    for (const std::int64_t element_bytes : element_sizes) try_one_in(keep, element_bytes);
  }
  EXPECT_GT(accepted, 0) << "no problem of cases.hpp reaches this row";
}

// Elements of 16 bytes that are eight words: runs of dst begin at any word, even if dst begins at a multiple of 8 bytes.
TEST(step, strips_of_elements_of_several_words) {
  const problem what = strided(2, {{4, 11, 802}, {100, 44, 8}, {8, 1, 1}});
  const map::canonical form = map::canonicalize(what);
  const kernels::offer made = planning::choose(form, {.kernel = "cpu_step_strips"}, machine_with(0, true));
  ASSERT_NE(made.row, nullptr);
  for (std::uint64_t seed = 1; seed <= 64; ++seed) {
    dice roll(seed);
    ASSERT_TRUE(bench_of_one_problem(what, form, roll).check(made)) << seed;
  }
}

// Rows that repeat an element: of any size up to a line, of any length, one after another in dst or apart, at any address.
class repeated_elements : public registry {};

TEST_P(repeated_elements, fill_rows) {
  const base::machine machines[] = {machine_with(0, true), machine_with(std::int64_t{1} << 40, true)};
  constexpr std::int64_t lengths[] = {1, 2, 9, 15, 63, 64, 65, 127, 200, 1023, 1500, 17000};
  dice roll(1);
  int accepted = 0, failures = 0;
  for (std::int64_t bytes = 1; bytes <= 64; bytes += bytes < 17 ? 1 : 5) {
    for (int k = 0; k < 24 && failures < enough_failures; ++k) {
      const std::int64_t length = roll.of(lengths),
                         rows = 1 + roll.below(std::min<std::int64_t>(200, 1 + 40000 / length));
      const std::int64_t gap = roll.one_in(2) ? 0 : roll.below(70), step = 1 + roll.below(3);
      const problem what = strided(bytes, {{rows, roll.one_in(4) ? -step : step, length + gap}, {length, 0, 1}});
      const map::canonical form = map::canonicalize(what);
      for (const base::machine& machine : machines) {
        const kernels::offer made = planning::choose(form, {.kernel = "cpu_step_runs"}, machine);
        if (made.row == nullptr) continue;
        ++accepted;
        failures += !bench_of_one_problem(what, form, roll).check(made);
      }
    }
  }
  EXPECT_GT(accepted, 500);
}

// Runs of any length, copied one after another, by units that begin inside of the copies too.
TEST_P(repeated_elements, copy_runs) {
  const base::machine machine = machine_with(0, true);
  dice roll(2);
  int accepted = 0, failures = 0;
  for (int k = 0; k < 200 && failures < enough_failures; ++k) {
    const std::int64_t run = 1 + roll.below(1100), copies = 1 + roll.below(1 + 60000 / run), rows = 1 + roll.below(9);
    const std::int64_t gap = roll.one_in(2) ? 0 : roll.below(70);
    const problem what = strided(1, {{rows, run + roll.below(9), copies * run + gap}, {copies, 0, run}, {run, 1, 1}});
    const map::canonical form = map::canonicalize(what);
    const kernels::offer made = planning::choose(form, {.kernel = "cpu_copy_runs"}, machine);
    if (made.row == nullptr) continue;
    ++accepted;
    failures += !bench_of_one_problem(what, form, roll).check(made);
  }
  EXPECT_GT(accepted, 100);
}

std::vector<parameter> rows_by_targets() {
  std::vector<parameter> all;
  static_cast<void>(best_target());
  for (const std::string_view target : kernels::simd_targets()) all.emplace_back("", target);  // the plan decides
  for (const kernels::kernel& row : kernels::all()) {
    // A GPU's; or in place: tests/api/in_place_test.cpp; or arithmetic: apply_test.cpp.
    if (row.run == nullptr || row.kind != kernels::row_kind::move) continue;
    const std::string_view family = row.family;
    for (const std::string_view target : kernels::simd_targets()) {
      const bool wide = std::string_view(row.note).find("(AVX-512") != std::string_view::npos;
      if (!testing::has_instructions(row.note) || (wide && !target.starts_with("AVX3"))) continue;
      all.emplace_back(row.name, target);
      if (family == "reference" || std::string_view(row.name) == "cpu_gather_strided")
        break;  // one text, whatever the target
    }
  }
  return all;
}

// Without memory for a buffer, a row moves its elements one by one.
class without_buffers : public registry {};

TEST_P(without_buffers, moves_some_problems) {
  const std::string& forced = std::get<0>(GetParam());
  const bool own_loop = kernels::find(forced)->element_bytes != 0;
  int accepted = 0, failures = 0;
  dice roll(1);
  kernels::cpu::refuse_buffers(true);
  for (const std::int64_t element_bytes : element_sizes) {
    const int keep = thin * thinner() * (own_loop ? 1 : 8);
    for_each_problem(element_bytes, keep, own_loop ? 8 : 1, machine_with(0, true), [&](const problem& what) {
      if (failures >= enough_failures) return;
      const map::canonical form = map::canonicalize(what);
      const kernels::offer made = planning::choose(form, {.kernel = forced}, machine_with(0, true));
      if (made.row == nullptr) return;
      ++accepted;
      failures += !bench_of_one_problem(what, form, roll).check(made);
    });
  }
  kernels::cpu::refuse_buffers(false);
  if (thinner() == 1) {
    EXPECT_GT(accepted, 0) << "no problem of cases.hpp reaches this row";
  }
}

std::string name_of(const ::testing::TestParamInfo<parameter>& one) {
  const std::string& row = std::get<0>(one.param);
  return (row.empty() ? "unforced" : row) + "_" + std::get<1>(one.param);
}

INSTANTIATE_TEST_SUITE_P(cpu, registry, ::testing::ValuesIn(rows_by_targets()), name_of);

std::vector<parameter> rows_of_best_target() {
  std::vector<parameter> all = rows_by_targets();
  std::erase_if(all, [](const parameter& one) {
    const std::string& row = std::get<0>(one);
    // cpu_copy_elements is for data in cache, and takes no buffer.
    return row.empty() || row == "cpu_copy_elements" || std::get<1>(one) != best_target();
  });
  return all;
}

std::vector<parameter> step_runs_by_targets() {
  std::vector<parameter> all = rows_by_targets();
  std::erase_if(all, [](const parameter& one) { return std::get<0>(one) != "cpu_step_runs"; });
  return all;
}

INSTANTIATE_TEST_SUITE_P(cpu, repeated_elements, ::testing::ValuesIn(step_runs_by_targets()), name_of);

INSTANTIATE_TEST_SUITE_P(cpu, without_buffers, ::testing::ValuesIn(rows_of_best_target()), name_of);

TEST(registry_table, rows_have_unique_names_that_are_found) {
  for (const kernels::kernel& row : kernels::all()) {
    EXPECT_EQ(kernels::find(row.name), &row) << row.name;
    const bool oracle = std::string_view(row.family) == "reference";
    // cpu_copy_runs, gpu_interleave_b4_2; also gpu_deinterleave_b4_2
    const std::size_t family_at = std::string_view(row.name).find(row.family);
    EXPECT_TRUE(oracle ||
                (std::string_view(row.name).starts_with(row.run != nullptr ? "cpu_" : "gpu_") && family_at <= 6))
        << row.name;
    EXPECT_NE(std::string_view(row.note), "") << row.name;
    EXPECT_TRUE(row.run == nullptr || row.launch == nullptr) << row.name << " runs on the CPU or on a GPU";
    EXPECT_EQ(row.offer == nullptr, row.kind == kernels::row_kind::alternating) << row.name;
  }
  EXPECT_EQ(kernels::find("cpu"), nullptr);
  EXPECT_EQ(kernels::find("gpu_"), nullptr);
  EXPECT_EQ(kernels::find(""), nullptr);
}

TEST(registry_table, rows_of_gpus_are_found_by_their_old_names) {
  ASSERT_NE(kernels::find("gpu_tile_b4_64x64_r4_xor"), nullptr);
  EXPECT_EQ(kernels::find("cuda_tile_b4_64x64_r4_xor"), kernels::find("gpu_tile_b4_64x64_r4_xor"));
  EXPECT_EQ(kernels::find("cuda_copy"), nullptr) << "cpu_copy is another row";
  EXPECT_EQ(kernels::find("cuda_gpu_tile_b4_64x64_r4_xor"), nullptr);
  EXPECT_EQ(kernels::find("cuda_"), nullptr);
}

TEST(registry_table, an_unknown_target_changes_nothing) {
  const auto before = kernels::simd_targets();
  ASSERT_FALSE(before.empty());
  EXPECT_FALSE(kernels::force_simd_target("EMU9000"));
  EXPECT_EQ(kernels::simd_targets(), before);
  EXPECT_TRUE(kernels::force_simd_target(before.back()));
  EXPECT_EQ(kernels::simd_targets(), std::vector<std::string_view>{before.back()});
  EXPECT_TRUE(kernels::force_simd_target(""));
  EXPECT_EQ(kernels::simd_targets(), before);
}

}  // namespace
}  // namespace cornerturn::testing::registry_test

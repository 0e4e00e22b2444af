// Every CPU row of kernels.inc x every SIMD target of this machine, on the problems of cases.hpp.
//
//   1. planning::choose plans a problem for machines with so small, or so large, caches that problems of a few kilobytes
//      use both non-temporal and ordinary stores
//   2. the kernel runs it whole, then in uneven ranges of units, last range first, each into a separate dst: no two
//      ranges may write one byte, and all ranges together must be the whole
//   3. step 2 repeats with panels, groups and row chunks of other sizes, as a plan for more threads or other caches
//      would cut them
#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <string>
#include <tuple>

#include "api/check.hpp"
#include "cases.hpp"
#include "kernels/cpu/block.hpp"
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

// An emulator of another processor is slower still: its test preset keeps one problem in so many.
int thinner() {
  const char* const wanted = std::getenv("CORNERTURN_TEST_THIN");
  return wanted == nullptr ? 1 : std::max(1, std::atoi(wanted));
}

constexpr int enough_failures = 4;

// An access to an unreadable page ends the process; print the problem.
char current_case[1024];
void say_where(int signal) {
  const ssize_t ignored = write(STDERR_FILENO, current_case, std::strlen(current_case));
  static_cast<void>(ignored);
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

base::machine machine_with(std::int64_t l2_bytes, bool amd) {
  base::machine made;
  made.amd = amd;
  made.l1d_bytes = 32 << 10;
  made.l2_bytes = l2_bytes;
  made.l3_bytes = 8 * l2_bytes;
  made.page_bytes = 4096;
  return made;
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

  bool check(const kernels::kernel& row, const kernels::job& work) {
    const std::string where = std::string(row.name) + (work.streaming ? ", non-temporal" : ", ordinary") +
                              " stores, panel " + std::to_string(work.panel) + ", group " + std::to_string(work.group) +
                              ", row chunk " + std::to_string(work.row_chunk) + ", packed " +
                              std::to_string(work.packed) + ", parked " + std::to_string(work.parked) +
                              (work.few_columns  ? ", few columns: "
                               : work.few_rows   ? ", few rows: "
                               : work.line_tiles ? ", line tiles: "
                                                 : ": ") +
                              text_ + "\n";
    where.copy(current_case, sizeof current_case - 1);
    current_case[std::min(where.size(), sizeof current_case - 1)] = 0;

    bench_.clear();
    row.run(work, src_, dst_, 0, work.units);
    const std::string whole = bench_.difference();
    EXPECT_EQ(whole, "") << where;
    if (work.units < 2) return whole.empty();

    std::string fault;
    bench_.clear();
    for (std::int64_t end = work.units, ranges = 1; end > 0; ++ranges) {
      const std::int64_t begin = ranges == 4 ? 0 : roll_.below(end);
      row.run(work, src_, dst_, begin, end);
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

// Another legal way to cut the same work.
void cut_again(kernels::job& work, dice& roll) {
  constexpr std::int64_t panels[] = {1, 2, 3, 5, 16, 31, 64, 65, 130};
  work.panel = std::min(work.cols.total, roll.of(panels));
  work.packed = false;
  work.few_columns = work.few_rows = false;
  work.row_lines = 1;
  work.parked = std::int64_t{1} << roll.below(3);
  // Every piece but the last of its run is longer than a line: see lines-inl.hpp.
  const std::int64_t step = (64 + work.element_bytes) / work.element_bytes;
  work.group = std::min(work.rows.total, (1 + roll.below(3)) * step);
  work.row_chunk = std::min(work.rows.total, (1 + roll.below(3)) * work.group);
  work.units = work.outer.total * work.panels() * work.row_chunks();
}

// Few columns or few rows, in any position, although the plan for so small a problem might choose another kernel.
bool check_few(bench_of_one_problem& bench, const kernels::kernel& row, kernels::job work, dice& roll) {
  const bool rows = work.packed && work.streaming && work.rows.total * work.element_bytes <= 128;
  const bool columns = !work.packed && work.cols.rank == 1 && work.rows.axes[0].src_stride == work.cols.total;
  if (!rows && !columns) return true;
  work.few_rows = rows;
  work.few_columns = columns;
  work.by_pages = roll.one_in(2);
  if (rows) {
    work.panel = std::min(work.cols.total, 1 + roll.below(600));
  } else {
    work.panel = work.cols.total;
    work.row_chunk = std::min(work.rows.total, (1 + roll.below(5)) * 128 / work.element_bytes);
  }
  work.units = work.outer.total * work.panels() * work.row_chunks();
  return bench.check(row, work);
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

bool holds_a_line_tile(const kernels::job& work) {
  const std::int64_t word = work.form.word_bytes;
  return word <= 8 && work.rows.total >= kernels::cpu::line_tile_rows(word) &&
         work.cols.total >= kernels::cpu::line_tile_cols(word);
}

TEST_P(registry, moves_every_problem_that_it_accepts) {
  const std::string& forced = std::get<0>(GetParam());
  // Each tuning row, with non-temporal stores only: no cache, or a cache that other data fill.
  const base::machine machines[] = {machine_with(0, true), machine_with(0, false), machine_with(2 << 20, false),
                                    machine_with(std::int64_t{1} << 40, true)};
  // A row for one word size has a separate loop. All other rows share their loops, so only the first target runs them
  // in full.
  const kernels::kernel* row = kernels::find(forced);
  const bool own_loop = row != nullptr && row->element_bytes != 0;
  const int keep = thin * thinner() * (own_loop || std::get<1>(GetParam()) == best_target() ? 1 : 4);
  int accepted = 0;
  int failures = 0;
  dice roll(1);
  for (const std::int64_t element_bytes : element_sizes) {
    for_each_problem(element_bytes, keep, own_loop ? 8 : 1, machines[0], [&](const problem& what) {
      if (failures >= enough_failures) return;
      ASSERT_NO_THROW(api::check(what)) << to_text(what);
      const map::canonical form = map::canonicalize(what);
      std::unique_ptr<bench_of_one_problem> bench;
      kernels::job last;
      for (const base::machine& machine : machines) {
        const std::int64_t beside = machine.l2_bytes == 2 << 20 ? machine.l2_bytes : 0;
        const planning::choice made =
            planning::choose(form, {.threads = 1, .kernel = forced, .beside_bytes = beside}, machine);
        if (made.kernel == nullptr) continue;
        if (!forced.empty()) {
          ASSERT_STREQ(made.kernel->name, forced.c_str());
        }
        // Two tuning rows often cut small problems equally.
        if (bench != nullptr && made.work.streaming == last.streaming && made.work.panel == last.panel &&
            made.work.group == last.group && made.work.packed == last.packed && made.work.row_lines == last.row_lines &&
            made.work.few_columns == last.few_columns && made.work.few_rows == last.few_rows &&
            made.work.line_tiles == last.line_tiles && made.work.alternates == last.alternates) {
          continue;
        }
        last = made.work;
        ++accepted;
        if (bench == nullptr) bench = std::make_unique<bench_of_one_problem>(what, form, roll);
        failures += !bench->check(*made.kernel, made.work);
        const std::string_view family = made.kernel->family;
        kernels::job other = made.work;
        if (family == "cached" && holds_a_line_tile(other)) {  // for every tuning
          other.line_tiles = !other.line_tiles;
          failures += !bench->check(*made.kernel, other);
        }
        if (made.work.units == 0 || (family != "stream" && family != "gather")) continue;
        if (family == "stream" && other.element_bytes <= 8) failures += !check_few(*bench, *made.kernel, other, roll);
        cut_again(other, roll);
        failures += !bench->check(*made.kernel, other);
        if (family != "stream") continue;
        other.parked = 0;  // whole groups, as on another machine
        failures += !bench->check(*made.kernel, other);
        other.row_lines = 2;  // strips-inl.hpp
        other.by_pages = roll.one_in(2);
        other.parked = std::int64_t{2} << roll.below(2);
        other.prefetch_bytes = 512;
        failures += !bench->check(*made.kernel, other);
      }
    });
  }
  EXPECT_GT(accepted, 0) << "no problem of cases.hpp reaches this row";
}

std::vector<parameter> rows_by_targets() {
  std::vector<parameter> all;
  static_cast<void>(best_target());
  for (const std::string_view target : kernels::simd_targets()) all.emplace_back("", target);  // the plan decides
  for (const kernels::kernel& row : kernels::all()) {
    if (row.run == nullptr) continue;  // a GPU row, or in place: tests/api/in_place_test.cpp
    const std::string_view family = row.family;
    for (const std::string_view target : kernels::simd_targets()) {
      all.emplace_back(row.name, target);
      if (family == "reference" || family == "scatter") break;  // one text for all targets
    }
  }
  return all;
}

INSTANTIATE_TEST_SUITE_P(cpu, registry, ::testing::ValuesIn(rows_by_targets()), [](const auto& one) {
  const std::string& row = std::get<0>(one.param);
  return (row.empty() ? "unforced" : row) + "_" + std::get<1>(one.param);
});

TEST(registry_table, rows_have_unique_names_that_are_found) {
  for (const kernels::kernel& row : kernels::all()) {
    EXPECT_EQ(kernels::find(row.name), &row) << row.name;
    EXPECT_TRUE(std::string_view(row.name).starts_with(std::string(row.backend) + "_" + row.family)) << row.name;
    EXPECT_NE(std::string_view(row.note), "") << row.name;
    EXPECT_EQ((row.run != nullptr) + (row.launch != nullptr) + (row.turn != nullptr) + (row.apply != nullptr), 1)
        << row.name << " moves on the CPU, on a GPU or in place, or computes";
  }
  EXPECT_EQ(kernels::find("cpu"), nullptr);
  EXPECT_EQ(kernels::find(""), nullptr);
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

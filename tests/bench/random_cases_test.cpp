// The random set: one list for a seed, sizes and padding within their limits, problems that plan() takes.
#include "bench/random_cases.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>
#include <set>

#include "api/gpu_plan.hpp"
#include "bench/arguments.hpp"
#include "bench/bench.hpp"
#include "bench/contender.hpp"
#include "bench/measure.hpp"
#include "bench/report.hpp"
#include "cornerturn/plan.hpp"
#include "cornerturn/system.hpp"

namespace cornerturn::bench {
namespace {

constexpr std::int64_t kib = 1024, one_mib = kib * kib;

std::vector<bench_case> many(std::int64_t least, std::int64_t most, std::uint64_t seed = 5, int count = 700) {
  random_options options;
  options.seed = seed;
  options.count = count;
  options.least_bytes = least;
  options.most_bytes = most;
  return random_cases(options, machine::cpu);
}

std::vector<std::string> names_of(const std::vector<bench_case>& cases) {
  std::vector<std::string> names;
  for (const bench_case& one : cases) names.push_back(one.name());
  return names;
}

// A list that another compiler, C library or processor would draw otherwise is not the list that a report names.
TEST(random_cases, a_seed_means_one_list_everywhere) {
  const auto name = [](std::uint64_t seed, const char* kind, int index) {
    return random_case(seed, kind, index, 64 * one_mib, 1024 * one_mib).name();
  };
  EXPECT_EQ(name(1, "matrix", 0), "random_matrix/b24/960x41356/at+184,+0");
  EXPECT_EQ(name(1, "skinny", 1), "random_skinny/b4/7x10267834");
  EXPECT_EQ(name(2, "rank", 2), "random_rank/b1/95x3x717x2816/0321/ld+77,+0/stride+13,+0");
  EXPECT_EQ(name(2, "copy", 3), "random_copy/b1/1216x21248x8/012/stride+0,+1");
  EXPECT_EQ(name(3, "in_place", 4), "random_in_place/b24/19747x149");
  EXPECT_EQ(name(3, "batch", 5), "random_batch/b4/1344740x8x2/021");
  EXPECT_EQ(name(18446744073709551615U, "odd", 6), "random_odd/b3/4x22x12x192x64x24/320541");
}

TEST(random_cases, other_seeds_make_other_lists) {
  EXPECT_EQ(names_of(many(64 * kib, one_mib, 5)), names_of(many(64 * kib, one_mib, 5)));
  const std::vector<std::string> first = names_of(many(64 * kib, one_mib, 5)),
                                 second = names_of(many(64 * kib, one_mib, 6));
  std::size_t equal = 0;
  for (std::size_t i = 0; i < first.size(); ++i) equal += first[i] == second[i] ? 1 : 0;
  EXPECT_LT(equal, first.size() / 50);
}

TEST(random_cases, a_case_depends_on_its_kind_and_index_alone) {
  const std::vector<bench_case> all = many(64 * kib, one_mib, 5, 70);
  random_options options;
  options.seed = 5;
  options.kinds = {"copy"};
  options.index = 7;
  options.least_bytes = 64 * kib;
  options.most_bytes = one_mib;
  const std::vector<bench_case> again = random_cases(options, machine::cpu);
  ASSERT_EQ(again.size(), 1U);
  EXPECT_EQ(again[0].note, "seed 5 index 7");
  const auto same = std::find_if(all.begin(), all.end(), [](const bench_case& one) {
    return one.set == "random_copy" && one.note == "seed 5 index 7";
  });
  ASSERT_NE(same, all.end());
  EXPECT_EQ(same->name(), again[0].name());
}

TEST(random_cases, kinds_take_turns) {
  std::map<std::string, int> found;
  for (const bench_case& one : many(64 * kib, one_mib, 5, 72)) ++found[one.set];
  ASSERT_EQ(found.size(), random_kinds().size());
  for (const std::string& kind : random_kinds()) EXPECT_GE(found["random_" + kind], 10) << kind;
  EXPECT_EQ(found["random_matrix"] + found["random_skinny"], 22);  // 72 = 7 x 10 + 2
}

TEST(random_cases, sizes_are_in_the_range_and_spread_over_its_octaves) {
  std::map<int, int> octaves;
  for (const bench_case& one : many(64 * one_mib, 1024 * one_mib)) {
    EXPECT_GE(one.bytes(), 64 * one_mib) << one.name();
    EXPECT_LE(one.bytes(), 1024 * one_mib) << one.name();
    int octave = 0;
    while ((64 * one_mib << (octave + 1)) <= one.bytes()) ++octave;
    ++octaves[octave];
  }
  for (int octave = 0; octave < 4; ++octave) EXPECT_GT(octaves[octave], 700 / 8) << octave;
}

TEST(random_cases, have_every_element_size_and_those_of_odd_are_odd) {
  std::set<std::int64_t> all, odd;
  for (const bench_case& one : many(64 * kib, one_mib)) {
    (one.set == "random_odd" ? odd : all).insert(one.element_bytes);
  }
  EXPECT_EQ(all, (std::set<std::int64_t>{1, 2, 3, 4, 6, 8, 12, 16, 24, 32}));
  EXPECT_EQ(odd, (std::set<std::int64_t>{3, 6, 12, 24}));
}

TEST(random_cases, only_rows_of_a_kibibyte_are_padded_and_by_an_eighth_at_most) {
  int padded = 0;
  const auto check = [&padded](const bench_case& one, std::int64_t pad, std::int64_t part) {
    EXPECT_GE(pad, 0);
    if (pad == 0) return;
    ++padded;
    EXPECT_GE(part * one.element_bytes, 1024) << one.name();
    EXPECT_LE(pad, std::max<std::int64_t>(1, part / 8)) << one.name();
  };
  for (const bench_case& one : many(64 * kib, 4 * one_mib)) {
    check(one, one.ld.src, one.extents.back());
    check(one, one.ld.dst, one.extents[static_cast<std::size_t>(one.axes.back())]);
    check(one, one.batch.src, one.src_strides().front() - one.batch.src);
    check(one, one.batch.dst, one.dst_strides().front() - one.batch.dst);
    EXPECT_LE(one.buffer_bytes(), one.bytes() * 3 / 2) << one.name();
  }
  EXPECT_GT(padded, 100);
}

TEST(random_cases, bases_are_multiples_of_the_word_of_an_element) {
  std::map<int, int> alignments;
  for (const bench_case& one : many(64 * kib, one_mib)) {
    const std::int64_t word = std::min<std::int64_t>(one.element_bytes & -one.element_bytes, 16);
    EXPECT_EQ(one.shift.src % word, 0) << one.name();
    EXPECT_EQ(one.shift.dst % word, 0) << one.name();
    EXPECT_LT(one.shift.src, 4096);
    EXPECT_LT(one.shift.dst, 4096);
    ++alignments[base_alignment(one)];
  }
  EXPECT_GT(alignments[16], 300);
  for (const int alignment : {1, 2, 4, 8}) EXPECT_GT(alignments[alignment], 5) << alignment;
}

TEST(random_cases, shapes_are_those_of_their_kind) {
  std::set<std::size_t> ranks;
  int squares = 0, rectangles = 0, batches = 0;
  for (const bench_case& one : many(one_mib, 16 * one_mib)) {
    SCOPED_TRACE(one.name());
    const std::size_t rank = one.extents.size();
    ASSERT_EQ(one.axes.size(), rank);
    std::vector<int> sorted = one.axes;
    std::sort(sorted.begin(), sorted.end());
    std::vector<int> identity(rank);
    std::iota(identity.begin(), identity.end(), 0);
    EXPECT_EQ(sorted, identity);
    for (const std::int64_t extent : one.extents) EXPECT_GE(extent, 2);
    EXPECT_EQ(one.axes.back() == static_cast<int>(rank) - 1, one.set == "random_copy");
    EXPECT_EQ(one.in_place(), one.set == "random_in_place");
    if (one.set == "random_matrix") {
      EXPECT_GT(std::min(one.extents[rank - 1], one.extents[rank - 2]), 64);
      EXPECT_TRUE(rank == 2 || (rank == 3 && one.axes[0] == 0));
      batches += rank == 3 ? 1 : 0;
    } else if (one.set == "random_skinny") {
      ASSERT_EQ(rank, 2U);
      EXPECT_LE(std::min(one.extents[0], one.extents[1]), 64);
    } else if (one.set == "random_rank") {
      ranks.insert(rank);
    } else if (one.set == "random_batch") {
      EXPECT_EQ(one.axes, (std::vector<int>{0, 2, 1}));
    } else if (one.in_place()) {
      const bool square = one.extents[rank - 1] == one.extents[rank - 2];
      (square ? squares : rectangles) += 1;
      EXPECT_TRUE(one.is_packed() || square);
    }
  }
  EXPECT_EQ(ranks, (std::set<std::size_t>{3, 4, 5, 6, 7}));
  EXPECT_GT(squares, 10);
  EXPECT_GT(rectangles, 10);
  EXPECT_GT(batches, 10);
}

std::vector<bench_case> views(int count) {
  random_options options;
  options.seed = 9;
  options.count = count;
  options.kinds = {"view"};
  options.least_bytes = 4 * kib;
  options.most_bytes = 64 * kib;
  return random_cases(options, machine::cpu);
}

TEST(random_views, are_taken_and_are_inside_of_their_buffers) {
  std::set<std::size_t> ranks;
  int backwards = 0, broadcast = 0, stepped_src = 0, stepped_dst = 0, transposed = 0;
  for (const bench_case& one : views(400)) {
    SCOPED_TRACE(one.name());
    EXPECT_TRUE(one.is_view());
    EXPECT_FALSE(one.is_packed());
    EXPECT_NO_THROW(static_cast<void>(plan(problem_of(one))));
    ranks.insert(one.extents.size());
    std::int64_t low = 0, high = 0;
    for (std::size_t k = 0; k < one.extents.size(); ++k) {
      const std::int64_t reach = (one.extents[k] - 1) * one.strides.src[k];
      (reach < 0 ? low : high) += reach;
      EXPECT_GT(one.strides.dst[k], 0);
      backwards += one.strides.src[k] < 0 ? 1 : 0;
      broadcast += one.strides.src[k] == 0 ? 1 : 0;
    }
    EXPECT_GE(one.shift.src + low * one.element_bytes, 0);
    EXPECT_LE(one.shift.src + (high + 1) * one.element_bytes, one.buffer_bytes());
    EXPECT_LE(one.dst_span_bytes(), one.buffer_bytes());
    EXPECT_GT(one.roof, 0);
    EXPECT_LT(one.roof, 2.01);
    stepped_src += std::abs(one.strides.src.back()) > 1 ? 1 : 0;
    stepped_dst += one.strides.dst.back() > 1 ? 1 : 0;
    transposed += one.axes.back() != static_cast<int>(one.axes.size()) - 1 ? 1 : 0;
  }
  EXPECT_EQ(ranks, (std::set<std::size_t>{1, 2, 3, 4, 5, 6, 7}));
  for (const int some : {backwards, broadcast, stepped_src, stepped_dst, transposed}) EXPECT_GT(some, 20);
}

TEST(random_views, lines_are_counted_as_a_walk_counts_them) {
  for (const bench_case& one : views(60)) {
    SCOPED_TRACE(one.name());
    const view all = full_view(one);
    std::map<std::int64_t, std::set<std::int64_t>> read, written;  // bytes of each line
    for (std::int64_t i = 0; i < all.elements(); ++i) {
      std::int64_t left = i, src = one.shift.src, dst = one.shift.dst;
      for (std::size_t k = all.axes.size(); k-- > 0;) {
        src += left % all.axes[k].extent * all.axes[k].src_stride * one.element_bytes;
        dst += left % all.axes[k].extent * all.axes[k].dst_stride * one.element_bytes;
        left /= all.axes[k].extent;
      }
      for (std::int64_t byte = 0; byte < one.element_bytes; ++byte) {
        read[(src + byte) / 64].insert(src + byte);
        written[(dst + byte) / 64].insert(dst + byte);
      }
    }
    const auto whole = [](const auto& lines) {
      return std::count_if(lines.begin(), lines.end(), [](const auto& of) { return of.second.size() == 64; });
    };
    EXPECT_EQ(lines_of(one, false).all, static_cast<std::int64_t>(read.size()));
    EXPECT_EQ(lines_of(one, false).whole, whole(read));
    EXPECT_EQ(lines_of(one, true).all, static_cast<std::int64_t>(written.size()));
    EXPECT_EQ(lines_of(one, true).whole, whole(written));
    const auto lines = static_cast<double>(read.size() + 2 * written.size() - static_cast<std::size_t>(whole(written)));
    EXPECT_DOUBLE_EQ(roof_of(one), 2 * static_cast<double>(one.bytes()) / (64 * lines));
  }
}

TEST(random_cases, plan_accepts_every_one) {
  std::vector<bench_case> all = many(64 * one_mib, 1024 * one_mib);
  for (const bench_case& one : many(4 * kib, 64 * kib)) all.push_back(one);
  for (const bench_case& one : all) {
    plan_options options;
    options.device = device::cpu;
    try {
      const plan made(problem_of(one), options);
      EXPECT_EQ(made.bytes_moved(), 2 * one.bytes()) << one.name();
    } catch (const error& refused) {
      ADD_FAILURE() << one.name() << ": " << refused.what();
    }
  }
}

TEST(random_cases, have_a_range_of_sizes) {
  EXPECT_THROW(static_cast<void>(random_case(1, "matrix", 0, 63, one_mib)), std::invalid_argument);
  EXPECT_THROW(static_cast<void>(random_case(1, "matrix", 0, one_mib, 2 * one_mib - 1)), std::invalid_argument);
  EXPECT_THROW(static_cast<void>(random_case(1, "nonesuch", 0, one_mib, 2 * one_mib)), std::invalid_argument);
}

TEST(random_cases, without_a_range_sizes_are_those_of_the_machine) {
  random_options options;
  options.count = 140;
  for (const bench_case& one : random_cases(options, machine::cpu)) {
    EXPECT_TRUE(one.bytes() >= 16 * one_mib && one.bytes() <= 256 * one_mib) << one.name();
  }
  for (const bench_case& one : random_cases(options, machine::gpu)) {
    EXPECT_TRUE(one.bytes() >= 64 * one_mib && one.bytes() <= 1024 * one_mib) << one.name();
  }
}

TEST(random_cases, in_cache_have_other_sizes_and_small_ones) {
  random_options options;
  options.count = 140;
  int below_4_kib = 0;
  for (const bench_case& one : random_cases(options, machine::cpu, true)) {
    EXPECT_TRUE(one.bytes() >= 64 && one.bytes() <= one_mib) << one.name();
    below_4_kib += one.bytes() < 4 * kib ? 1 : 0;
  }
  EXPECT_GT(below_4_kib, 140 / 5);
  for (const bench_case& one : random_cases(options, machine::gpu, true)) {
    EXPECT_TRUE(one.bytes() >= 16 * kib && one.bytes() <= 32 * one_mib) << one.name();
  }
}

TEST(random_cases, records_have_the_sizes_that_no_other_kind_has) {
  random_options options;
  options.count = 300;
  options.kinds = {"record"};
  std::set<std::int64_t> found;
  for (const bench_case& one : random_cases(options, machine::cpu, true)) found.insert(one.element_bytes);
  EXPECT_GT(found.size(), 60U);
  EXPECT_GE(*found.begin(), 5);
  EXPECT_LE(*found.rbegin(), 128);
  for (const std::int64_t usual : {6, 8, 12, 16, 24, 32}) EXPECT_EQ(found.count(usual), 0U) << usual;
}

TEST(kernel_names, come_from_the_part_of_the_explanation_for_the_alignment) {
  const std::string both =
      "device     x\npointers   multiples of 16 bytes\nkernel     gpu_wide: a note\nline 1     x\n"
      "pointers   multiples of 4 bytes only\nkernel     gpu_narrow: kernel     of: notes\nline 2     x\n"
      "pointers   multiples of 1 byte only\nkernel     gpu_bytes: a note\n";
  EXPECT_EQ(kernel_in(both, "gpu_wide", 16), "gpu_wide");
  EXPECT_EQ(kernel_in(both, "gpu_wide", 8), "gpu_narrow");
  EXPECT_EQ(kernel_in(both, "gpu_wide", 4), "gpu_narrow");
  EXPECT_EQ(kernel_in(both, "gpu_wide", 2), "gpu_bytes");
  const std::string single = "pointers   multiples of 16 bytes\nkernel     gpu_wide: a note\n";
  EXPECT_EQ(kernel_in(single, "gpu_wide", 8), "gpu_wide");
  EXPECT_EQ(kernel_in("kernel     cpu_copy: x\n", "cpu_copy", 1), "cpu_copy");
}

// Holds kernel_in() to what explain() prints: without this a new wording would go unnoticed until a GPU run.
TEST(kernel_names, agree_with_the_plan_for_a_gpu) {
  if (row_names("cuda").empty()) GTEST_SKIP() << "a build without CUDA has no kernel for a GPU";
  const gpu::device_info h200 = {
      .name = "A GPU",
      .arch = "sm_90",
      .traits = {.arch = 90, .multiprocessors = 132, .shared_bytes = 227 << 10, .l2_bytes = 50 << 20}};
  int different = 0;
  for (const bench_case& one : many(one_mib, 16 * one_mib, 5, 210)) {
    const running::gpu_plan plan = running::choose_variants(problem_of(one), h200.traits, "");
    const std::string aligned = plan.aligned().chosen.row->name;
    const std::string text = detail::explain(problem_of(one), plan, h200);
    EXPECT_EQ(kernel_in(text, aligned, 16), aligned);
    for (int alignment = plan.variants.back().alignment; alignment < 16; alignment *= 2) {
      const std::string misaligned = plan.for_alignment(alignment).chosen.row->name;
      EXPECT_EQ(kernel_in(text, aligned, alignment), misaligned) << one.name() << '\n' << text;
      different += aligned == misaligned ? 0 : 1;
    }
  }
  EXPECT_GT(different, 20);
}

TEST(rows, are_all_of_a_backend_but_the_reference) {
  const std::vector<std::string> rows = row_names("cpu");
  std::size_t expected = 0;
  for (const kernel_info& row : kernel_list()) expected += row.backend == "cpu" ? 1 : 0;
  EXPECT_EQ(rows.size(), expected - 2);
  EXPECT_EQ(std::count(rows.begin(), rows.end(), "cpu_reference"), 0);
  EXPECT_EQ(std::count(rows.begin(), rows.end(), "cpu_apply_reference"), 0);
}

// The naive loop, and ways to be wrong that a check of the elements alone would miss.
enum class fault { none, padding, before, element };

contender with_fault(fault what) {
  class loop final : public runner {
   public:
    loop(const bench_case& one, fault what) : one_(one), what_(what) {}
    void run(const std::byte* src, std::byte* dst) override {
      const view moved = full_view(one_);
      for (std::int64_t i = 0; i < moved.axes[0].extent; ++i) {
        for (std::int64_t j = 0; j < moved.axes[1].extent; ++j) {
          const std::int64_t from = i * moved.axes[0].src_stride + j * moved.axes[1].src_stride;
          const std::int64_t to = i * moved.axes[0].dst_stride + j * moved.axes[1].dst_stride;
          std::copy_n(src + from * one_.element_bytes, one_.element_bytes, dst + to * one_.element_bytes);
        }
      }
      if (what_ == fault::padding) dst[moved.axes[1].extent * one_.element_bytes] = std::byte{0};
      if (what_ == fault::before) dst[-1] = std::byte{0};
      if (what_ == fault::element) dst[one_.element_bytes] = std::byte{0};
    }

   private:
    const bench_case& one_;
    fault what_;
  };
  return {"loop", role::peer, true,
          [what](const setup& how) -> std::unique_ptr<runner> { return std::make_unique<loop>(how.original, what); }};
}

std::string found(fault what) {
  const bench_case one{"x", 4, {40, 70}, {1, 0}, false, false, "", {3, 5}, {}, {12, 20}};
  memory pool(false, 0);
  measure_options options;
  options.rounds = 1;
  options.more = {with_fault(what)};
  const result measured = measure_cold(one, 1, pool, options);
  EXPECT_EQ(measured.ours().wrong, "");
  return measured.entries.back().wrong;
}

TEST(checks, see_writes_beside_misaligned_and_padded_destinations) {
  EXPECT_EQ(found(fault::none), "");
  EXPECT_NE(found(fault::padding), "");
  EXPECT_NE(found(fault::before), "");
  EXPECT_NE(found(fault::element), "");
}

series timed(const char* name, role part, double seconds) {
  series made;
  made.name = name;
  made.part = part;
  made.detail = part == role::ours ? "chosen_kernel" : "";
  made.seconds = {seconds};
  return made;
}

TEST(regret, is_the_chosen_time_over_the_fastest_right_one) {
  result one;
  one.what = {"random_matrix", 4, {100, 70}, {1, 0}, false, false, "seed 1 index 0"};
  one.entries = {timed("cornerturn", role::ours, 3e-6), timed("copy", role::roof, 1e-6),
                 timed("fast_kernel", role::row, 2e-6), timed("slow_kernel", role::row, 9e-6)};
  EXPECT_DOUBLE_EQ(one.regret(), 1.5);
  EXPECT_EQ(one.fastest_kernel().name, "fast_kernel");
  const std::string text = regret_summary({one});
  EXPECT_NE(text.find("1.500  0.333 chosen_kernel"), std::string::npos) << text;
  EXPECT_NE(text.find("0.500 fast_kernel"), std::string::npos) << text;
  one.entries[2].wrong = "differs";
  EXPECT_DOUBLE_EQ(one.regret(), 1);
  EXPECT_NE(random_summary({one}).find("WRONG"), std::string::npos);
  one.entries[0].wrong = "differs";
  EXPECT_EQ(one.regret(), 0);
}

TEST(peers, that_are_ahead_are_counted_and_listed) {
  const auto measured = [](double peer, double jit, std::uint64_t index) {
    result one;
    one.what = {"random_rank", 4, {100, 70}, {1, 0}, false, false, "seed 1 index " + std::to_string(index)};
    one.device = "cuda:0";
    one.entries = {timed("cornerturn", role::ours, 2e-6), timed("copy", role::roof, 1e-6),
                   timed("cutensor", role::peer, peer), timed("cutensor_jit", role::peer, jit)};
    return one;
  };
  std::vector<result> results = {measured(4e-6, 4e-6, 0), measured(1.6e-6, 1.25e-6, 1), measured(1e-6, 4e-6, 2)};
  EXPECT_EQ(random_summary({}), peers_summary({}));
  std::string text = peers_summary(results);
  EXPECT_NE(random_summary(results).find(text), std::string::npos) << "the summary has this part";
  EXPECT_NE(text.find("cutensor               3     0.539   0.500       2\n"), std::string::npos) << text;
  EXPECT_NE(text.find("cutensor_jit           3     0.368   0.500       1\n"), std::string::npos) << text;
  EXPECT_NE(text.find("a peer is ahead in 2 of 3 cases, cuda:0\n  2.000  1.000 cutensor        0.500 chosen_kernel"),
            std::string::npos)
      << text;
  const std::size_t second = text.find("  1.600  0.800 cutensor_jit    0.500 chosen_kernel");
  ASSERT_NE(second, std::string::npos) << text;
  EXPECT_NE(text.find("(seed 1 index 1)", second), std::string::npos) << text;

  results[2].entries[2].wrong = "differs";
  text = peers_summary(results);
  EXPECT_NE(text.find("cutensor               2     0.395   0.500       1\n"), std::string::npos) << text;
  EXPECT_NE(text.find("a peer is ahead in 1 of 3 cases"), std::string::npos) << text;
  results[1].entries[0].wrong = "differs";
  EXPECT_NE(peers_summary(results).find("a peer is ahead in 0 of 2 cases"), std::string::npos);

  results.clear();
  for (std::uint64_t i = 0; i < 14; ++i) results.push_back(measured(1e-6, 4e-6, i));
  text = peers_summary(results);
  EXPECT_NE(text.find("a peer is ahead in 14 of 14 cases"), std::string::npos) << text;
  EXPECT_NE(text.find("(seed 1 index 9)"), std::string::npos) << "ten are listed";
  EXPECT_EQ(text.find("(seed 1 index 10)"), std::string::npos) << "ten are listed";
  for (result& one : results) one.entries.resize(2);
  EXPECT_EQ(peers_summary(results), "");
}

TEST(random_set, goes_with_peers) {
  arguments given;
  given.sets = {"random"};
  given.random.count = 3;
  given.peers = true;
  EXPECT_EQ(chosen_cases(given).size(), 3U);
  given.gpu = 0;
  EXPECT_EQ(chosen_cases(given).size(), 3U);
}

TEST(random_set, measures_checks_and_writes_every_row) {
  std::FILE* const nowhere = std::fopen("/dev/null", "w");
  const auto call = [&](const arguments& given) { return run(given, {"cornerturn", "bench"}, nowhere); };
  arguments given;
  given.sets = {"random"};
  given.random.seed = 3;
  given.random.count = 14;
  given.random.least_bytes = 8 << 10;
  given.random.most_bytes = 64 << 10;
  given.rounds = 1;
  given.threads = {1};
  given.regret = true;
  const outcome measured = call(given);
  ASSERT_EQ(measured.code, 0);
  const std::string& text = measured.file;
  const auto own = nlohmann::json::parse(text).at("cornerturn");
  EXPECT_EQ(own.at("method").at("regret"), true);
  ASSERT_EQ(own.at("cases").size(), 14U);
  std::size_t rows = 0;
  for (const auto& one : own.at("cases")) {
    SCOPED_TRACE(one.at("name"));
    const auto& kernels = one.at("kernels");
    EXPECT_TRUE(kernels.at(0).at("chosen").get<bool>());
    EXPECT_EQ(kernels.at(0).at("kernel"), one.at("kernel"));
    std::set<std::string> names;
    for (const auto& row : kernels) {
      EXPECT_TRUE(names.insert(row.at("kernel")).second) << row;
      EXPECT_GT(row.at("ns").get<double>(), 0);
      EXPECT_TRUE(row.at("verified").get<bool>()) << row;
    }
    rows += names.size();
    EXPECT_GE(one.at("regret").get<double>(), 1);
    const auto& what = one.at("problem");
    std::int64_t bytes = what.at("element_bytes").get<std::int64_t>();
    for (const auto& axis : what.at("axes")) bytes *= axis.at("extent").get<std::int64_t>();
    EXPECT_EQ(bytes, one.at("bytes").get<std::int64_t>());
    EXPECT_EQ(what.at("element_bytes").get<std::int64_t>() % what.at("word_bytes").get<std::int64_t>(), 0);
  }
  EXPECT_GT(rows, 20U);

  const auto refused = [&](auto change) {
    arguments wrong;
    change(wrong);
    EXPECT_THROW(static_cast<void>(call(wrong)), std::invalid_argument);
  };
  refused([](arguments& wrong) { wrong.sets = {"random"}, wrong.random.kinds = {"nonesuch"}; });
  refused([](arguments& wrong) { wrong.sets = {"random"}, wrong.random.least_bytes = wrong.random.most_bytes = 2048; });
  refused([](arguments& wrong) { wrong.sets = {"random", "quick"}; });
  refused([](arguments& wrong) { wrong.sets = {"random"}, wrong.bars = true; });
  refused([](arguments& wrong) { wrong.random.seed = 4; });
  std::fclose(nowhere);
}

}  // namespace
}  // namespace cornerturn::bench

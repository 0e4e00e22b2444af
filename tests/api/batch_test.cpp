#include "cornerturn/batch.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <atomic>
#include <limits>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "../kernels/cases.hpp"
#include "../kernels/oracle.hpp"
#include "api/batch.hpp"
#include "base/machine.hpp"
#include "base/parallel.hpp"
#include "cornerturn/system.hpp"
#include "expect_error.hpp"

namespace cornerturn::batch_test {
namespace {

using testing::dice;
using testing::expect_error;
using testing::placement;
using testing::workbench;

void run_on_threads(void* context, int tasks, void (*body)(void* argument, int task), void* argument) {
  *static_cast<std::atomic<int>*>(context) += tasks;
  std::vector<std::thread> team;
  for (int task = tasks - 1; task >= 0; --task) team.emplace_back(body, argument, task);
  for (std::thread& one : team) one.join();
}

plan_options with(int threads, executor parallel = {}) {
  return {.device = device::cpu, .threads = threads, .parallel = parallel, .kernel = nullptr};
}

// Each item has memory of its own.
class ragged {
 public:
  void add(const problem& what, std::size_t src_misalignment = 0, std::size_t dst_misalignment = 0) {
    benches_.push_back(std::make_unique<workbench>(what, placement::heap, src_misalignment, dst_misalignment));
    items_.push_back({what, benches_.back()->src(), benches_.back()->dst()});
  }
  [[nodiscard]] const std::vector<batch_item>& items() const { return items_; }
  // "" when every dst is correct.
  [[nodiscard]] std::string move(const plan_options& options) {
    for (const auto& one : benches_) one->clear();
    const batch how(items_, options);
    how.execute();
    for (std::size_t k = 0; k < items_.size(); ++k) {
      const std::string fault = benches_[k]->difference();
      if (!fault.empty()) {
        return "item " + std::to_string(k) + ", " + testing::to_text(items_[k].what) + ": " + fault + "\n" +
               how.explain();
      }
    }
    return "";
  }

 private:
  std::vector<std::unique_ptr<workbench>> benches_;
  std::vector<batch_item> items_;
};

problem any_problem(dice& roll, std::int64_t most) {
  constexpr std::int64_t sizes[] = {1, 2, 3, 4, 4, 6, 8, 12, 16, 24};
  const std::int64_t element_bytes = roll.of(sizes);
  const std::int64_t elements = 1 + most / element_bytes;
  switch (roll.below(4)) {
    case 0:
      return testing::any_strides(roll, element_bytes, elements);
    case 1:
      return testing::any_permutation(roll, element_bytes, elements);
    default:
      return testing::matrix(roll.below(1 + elements / 40), roll.below(41), element_bytes, roll.below(77));
  }
}

TEST(batch, moves_matrices_of_all_sizes) {
  dice roll(3);
  for (const std::int64_t element_bytes : {1, 2, 3, 4, 6, 8, 16}) {
    ragged some;
    for (int k = 0; k < 150; ++k) {
      some.add(transpose_problem(roll.below(90), roll.below(90), element_bytes),
               static_cast<std::size_t>(roll.below(64)), static_cast<std::size_t>(roll.below(64)));
    }
    for (const int threads : {1, 2, 3, 4}) EXPECT_EQ(some.move(with(threads)), "");
  }
}

RC_GTEST_PROP(batch_property, moves_every_item_as_it_is_defined, ()) {
  dice roll(*rc::gen::arbitrary<std::uint32_t>());
  const auto threads = static_cast<int>(*rc::gen::inRange(1, 5));
  ragged some;
  const auto count = *rc::gen::inRange(0, 30);
  for (int k = 0; k < count; ++k) {
    const problem what = any_problem(roll, roll.one_in(10) ? 300000 : 4000);
    for (std::int64_t again = roll.one_in(3) ? 1 + roll.below(5) : 1; again > 0; --again) {
      some.add(what, static_cast<std::size_t>(roll.below(64)), static_cast<std::size_t>(roll.below(64)));
    }
  }
  RC_ASSERT(some.move(with(threads)) == "");
}

TEST(batch, a_huge_item_is_shared_by_the_threads) {
  for (const problem& huge : {transpose_problem(1500, 1400, 4), transpose_problem(5, 400001, 4),
                              transpose_problem(400001, 5, 4), transpose_problem(1, 2000003, 4)}) {
    ragged some;
    for (int k = 0; k < 20; ++k) some.add(transpose_problem(7 + k, 30, 4));
    some.add(huge, 4, 12);
    for (int k = 0; k < 20; ++k) some.add(transpose_problem(31, 9 + k, 2));
    std::atomic<int> tasks{0};
    for (const int threads : {2, 3, 4}) {
      EXPECT_EQ(batch(some.items(), with(threads)).threads(), threads);
      tasks = 0;
      EXPECT_EQ(some.move(with(threads, {run_on_threads, &tasks})), "");
      EXPECT_EQ(tasks, threads * base::ranges_per_thread);
    }
  }
}

TEST(batch, one_problem_between_many_pointers) {
  for (const problem& what : {transpose_problem(8, 8, 4), transpose_problem(3, 5, 3), transpose_problem(31, 33, 2)}) {
    const std::size_t count = 5000, size = 31 * 33 * 16;
    const std::byte* const bytes = testing::pattern(count * 64 + size);
    const std::vector<std::byte> src(bytes, bytes + count * 64 + size);
    std::vector<std::byte> dst(count * size, testing::poison), wanted = dst;
    std::vector<const void*> from;
    std::vector<void*> to;
    for (std::size_t k = 0; k < count; ++k) {
      from.push_back(src.data() + k * 64);
      to.push_back(dst.data() + (count - 1 - k) * size + k % 5);
      std::byte* const at = wanted.data() + (count - 1 - k) * size + k % 5;
      testing::walk(what, [&](std::int64_t s, std::int64_t d) {
        std::memcpy(at + d * what.element_bytes, src.data() + k * 64 + s * what.element_bytes,
                    static_cast<std::size_t>(what.element_bytes));
      });
    }
    const batch how(what, from, to, with(2));
    EXPECT_EQ(how.size(), static_cast<std::int64_t>(count));
    EXPECT_EQ(how.bytes_moved(),
              static_cast<std::int64_t>(count) * testing::elements_of(what) * what.element_bytes * 2);
    how.execute();
    EXPECT_TRUE(dst == wanted) << how.explain();
  }
}

// Items of any number of bytes, contiguous in dst: neighbours share a cache line, also between threads.
TEST(batch, neighbours_in_dst_share_lines) {
  dice roll(21);
  std::vector<problem> problems;
  std::size_t bytes = 0;
  const auto enough =
      static_cast<std::size_t>(2 * kernels::this_machine().l2_bytes + 100000);  // so all stores are non-temporal
  while (bytes < enough) {
    const std::int64_t element_bytes = 1 + roll.below(9);
    const std::int64_t cols = roll.one_in(4) ? 1 : 1 + roll.below(40);
    problems.push_back(transpose_problem(1 + roll.below(40), cols, element_bytes));
    bytes += static_cast<std::size_t>(testing::elements_of(problems.back()) * element_bytes);
  }
  const std::byte* const src = testing::pattern(bytes);
  std::vector<std::byte> wanted(bytes + 128, testing::poison);
  std::vector<std::byte> dst = wanted;
  std::vector<batch_item> items;
  for (std::size_t at = 0; const problem& what : problems) {
    items.push_back({what, src + at, dst.data() + 64 + at});
    std::byte* const to = wanted.data() + 64 + at;
    testing::walk(what, [&](std::int64_t s, std::int64_t d) {
      std::memcpy(to + d * what.element_bytes, src + at + static_cast<std::size_t>(s * what.element_bytes),
                  static_cast<std::size_t>(what.element_bytes));
    });
    at += static_cast<std::size_t>(testing::elements_of(what) * what.element_bytes);
  }
  for (const int threads : {1, 2, 3, 4}) {
    const batch how(items, with(threads));
    EXPECT_NE(how.explain().find("small      "), std::string::npos) << how.explain();
    std::fill(dst.begin(), dst.end(), testing::poison);
    how.execute();
    EXPECT_TRUE(dst == wanted) << how.explain();
  }
}

// Matrices that are stored line by line of each column, among others, with gaps between some of them.
TEST(batch, middle_sized_matrices_share_lines) {
  constexpr std::size_t room = 64;
  constexpr std::int64_t most_rows[] = {20, 70, 150, 300}, most_cols[] = {20, 150, 310, 1100};
  for (const std::size_t off : {std::size_t{0}, std::size_t{8}, std::size_t{4}, std::size_t{2}, std::size_t{3}}) {
    dice roll(31);
    std::vector<problem> problems;
    std::vector<std::size_t> place;
    std::size_t src_bytes = 0, at = room + off;
    const auto enough = static_cast<std::size_t>(4 * kernels::this_machine().l2_bytes);
    while (src_bytes < enough) {
      constexpr std::int64_t sizes[] = {1, 2, 4, 8, 16};
      const std::int64_t size = roll.of(sizes);
      problems.push_back(
          transpose_problem(1 + roll.below(roll.of(most_rows)), 1 + roll.below(roll.of(most_cols)), size));
      const auto bytes = static_cast<std::size_t>(testing::elements_of(problems.back()) * size);
      if (off == 0 || roll.one_in(5)) at = (at + 15) / 16 * 16 + off + (roll.one_in(3) ? room : 0);
      place.push_back(at);
      src_bytes += bytes;
      at += bytes;
    }
    const std::byte* const src = testing::pattern(src_bytes);
    std::vector<std::byte> wanted(at + room, testing::poison);
    std::vector<std::byte> dst = wanted;
    std::vector<batch_item> items;
    std::size_t from = 0;
    for (std::size_t k = 0; k < problems.size(); ++k) {
      const problem& what = problems[k];
      const auto size = static_cast<std::size_t>(what.element_bytes);
      items.push_back({what, src + from, dst.data() + place[k]});
      testing::walk(what, [&](std::int64_t s, std::int64_t d) {
        std::memcpy(wanted.data() + place[k] + static_cast<std::size_t>(d) * size,
                    src + from + static_cast<std::size_t>(s) * size, size);
      });
      from += static_cast<std::size_t>(testing::elements_of(what)) * size;
    }
    for (const int threads : {1, 2, 3}) {
      const batch how(items, with(threads));
      std::fill(dst.begin(), dst.end(), testing::poison);
      how.execute();
      EXPECT_TRUE(dst == wanted) << "dst begins at " << off << "\n" << how.explain();
    }
  }
}

TEST(batch, of_nothing_moves_nothing) {
  const batch none(std::span<const batch_item>{}, with(3));
  none.execute();
  EXPECT_EQ(none.size(), 0);
  EXPECT_EQ(none.bytes_moved(), 0);
  EXPECT_EQ(none.launches(), 0);
  EXPECT_EQ(none.threads(), 1);
  EXPECT_NE(none.explain().find("0 items"), std::string::npos);
  const std::vector<batch_item> empty(3, batch_item{transpose_problem(0, 5, 4), nullptr, nullptr});
  const batch nothing(empty);
  nothing.execute();
  EXPECT_EQ(nothing.size(), 3);
  EXPECT_EQ(nothing.bytes_moved(), 0);
  batch(transpose_problem(5, 7, 4), {}, {}).execute();

  ragged some;
  some.add(transpose_problem(0, 5, 4));
  some.add(transpose_problem(4, 5, 4));
  some.add(transpose_problem(4, 0, 4));
  EXPECT_EQ(some.move(with(2)), "");
}

TEST(batch, an_error_names_the_item) {
  std::vector<float> src(200), dst(200);
  const auto items = [&](const batch_item& third) {
    const batch_item good{transpose_problem(3, 5, 4), src.data(), dst.data()};
    return std::vector<batch_item>{good, {transpose_problem(0, 5, 4), nullptr, nullptr}, good, third};
  };
  const auto refused = [&](status code, std::initializer_list<const char*> parts, const batch_item& third) {
    expect_error(code, parts, [&] { batch(items(third), with(1)); });
  };
  const problem good = transpose_problem(3, 5, 4);
  refused(status::invalid_argument, {"item 3: src is null"}, {good, nullptr, dst.data()});
  refused(status::invalid_argument, {"item 3: dst is null"}, {good, src.data(), nullptr});
  refused(status::overlap, {"item 3: the address ranges of src and dst overlap", "dst - src is 16"},
          {good, src.data(), src.data() + 4});
  problem bad = good;
  bad.axes[1].extent = -5;
  refused(status::invalid_argument, {"item 3: axis 1 has extent -5"}, {bad, src.data(), dst.data()});
  bad = transpose_problem(5, 5, 4);
  bad.in_place = true;
  refused(status::invalid_argument, {"item 3: in_place is set", "separate src and dst"}, {bad, src.data(), src.data()});
  bad = good;
  bad.math = {.src = element_type::float32, .dst = element_type::float32, .alpha = {2, 0}};
  refused(status::invalid_argument, {"item 3: math changes elements", "without arithmetic"},
          {bad, src.data(), dst.data()});
  bad = good;
  bad.axes[0].extent = bad.axes[1].extent = std::numeric_limits<std::int64_t>::max() / 2;
  refused(status::overflow, {"item 3: "}, {bad, src.data(), dst.data()});
}

TEST(batch, options_are_checked) {
  std::vector<float> src(200), dst(200);
  const std::vector<batch_item> items{{transpose_problem(3, 5, 4), src.data(), dst.data()}};
  expect_error(status::invalid_argument, {"threads is -2"}, [&] { batch(items, with(-2)); });
  expect_error(status::invalid_argument, {"kernel is \"cpu_gather\"", "Wanted: null"},
               [&] { batch(items, {.device = device::cpu, .threads = 1, .parallel = {}, .kernel = "cpu_gather"}); });
  for (const backend_info& one : backends()) {
    if (one.present) continue;
    expect_error(status::no_device, {("device is " + one.name).c_str(), one.detail.c_str()},
                 [&] { batch(items, {.device = one.id, .threads = 0, .parallel = {}, .kernel = nullptr}); });
  }
  const std::vector<const void*> from(3, src.data());
  const std::vector<void*> to(2, dst.data());
  expect_error(status::invalid_argument, {"src has 3 pointers, dst 2"},
               [&] { batch(transpose_problem(3, 5, 4), from, to); });
}

TEST(batch, no_more_threads_than_a_call_can_have) {
  // Planned only: no address is used.
  const auto address = [](std::uintptr_t at) { return reinterpret_cast<void*>(at << 40); };
  const std::vector<batch_item> items{{transpose_problem(1 << 20, 1 << 20, 4), address(8), address(16)}};
  const batch all(items, with(std::numeric_limits<int>::max()));
  EXPECT_NE(all.explain().find("threads    1024,"), std::string::npos) << all.explain();
}

TEST(batch, many_callers_share_one) {
  ragged some;
  for (int k = 1; k < 60; ++k) some.add(transpose_problem(3 * k, 200 - k, 4));
  const batch how(some.items(), with(2));
  const batch copy = how;
  std::vector<std::thread> callers;  // all executions write equal bytes; the sanitizer requires them one after another
  for (int k = 0; k < 3; ++k) {
    callers.emplace_back([&copy] { copy.execute(); });
    callers.back().join();
  }
  EXPECT_EQ(some.move(with(2)), "");
}

TEST(batch, explain_counts_kinds_and_kernels) {
  ragged some;
  for (int k = 0; k < 6; ++k) some.add(transpose_problem(30 + k % 2, 40, 4));
  some.add(transpose_problem(1, 400, 4));
  const std::string text = batch(some.items(), with(1)).explain();
  for (const char* part :
       {"7 items, 7 of them with elements, of 3 kinds", "cpu_copy: 1 items", "6 items", "threads    1"})
    EXPECT_NE(text.find(part), std::string::npos) << '"' << part << "\" is not in\n" << text;
}

TEST(batch_list, knows_equal_problems) {
  detail::batch_list all;
  const problem first = transpose_problem(3, 5, 4), second = transpose_problem(5, 3, 4);
  all.add(first, nullptr, nullptr);
  all.add(second, nullptr, nullptr);
  all.add(first, nullptr, nullptr);
  all.add(first, nullptr, nullptr);
  problem other = first;
  other.in_place = true;  // the hashes are equal
  all.add(other, nullptr, nullptr);
  EXPECT_EQ(all.problems(), (std::vector<problem>{first, second, other}));
  EXPECT_EQ(all.first(), (std::vector<std::size_t>{0, 1, 4}));
  std::vector<std::uint32_t> numbers;
  for (const planning::batch_move& one : all.items()) numbers.push_back(one.which);
  EXPECT_EQ(numbers, (std::vector<std::uint32_t>{0, 1, 0, 0, 2}));
}

}  // namespace
}  // namespace cornerturn::batch_test

// The C ABI of dist.h: it makes the layouts and plans of dist.hpp. Ranks are threads.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "../dist/random_layouts.hpp"
#include "../dist/thread_ranks.hpp"
#include "cornerturn/dist.h"
#include "cornerturn/dist.hpp"
#include "kernels/gpu/device.hpp"

namespace cornerturn::testing {
namespace {

void expect_c_error(cornerturn_status found, cornerturn_status wanted, const std::string& part) {
  EXPECT_EQ(found, wanted);
  const std::string sentence = cornerturn_last_error();
  EXPECT_NE(sentence.find(part), std::string::npos) << '"' << part << "\" is not in: " << sentence;
}

// Owns a layout.
struct c_layout {
  c_layout() = default;
  explicit c_layout(const dist::layout& all) {
    std::vector<cornerturn_axis_layout> axes;
    for (const dist::axis_layout& axis : all.axes) {
      axes.push_back({static_cast<std::int64_t>(axis.coordinates.size()), axis.splits.data(), axis.coordinates.data(),
                      axis.cells});
    }
    EXPECT_EQ(cornerturn_layout_create(static_cast<int>(axes.size()), axes.data(), all.owners.data(), &made),
              CORNERTURN_OK)
        << cornerturn_last_error();
  }
  c_layout(const c_layout&) = delete;
  c_layout& operator=(const c_layout&) = delete;
  ~c_layout() { cornerturn_layout_destroy(made); }
  cornerturn_layout* made = nullptr;
};

cornerturn_communicator in_c(dist::communicator& all) {
  cornerturn_communicator made = CORNERTURN_COMMUNICATOR_INIT;
  made.context = &all;
  made.rank = all.rank;
  made.ranks = all.size;
  made.send = [](void* context, const void* data, std::int64_t bytes, int to, int tag, std::int64_t* request) {
    const auto& mine = *static_cast<dist::communicator*>(context);
    return mine.send(mine.context, data, bytes, to, tag, request);
  };
  made.receive = [](void* context, void* data, std::int64_t bytes, int from, int tag, std::int64_t* request) {
    const auto& mine = *static_cast<dist::communicator*>(context);
    return mine.receive(mine.context, data, bytes, from, tag, request);
  };
  made.wait_any = [](void* context, const std::int64_t* requests, int count, double seconds, int* done) {
    const auto& mine = *static_cast<dist::communicator*>(context);
    return mine.wait_any(mine.context, requests, count, seconds, done);
  };
  made.cancel = [](void* context, std::int64_t request) {
    const auto& mine = *static_cast<dist::communicator*>(context);
    return mine.cancel(mine.context, request);
  };
  if (all.is_near == nullptr) return made;
  made.is_near = [](void* context, int rank) {
    const auto& mine = *static_cast<dist::communicator*>(context);
    return mine.is_near(mine.context, rank);
  };
  made.place_of = [](void* context, const void* block, std::int64_t bytes) {
    const auto& mine = *static_cast<dist::communicator*>(context);
    const dist::shared_place found = mine.place_of(mine.context, block, bytes);
    return cornerturn_shared_place{found.window, found.offset};
  };
  made.address_of = [](void* context, int rank, cornerturn_shared_place place) {
    const auto& mine = *static_cast<dist::communicator*>(context);
    return mine.address_of(mine.context, rank, {place.window, place.offset});
  };
  return made;
}

std::vector<std::int64_t> joined(const std::vector<index_list>& all) {
  std::vector<std::int64_t> made;
  for (const index_list& one : all) made.insert(made.end(), one.begin(), one.end());
  return made;
}

TEST(c_dist, random_layouts_arrive) {
  dice any(346);
  int addresses = 0;
  std::int64_t sent = 0;
  for (int round = 0; round < 60; ++round) {
    const int ranks = static_cast<int>(1 + any.below(4));
    const dist::problem what = random_problem(any, ranks);
    side src(any, what.src, what.element_bytes, std::byte{0x11}),
        dst(any, what.dst, what.element_bytes, std::byte{0xEE});
    side wanted = dst;
    fill(what, src);
    expect(what, wanted);
    const c_layout from(what.src), to(what.dst);
    thread_ranks all(ranks, static_cast<int>(any.below(3)));
    for (auto& block : dst.blocks) all.share(block);
    std::mutex counted;
    all.run([&](int rank) {
      dist::communicator mine = all.of(rank);
      const cornerturn_communicator given = in_c(mine);
      cornerturn_options local = CORNERTURN_OPTIONS_INIT;
      local.threads = 1;
      cornerturn_dist_options how = CORNERTURN_DIST_OPTIONS_INIT;
      how.chunk_bytes = what.element_bytes * 100;
      how.seconds = 60;
      how.local = &local;
      const std::vector<std::int64_t> src_strides = joined(strides_of(what.src, src, rank)),
                                      dst_strides = joined(strides_of(what.dst, dst, rank));
      cornerturn_dist_problem problem = CORNERTURN_DIST_PROBLEM_INIT;
      problem.rank = static_cast<int>(what.extents.size());
      problem.extents = what.extents.data();
      problem.axes = what.axes.data();
      problem.element_bytes = what.element_bytes;
      problem.src = from.made;
      problem.dst = to.made;
      problem.src_strides = src_strides.data();
      problem.dst_strides = dst_strides.data();
      cornerturn_dist_plan* plan = nullptr;
      ASSERT_EQ(cornerturn_dist_plan_create(&problem, &given, &how, &plan), CORNERTURN_OK) << cornerturn_last_error();
      const auto src_pointers = pointers_of<const void*>(what.src, src, rank);
      const auto dst_pointers = pointers_of<void*>(what.dst, dst, rank);
      EXPECT_EQ(cornerturn_dist_plan_execute(plan, src_pointers.data(), dst_pointers.data(), nullptr), CORNERTURN_OK)
          << cornerturn_last_error();
      const char *text = nullptr, *again = nullptr;
      EXPECT_EQ(cornerturn_dist_plan_explain(plan, &text), CORNERTURN_OK);
      EXPECT_EQ(cornerturn_dist_plan_explain(plan, &again), CORNERTURN_OK);
      EXPECT_EQ(text, again);
      EXPECT_EQ(std::string(text).find("rank " + std::to_string(rank) + " of " + std::to_string(ranks)), 0U) << text;
      std::int64_t bytes = -1;
      EXPECT_EQ(cornerturn_dist_plan_bytes_sent(plan, &bytes), CORNERTURN_OK);
      cornerturn_dist_plan_destroy(plan);
      const std::lock_guard<std::mutex> lock(counted);
      sent += bytes;
    });
    addresses += all.addresses();
    for (std::size_t cell = 0; cell < dst.blocks.size(); ++cell) {
      ASSERT_EQ(dst.blocks[cell], wanted.blocks[cell]) << "round " << round << ", cell " << cell;
    }
  }
  EXPECT_GT(addresses, 20);
  EXPECT_GT(sent, 1000);
}

void expect_blocks(const cornerturn_layout* found, const dist::layout& wanted, int ranks) {
  ASSERT_NE(found, nullptr) << cornerturn_last_error();
  for (int rank = 0; rank < ranks; ++rank) {
    const std::vector<std::int64_t> blocks = joined(dist::blocks_of(wanted, rank));
    std::int64_t count = -1;
    EXPECT_EQ(cornerturn_layout_blocks(found, rank, &count, nullptr), CORNERTURN_OK);
    EXPECT_EQ(count * static_cast<std::int64_t>(wanted.axes.size()), static_cast<std::int64_t>(blocks.size()));
    std::vector<std::int64_t> extents(blocks.size(), -1);
    EXPECT_EQ(cornerturn_layout_blocks(found, rank, &count, extents.data()), CORNERTURN_OK);
    EXPECT_EQ(extents, blocks);
  }
}

TEST(c_dist, layouts_are_those_of_the_functions_in_cpp) {
  const index_list extents{20, 33}, splits{0, 4, 4, 20};
  c_layout equal, any, cyclic, cells;
  EXPECT_EQ(cornerturn_layout_slabs(2, extents.data(), 1, nullptr, 4, &equal.made), CORNERTURN_OK);
  expect_blocks(equal.made, dist::slabs(extents, 1, 4), 4);
  EXPECT_EQ(cornerturn_layout_slabs(2, extents.data(), 0, splits.data(), 3, &any.made), CORNERTURN_OK);
  expect_blocks(any.made, dist::slabs(extents, 0, splits), 3);
  cornerturn_block_cyclic descriptor = CORNERTURN_BLOCK_CYCLIC_INIT;
  descriptor.rows = 20, descriptor.cols = 33, descriptor.row_block = 3, descriptor.col_block = 4;
  descriptor.first_process_row = 1, descriptor.first_process_col = 0;
  descriptor.process_rows = 2, descriptor.process_cols = 3;
  descriptor.column_major_ranks = 1;
  EXPECT_EQ(cornerturn_layout_block_cyclic(&descriptor, &cyclic.made), CORNERTURN_OK);
  expect_blocks(cyclic.made,
                dist::block_cyclic({.rows = 20,
                                    .cols = 33,
                                    .row_block = 3,
                                    .col_block = 4,
                                    .first_process_row = 1,
                                    .process_rows = 2,
                                    .process_cols = 3,
                                    .column_major_ranks = true}),
                6);
  // Without coordinates interval k has coordinate k: a grid.
  const std::vector<index_list> cuts{{0, 4, 20}, {0, 30, 33}};
  const std::vector<std::int32_t> owners{0, 1, 1, 0};
  const cornerturn_axis_layout axes[] = {{2, cuts[0].data(), nullptr, 0}, {2, cuts[1].data(), nullptr, 0}};
  EXPECT_EQ(cornerturn_layout_create(2, axes, owners.data(), &cells.made), CORNERTURN_OK);
  expect_blocks(cells.made, dist::grid(cuts, owners), 2);
}

TEST(c_dist, errors_are_statuses_and_sentences) {
  const index_list extents{20, 33}, decreasing{0, 9, 4, 20};
  const std::vector<std::int32_t> owners{0};
  cornerturn_layout* layout = nullptr;
  expect_c_error(cornerturn_layout_slabs(2, extents.data(), 0, nullptr, 2, nullptr), CORNERTURN_INVALID_ARGUMENT,
                 "out is null");
  expect_c_error(cornerturn_layout_slabs(2, nullptr, 0, nullptr, 2, &layout), CORNERTURN_INVALID_ARGUMENT,
                 "extents is null");
  expect_c_error(cornerturn_layout_slabs(2, extents.data(), 2, nullptr, 2, &layout), CORNERTURN_INVALID_ARGUMENT,
                 "axis is 2, wanted an axis of 2 extents");
  expect_c_error(cornerturn_layout_slabs(2, extents.data(), 0, decreasing.data(), 3, &layout),
                 CORNERTURN_INVALID_ARGUMENT, "splits");
  expect_c_error(cornerturn_layout_create(9, nullptr, owners.data(), &layout), CORNERTURN_INVALID_ARGUMENT,
                 "rank is 9, wanted 0 to 8");
  cornerturn_axis_layout axis{-1, nullptr, nullptr, 0};
  expect_c_error(cornerturn_layout_create(1, &axis, owners.data(), &layout), CORNERTURN_INVALID_ARGUMENT,
                 "axes[0].intervals is -1, wanted 0 or more");
  axis.intervals = 1;
  expect_c_error(cornerturn_layout_create(1, &axis, owners.data(), &layout), CORNERTURN_INVALID_ARGUMENT,
                 "axes[0].splits is null");
  const std::int32_t coordinate = 0;
  axis = {1, extents.data(), &coordinate, 0};
  expect_c_error(cornerturn_layout_create(1, &axis, owners.data(), &layout), CORNERTURN_INVALID_ARGUMENT,
                 "axes[0].cells is 0, wanted at least 1");
  cornerturn_block_cyclic descriptor = CORNERTURN_BLOCK_CYCLIC_INIT;
  descriptor.row_block = 0;
  expect_c_error(cornerturn_layout_block_cyclic(&descriptor, &layout), CORNERTURN_INVALID_ARGUMENT,
                 "row_block is 0, wanted at least 1");
  descriptor.size = 4;
  expect_c_error(cornerturn_layout_block_cyclic(&descriptor, &layout), CORNERTURN_INVALID_ARGUMENT,
                 "start from CORNERTURN_BLOCK_CYCLIC_INIT");
  EXPECT_EQ(layout, nullptr);

  c_layout src(dist::slabs(extents, 0, 1)), dst(dist::slabs(index_list{33, 20}, 0, 1));
  const int axes[] = {1, 0};
  cornerturn_dist_problem problem = CORNERTURN_DIST_PROBLEM_INIT;
  problem.rank = 2;
  problem.extents = extents.data();
  problem.axes = axes;
  problem.element_bytes = 4;
  problem.src = src.made;
  thread_ranks alone(1);
  dist::communicator mine = alone.of(0);
  cornerturn_communicator ranks = in_c(mine);
  cornerturn_dist_plan* plan = nullptr;
  expect_c_error(cornerturn_dist_plan_create(&problem, &ranks, nullptr, &plan), CORNERTURN_INVALID_ARGUMENT,
                 "problem.dst is null");
  problem.dst = dst.made;
  expect_c_error(cornerturn_dist_plan_create(&problem, nullptr, nullptr, &plan), CORNERTURN_INVALID_ARGUMENT,
                 "ranks is null");
  ranks.cancel = nullptr;
  expect_c_error(cornerturn_dist_plan_create(&problem, &ranks, nullptr, &plan), CORNERTURN_INVALID_ARGUMENT,
                 "a function of the communicator is null");
  ranks = in_c(mine);
  cornerturn_dist_options how = CORNERTURN_DIST_OPTIONS_INIT;
  how.chunk_bytes = 7;
  expect_c_error(cornerturn_dist_plan_create(&problem, &ranks, &how, &plan), CORNERTURN_INVALID_ARGUMENT,
                 "chunk_bytes is 7, wanted at least two elements of 4 bytes");
  problem.element_bytes = 0;
  expect_c_error(cornerturn_dist_plan_create(&problem, &ranks, nullptr, &plan), CORNERTURN_INVALID_ARGUMENT,
                 "element_bytes is 0");
  problem.element_bytes = 4;
  const int nowhere[] = {gpu::device_count()};
  expect_c_error(cornerturn_dist_plan_create_on_devices(&problem, nowhere, 1, nullptr, &plan), CORNERTURN_NO_DEVICE,
                 "GPU " + std::to_string(gpu::device_count()) + " is not here");
  EXPECT_EQ(plan, nullptr);
  ASSERT_EQ(cornerturn_dist_plan_create(&problem, &ranks, nullptr, &plan), CORNERTURN_OK) << cornerturn_last_error();
  std::vector<float> block(20 * 33);
  const void* from[] = {block.data()};
  void *none[] = {nullptr}, *stream[] = {block.data()};
  expect_c_error(cornerturn_dist_plan_execute(plan, nullptr, none, nullptr), CORNERTURN_INVALID_ARGUMENT,
                 "src is null");
  expect_c_error(cornerturn_dist_plan_execute(plan, from, none, nullptr), CORNERTURN_INVALID_ARGUMENT,
                 "dst[0] is null, wanted the block of cell 0");
  expect_c_error(cornerturn_dist_plan_execute(plan, from, stream, stream), CORNERTURN_DEVICE_ERROR,
                 "an earlier call of this plan failed");
  expect_c_error(cornerturn_dist_plan_explain(plan, nullptr), CORNERTURN_INVALID_ARGUMENT, "out is null");
  cornerturn_dist_plan_destroy(plan);
  cornerturn_dist_plan_destroy(nullptr);
  cornerturn_layout_destroy(nullptr);
}

}  // namespace
}  // namespace cornerturn::testing

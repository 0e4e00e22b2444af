// Run by mpirun: random layouts over all ranks in shared and in ordinary memory, every byte of this rank's blocks compared; the order
// of stores to shared memory; a fault of one rank; ScaLAPACK's layout. Random layouts run on one host, and then as if on two.
// All ranks make the same random problems. Exit code 1 and a sentence: a rank found a fault.
//   mpi_test [OVERLAYS [SEED]]   so many random layouts instead of 150
//   mpi_test orders              only the order of stores to shared memory
//   mpi_test large               one array of more than 2^31 elements, 4.3 GB over all ranks, and nothing else
#include "cornerturn/mpi.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>

#include "../dist/random_layouts.hpp"

// Rank r is as if on host r % pretended_hosts, so one call has shared memory and messages. A program may define a function of MPI;
// the name that begins with PMPI_ calls the original.
static int pretended_hosts = 1;
extern "C" int MPI_Comm_split_type(MPI_Comm ranks, int type, int key, MPI_Info info, MPI_Comm* made) {
  if (pretended_hosts == 1) return PMPI_Comm_split_type(ranks, type, key, info, made);
  int rank = 0;
  MPI_Comm_rank(ranks, &rank);
  return PMPI_Comm_split(ranks, rank % pretended_hosts, key, made);
}

namespace cornerturn::testing {
namespace {

[[noreturn]] void fail(int rank, const std::string& what) {
  std::fprintf(stderr, "rank %d: %s\n", rank, what.c_str());
  MPI_Abort(MPI_COMM_WORLD, 1);
  std::exit(1);
}

// Memory that ranks share, in parts.
class arena {
 public:
  arena(mpi::communicator& ranks, std::int64_t bytes) : all_(ranks, bytes), bytes_(bytes) {}
  void clear() { used_ = 0; }
  // Null: it is full
  std::byte* part(std::size_t bytes) {
    if (static_cast<std::int64_t>(bytes) > bytes_ - used_) return nullptr;
    std::byte* const begin = static_cast<std::byte*>(all_.data()) + used_;
    used_ += static_cast<std::int64_t>(bytes);
    return begin;
  }

 private:
  mpi::memory all_;
  std::int64_t bytes_, used_ = 0;
};

// Blocks of dst are in two windows or in ordinary memory: of a rank all, some or none are shared.
void random_layouts(mpi::communicator& world, int overlays, std::uint64_t seed) {
  const dist::communicator& ranks = world.get();
  dice any(seed), own(seed + static_cast<std::uint64_t>(ranks.rank));
  arena windows[2] = {{world, 1 << 20}, {world, ranks.rank == 0 ? 0 : 1 << 18}};
  std::int64_t sent = 0, shared = 0;
  for (int round = 0; round < overlays; ++round) {
    dist::problem what = random_problem(any, ranks.size);
    side src(any, what.src, what.element_bytes, std::byte{0x11});
    side dst(any, what.dst, what.element_bytes, std::byte{0xEE});
    side wanted = dst;
    fill(what, src);
    expect(what, wanted);
    dist::options how;
    how.local.threads = 1;
    how.seconds = 60;
    how.chunk_bytes = what.element_bytes * (2 + any.below(300));
    std::vector<const void*> from;
    std::vector<void*> to;
    for (const std::int64_t cell : distributed::cells_of(what.src, ranks.rank)) {
      what.src_strides.push_back(src.strides[static_cast<std::size_t>(cell)]);
      from.push_back(src.blocks[static_cast<std::size_t>(cell)].data());
    }
    const std::vector<std::int64_t> mine = distributed::cells_of(what.dst, ranks.rank);
    const std::int64_t kind = own.below(4);
    for (arena& one : windows) one.clear();
    for (const std::int64_t cell : mine) {
      std::vector<std::byte>& block = dst.blocks[static_cast<std::size_t>(cell)];
      what.dst_strides.push_back(dst.strides[static_cast<std::size_t>(cell)]);
      std::byte* place = nullptr;
      if (kind < 2 || (kind == 2 && own.one_in(2))) place = windows[own.below(2)].part(block.size());
      if (place != nullptr) std::copy(block.begin(), block.end(), place);
      shared += place != nullptr ? 1 : 0;
      to.push_back(place != nullptr ? place : block.data());
    }
    const dist::plan plan(what, ranks, how);
    plan.execute(from, to);
    plan.execute(from, to);
    sent += plan.bytes_sent();
    for (std::size_t k = 0; k < mine.size(); ++k) {
      const std::vector<std::byte>& block = wanted.blocks[static_cast<std::size_t>(mine[k])];
      if (!std::equal(block.begin(), block.end(), static_cast<const std::byte*>(to[k]))) {
        fail(ranks.rank, "round " + std::to_string(round) + ", cell " + std::to_string(mine[k]) + " is wrong");
      }
    }
  }
  if (ranks.size > 1 && (sent == 0 || shared == 0)) fail(ranks.rank, "no byte was sent, or no block was shared");
}

// Each rank is slow in turn: it stores to other ranks' blocks late, and reads its own block when the others are in their next call.
void stores_wait_for_the_owner(mpi::communicator& world) {
  const dist::communicator& ranks = world.get();
  dist::problem what;
  what.extents = {640, 480};
  what.axes = {1, 0};
  what.element_bytes = 4;
  what.src = dist::slabs(what.extents, 0, ranks.size);
  what.dst = dist::slabs(permuted_extents(what), 0, ranks.size);
  const auto elements = [&](const dist::layout& all) {
    const std::vector<std::int64_t> extents = dist::blocks_of(all, ranks.rank).front();
    return static_cast<std::size_t>(extents[0] * extents[1]);
  };
  std::vector<std::int32_t> src(elements(what.src));
  const std::size_t count = elements(what.dst);
  const mpi::memory shared(world, static_cast<std::int64_t>(count) * 4);
  auto* const dst = static_cast<std::int32_t*>(shared.data());
  dist::options how;
  how.local.threads = 1;
  const dist::plan plan(what, ranks, how);
  const void* const from = src.data();
  void* const to = dst;
  const auto pause = [] { std::this_thread::sleep_for(std::chrono::milliseconds(20)); };
  for (int call = 1; call <= 2 * ranks.size; ++call) {
    const bool is_slow = call % ranks.size == ranks.rank;
    std::fill(src.begin(), src.end(), call);
    if (is_slow) pause();
    plan.execute({&from, 1}, {&to, 1});
    if (is_slow) pause();
    for (std::size_t k = 0; k < count; ++k) {
      if (dst[k] == call) continue;
      fail(ranks.rank,
           "call " + std::to_string(call) + ": element " + std::to_string(k) + " is of call " + std::to_string(dst[k]));
    }
  }
}

void memory_of_a_negative_size_is_one_sentence(mpi::communicator& world) {
  const int last = world.get().size - 1;
  const std::string wanted = "a rank wants -1 bytes, wanted 0 or more";
  try {
    const mpi::memory none(world, world.get().rank == last ? -1 : 100);
    fail(world.get().rank, "no error, wanted: " + wanted);
  } catch (const error& reason) {
    if (wanted != reason.what()) fail(world.get().rank, std::string(reason.what()) + ", wanted: " + wanted);
  }
}

// A call that fails leaves messages over. None of them arrives at the next plan.
void the_plan_after_a_failed_call_is_right(const dist::communicator& ranks) {
  const std::int64_t side = 30 * ranks.size, elements = 30 * side;
  dist::problem what;
  what.extents = {side, side};
  what.axes = {1, 0};
  what.element_bytes = 4;
  what.src = what.dst = dist::slabs(what.extents, 0, ranks.size);
  dist::options how;
  how.route = dist::route::messages;
  how.seconds = 0.5;
  how.local.threads = 1;
  std::vector<std::int32_t> src(static_cast<std::size_t>(elements), -1), dst(src.size());
  const void* const from = src.data();
  void *const to = dst.data(), *const none = nullptr;
  const int last = ranks.size - 1;
  try {
    const dist::plan failing(what, ranks, how);
    failing.execute({&from, 1}, {ranks.rank == last ? &none : &to, 1});
    fail(ranks.rank, "no error, wanted: a block is null");
  } catch (const error& reason) {
    if (reason.code() != status::invalid_argument) fail(ranks.rank, reason.what());
  }
  const std::int64_t first = ranks.rank * 30;
  for (std::int64_t k = 0; k < elements; ++k) src[static_cast<std::size_t>(k)] = static_cast<int>(first * side + k);
  how.seconds = 60;
  const dist::plan plan(what, ranks, how);
  plan.execute({&from, 1}, {&to, 1});
  for (std::int64_t k = 0; k < elements; ++k) {
    if (dst[static_cast<std::size_t>(k)] == k % side * side + first + k / side) continue;
    fail(ranks.rank, "element " + std::to_string(k) + " is wrong after a failed call");
  }
}

// 20 MB in block-cyclic layouts, column-major as ScaLAPACK stores them, in many messages.
void block_cyclic(const dist::communicator& ranks) {
  constexpr std::int64_t rows = 1999, cols = 1301;
  dist::problem what;
  what.extents = {rows, cols};
  what.axes = {1, 0};
  what.element_bytes = 8;
  what.src =
      dist::block_cyclic({.rows = rows, .cols = cols, .row_block = 64, .col_block = 32, .process_rows = ranks.size});
  what.dst =
      dist::block_cyclic({.rows = cols, .cols = rows, .row_block = 48, .col_block = 48, .process_cols = ranks.size});
  const std::vector<std::int64_t> from = dist::blocks_of(what.src, ranks.rank).front();
  const std::vector<std::int64_t> to = dist::blocks_of(what.dst, ranks.rank).front();
  what.src_strides = {{1, from[0]}};
  what.dst_strides = {{1, to[0]}};
  std::vector<std::int64_t> src(static_cast<std::size_t>(from[0] * from[1])),
      dst(static_cast<std::size_t>(to[0] * to[1]), -1);
  for (std::int64_t col = 0; col < from[1]; ++col) {
    for (std::int64_t row = 0; row < from[0]; ++row) {
      const std::int64_t global_row = row / 64 * 64 * ranks.size + ranks.rank * 64 + row % 64;
      src[static_cast<std::size_t>(col * from[0] + row)] = global_row * cols + col;
    }
  }
  dist::options how;
  how.chunk_bytes = 100000;
  const dist::plan plan(what, ranks, how);
  const void* const source = src.data();
  void* const destination = dst.data();
  plan.execute({&source, 1}, {&destination, 1});
  for (std::int64_t col = 0; col < to[1]; ++col) {
    const std::int64_t global_col = col / 48 * 48 * ranks.size + ranks.rank * 48 + col % 48;
    for (std::int64_t row = 0; row < to[0]; ++row) {
      if (dst[static_cast<std::size_t>(col * to[0] + row)] == global_col * cols + row) continue;
      fail(ranks.rank, "row " + std::to_string(row) + ", column " + std::to_string(global_col) + " is wrong");
    }
  }
}

// Uneven slabs of padded rows. Sizes, offsets and counts of messages pass 2^31.
void more_than_2_31_elements(const dist::communicator& ranks) {
  constexpr std::int64_t rows = 46351, cols = 46381, padding = 3;
  static_assert(rows * cols > std::int64_t{1} << 31);
  const auto slabs = [&](std::int64_t extent, std::int64_t other) {
    std::vector<std::int64_t> splits{0};
    for (int rank = 1; rank < ranks.size; ++rank) splits.push_back(extent * rank / ranks.size - 7 * rank);
    splits.push_back(extent);
    return dist::slabs(std::vector<std::int64_t>{extent, other}, 0, splits);
  };
  const auto value = [](std::int64_t row, std::int64_t col) { return byte_of(row * cols + col, 0); };
  dist::problem what;
  what.extents = {rows, cols};
  what.axes = {1, 0};
  what.element_bytes = 1;
  what.src = slabs(rows, cols);
  what.dst = slabs(cols, rows);
  what.src_strides = {{cols + padding, 1}};
  what.dst_strides = {{rows + padding, 1}};
  const auto mine = static_cast<std::size_t>(ranks.rank);
  const std::int64_t first_row = what.src.axes[0].splits[mine], end_row = what.src.axes[0].splits[mine + 1];
  const std::int64_t first_col = what.dst.axes[0].splits[mine], end_col = what.dst.axes[0].splits[mine + 1];
  std::vector<std::byte> src(static_cast<std::size_t>((end_row - first_row) * (cols + padding)));
  std::vector<std::byte> dst(static_cast<std::size_t>((end_col - first_col) * (rows + padding)));
  for (std::int64_t row = first_row; row < end_row; ++row) {
    std::byte* const to = src.data() + (row - first_row) * (cols + padding);
    for (std::int64_t col = 0; col < cols; ++col) to[col] = value(row, col);
  }
  dist::options how;
  how.local.threads = 1;
  const dist::plan plan(what, ranks, how);
  const void* const from = src.data();
  void* const to = dst.data();
  plan.execute({&from, 1}, {&to, 1});
  for (std::int64_t col = first_col; col < end_col; ++col) {
    const std::byte* const found = dst.data() + (col - first_col) * (rows + padding);
    for (std::int64_t row = 0; row < rows + padding; ++row) {
      if (found[row] == (row < rows ? value(row, col) : std::byte{})) continue;
      fail(ranks.rank, "row " + std::to_string(row) + ", column " + std::to_string(col) + " is wrong");
    }
  }
}

void one_sentence_on_every_rank(const dist::communicator& ranks) {
  dist::problem what;
  what.extents = {100, 60};
  what.axes = {1, 0};
  what.element_bytes = 4;
  what.src = dist::slabs(what.extents, 0, ranks.size);
  what.dst = dist::slabs(permuted_extents(what), 0, ranks.size);
  const int last = ranks.size - 1;
  if (ranks.rank == last) what.dst.owners.front() = ranks.size;
  const std::string wanted = "rank " + std::to_string(last) + ": the layout of dst: cell 0 has owner " +
                             std::to_string(ranks.size) + ", wanted a rank below " + std::to_string(ranks.size);
  try {
    const dist::plan plan(what, ranks);
    fail(ranks.rank, "no error, wanted: " + wanted);
  } catch (const error& reason) {
    if (wanted != reason.what()) fail(ranks.rank, std::string(reason.what()) + ", wanted: " + wanted);
  }
}

}  // namespace
}  // namespace cornerturn::testing

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const std::string first = argc > 1 ? argv[1] : "150";
  try {
    cornerturn::mpi::communicator ranks(MPI_COMM_WORLD);
    if (first == "large") {
      cornerturn::testing::more_than_2_31_elements(ranks.get());
    } else if (first == "orders") {
      cornerturn::testing::stores_wait_for_the_owner(ranks);
    } else {
      for (pretended_hosts = 1; pretended_hosts <= std::min(2, ranks.get().size); ++pretended_hosts) {
        cornerturn::mpi::communicator world(MPI_COMM_WORLD);
        cornerturn::testing::random_layouts(world, std::atoi(first.c_str()),
                                            argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 446);
        cornerturn::testing::stores_wait_for_the_owner(world);
        cornerturn::testing::memory_of_a_negative_size_is_one_sentence(world);
      }
      cornerturn::testing::block_cyclic(ranks.get());
      cornerturn::testing::one_sentence_on_every_rank(ranks.get());
      cornerturn::testing::the_plan_after_a_failed_call_is_right(ranks.get());
    }
    if (ranks.get().rank == 0) std::printf("%d ranks: all blocks are right\n", ranks.get().size);
  } catch (const cornerturn::error& reason) {
    std::fprintf(stderr, "%s\n", reason.what());
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  MPI_Finalize();
  return 0;
}

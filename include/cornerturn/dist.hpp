// An array that is spread over several memories is transposed into another spread: over the GPUs of this process, or over
// processes. A layout says which rank owns which elements. A rank is a GPU or a process.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "cornerturn/plan.hpp"

#pragma GCC visibility push(default)
namespace cornerturn::dist {

inline constexpr int max_rank = 8;  // axes of an array

// One axis of a layout: its intervals [splits[k], splits[k + 1]) and the coordinate of each in a grid. Intervals may be empty.
struct axis_layout {
  std::vector<std::int64_t> splits;       // from 0 to the extent, never decreasing
  std::vector<std::int32_t> coordinates;  // one for each interval, 0 <= coordinate < cells
  std::int32_t cells = 1;                 // coordinates of this axis
};

// The coordinates of all axes name a cell of the grid. A cell has one owner, which stores the elements of the cell as one block: an
// array whose extent along an axis is the sum of the axis's intervals with the cell's coordinate, in their order.
// Slabs, grids of any splits and ScaLAPACK's block-cyclic layout are such layouts: the functions below make them.
struct layout {
  std::vector<axis_layout> axes;
  std::vector<std::int32_t> owners;  // the rank of each cell, row-major
};

// Effect  rank r owns [splits[r], splits[r + 1]) of one axis, and all of the other axes
// Errors  invalid_argument: axis is no axis of extents; the splits are not 0 ... extents[axis], or decrease
[[nodiscard]] layout slabs(std::span<const std::int64_t> extents, int axis, std::span<const std::int64_t> splits);
// Effect  slabs of equal extents, and a smaller last one: rank r begins at r * ceil(extent / ranks)
[[nodiscard]] layout slabs(std::span<const std::int64_t> extents, int axis, int ranks);
// Effect  a grid of any splits: splits[k] of axis k, and the owner of each cell, row-major. One rank may own several cells
// Errors  invalid_argument: as slabs; owners has another size than the grid has cells, or a negative rank
[[nodiscard]] layout grid(std::span<const std::vector<std::int64_t>> splits, std::span<const std::int32_t> owners);

// The array descriptor of ScaLAPACK without its context and leading dimension. Each rank has one block, which ScaLAPACK stores
// column-major: its strides are {1, LLD_}.
struct block_cyclic_descriptor {
  std::int64_t rows = 0, cols = 0;                            // M_, N_
  std::int64_t row_block = 1, col_block = 1;                  // MB_, NB_
  std::int32_t first_process_row = 0, first_process_col = 0;  // RSRC_, CSRC_
  std::int32_t process_rows = 1, process_cols = 1;            // of the process grid
  bool column_major_ranks = false;                            // the grid was made with order "C", not "R"
};
// Errors  invalid_argument: a number is out of range
[[nodiscard]] layout block_cyclic(const block_cyclic_descriptor& all);

// Returns the extents of each block that a rank owns, in the order of the cells: the blocks that plan::execute takes
// Errors  invalid_argument: the layout contradicts itself
[[nodiscard]] std::vector<std::vector<std::int64_t>> blocks_of(const layout& all, int rank);

// Effect  dst[j_0, j_1, ...] = src[i_0, i_1, ...] with j_k = i_axes[k], as numpy.transpose(src, axes)
struct problem {
  std::vector<std::int64_t> extents{};  // of src
  std::vector<int> axes{};
  std::int64_t element_bytes = 0;
  layout src{};  // of extents
  layout dst{};  // of the permuted extents
  // The strides in elements of the blocks of this process, in the order of plan::execute. Empty: packed, row-major
  std::vector<std::vector<std::int64_t>> src_strides{};
  std::vector<std::vector<std::int64_t>> dst_strides{};
};

// Where a block is in memory that ranks of one host share. Window -1: in no such memory.
struct shared_place {
  std::int64_t window = -1, offset = 0;
};

// Messages between processes. The functions run in the thread that calls the library. `false` means a failure of the transport.
// Messages of one sender and one receiver with equal tags arrive in the order of their calls.
struct communicator {
  void* context = nullptr;
  int rank = 0;
  int size = 1;
  // Start a message of at most options::chunk_bytes, with a tag of 1 to 32,767; *request names it
  bool (*send)(void* context, const void* data, std::int64_t bytes, int to, int tag, std::int64_t* request) = nullptr;
  bool (*receive)(void* context, void* data, std::int64_t bytes, int from, int tag, std::int64_t* request) = nullptr;
  // Waits at most `seconds` until one of the messages is complete. *done becomes its index, or -1
  bool (*wait_any)(void* context, const std::int64_t* requests, int count, double seconds, int* done) = nullptr;
  // Abandons a message. Returns false if the transport may still use its memory
  bool (*cancel)(void* context, std::int64_t request) = nullptr;
  // All three, or none: memory that other ranks can access, so that they store to it and send no message. A message orders the
  // sender's earlier accesses to this memory before the receiver's later ones.
  // Returns whether this rank and another may share memory: both ranks get one answer
  bool (*is_near)(void* context, int rank) = nullptr;
  // Returns the place of a block of this rank
  shared_place (*place_of)(void* context, const void* block, std::int64_t bytes) = nullptr;
  // Returns the address here of a place that another rank's place_of returned. Null: there is none
  void* (*address_of)(void* context, int rank, shared_place place) = nullptr;
};

// GPUs of this process: rank r is GPU numbers[r].
struct devices {
  std::vector<int> numbers;
};

enum class route : int {
  // Between GPUs: kernels where one can access the memory of the other, else copy engines. Between processes: a rank stores to
  // the blocks of another one if all of them are in memory that the two share, else messages
  automatic = 0,
  kernels = 1,       // kernels store into the memory of the other GPU; no extra memory
  copy_engines = 2,  // kernels transpose into a buffer, and copy engines put its rows to their place
  messages = 3,      // between processes: packed in chunks by transposing copies, sent, unpacked
};

struct options {
  dist::route route = dist::route::automatic;
  // Bytes of a message, below 2 GiB, and of each rank's buffers for copy engines. At least two elements
  std::int64_t chunk_bytes = std::int64_t{64} << 20;
  // Time limit without any message. A rank without elements waits for the others: choose more than a call takes
  double seconds = 300;
  plan_options local{};  // of copies on a CPU
};

namespace detail {
class plan_state;
}

class plan {
 public:
  // Effect  makes a plan for one rank. All ranks of the communicator call it together, with equal problems but for strides
  // Errors  on every rank with one sentence: invalid_argument: a rank has another problem, number of ranks, options or version
  //         of the library; a layout contradicts itself or names a rank outside; device_error: a rank does not answer
  //         within the time limit, or a message of an agreement that failed is left over: then the communicator is
  //         of no more use. As plan::plan: strides. Chunks for two messages each way: out_of_memory
  // Cost    the intervals of both layouts, and the ranks that exchange data with this one; a few small messages
  plan(const problem& what, const communicator& ranks, const options& how = {});

  // Effect  makes a plan for GPUs of this process
  // Errors  invalid_argument: a layout names a rank outside, a GPU repeats. no_device: no such GPU. overflow, overlap: strides.
  //         out_of_memory: no buffer. device_error: route::kernels without peer access
  // Cost    as above; it loads kernels, enables peer access and allocates chunk_bytes on each GPU for copy engines
  plan(const problem& what, const devices& gpus, const options& how = {});

  // Effect  executes the problem
  // Shape   src and dst have one pointer for each block of the ranks of this process, in the order of ranks, then of cells: see
  //         blocks_of. The pointer of an empty block is not used
  // Alias   no block of dst shares a byte with another block. Shared memory: other ranks store to a block from the call of its
  //         owner until the return of all ranks
  // Stream  GPUs: one stream for each GPU, or none for the default streams. The copies are ordered after all earlier work of
  //         all these streams, and before later work of each. The call is asynchronous. Processes: none; all ranks call it together,
  //         and it returns after the copy. One call at a time
  // Errors  invalid_argument: a null pointer, or another number of pointers. device_error: a launch, a message or a rank
  //         failed, on every rank within the time limit; dst is then unspecified
  void execute(std::span<const void* const> src, std::span<void* const> dst, std::span<void* const> streams = {}) const;

  // Returns a text: the bytes of each link, the route and the predicted time. Processes: as the time of a copy of so many bytes
  [[nodiscard]] std::string explain() const;
  [[nodiscard]] std::int64_t bytes_sent() const noexcept;  // to other ranks, by the ranks of this process

 private:
  std::shared_ptr<const detail::plan_state> state_;
};

}  // namespace cornerturn::dist
#pragma GCC visibility pop

/* The C ABI of dist.hpp, which defines the meaning of every field and call. A structure with a size
   starts from its initializer. */
#ifndef CORNERTURN_DIST_H
#define CORNERTURN_DIST_H

#include "cornerturn/cornerturn.h"

#pragma GCC visibility push(default)
#ifdef __cplusplus
extern "C" {
#endif

#define CORNERTURN_MAX_DIST_RANK 8 /* axes of an array */

/* See cornerturn::dist::layout */
typedef struct cornerturn_layout cornerturn_layout;

/* One axis of a layout. See cornerturn::dist::axis_layout */
typedef struct cornerturn_axis_layout {
  int64_t intervals;
  const int64_t* splits;      /* intervals + 1 */
  const int32_t* coordinates; /* one for each interval; null: interval k has coordinate k, and `cells` is not used */
  int32_t cells;              /* coordinates of this axis */
} cornerturn_axis_layout;

/* See cornerturn::dist::block_cyclic_descriptor */
typedef struct cornerturn_block_cyclic {
  size_t size;
  int64_t rows, cols;
  int64_t row_block, col_block;
  int32_t first_process_row, first_process_col;
  int32_t process_rows, process_cols;
  int column_major_ranks; /* 0 or 1 */
} cornerturn_block_cyclic;

/* See cornerturn::dist::problem */
typedef struct cornerturn_dist_problem {
  size_t size;
  int rank; /* axes of the array */
  const int64_t* extents;
  const int* axes;
  int64_t element_bytes;
  const cornerturn_layout* src;
  const cornerturn_layout* dst;
  const int64_t* src_strides; /* `rank` strides for each block of this process, in the order of execute; null: packed */
  const int64_t* dst_strides;
} cornerturn_dist_problem;

typedef struct cornerturn_shared_place {
  int64_t window; /* -1: in no shared memory */
  int64_t offset;
} cornerturn_shared_place;

/* See cornerturn::dist::communicator */
typedef struct cornerturn_communicator {
  size_t size;
  void* context;
  int rank;
  int ranks;
  bool (*send)(void* context, const void* data, int64_t bytes, int to, int tag, int64_t* request);
  bool (*receive)(void* context, void* data, int64_t bytes, int from, int tag, int64_t* request);
  bool (*wait_any)(void* context, const int64_t* requests, int count, double seconds, int* done);
  bool (*cancel)(void* context, int64_t request);
  bool (*is_near)(void* context, int rank); /* these three: null without shared memory */
  cornerturn_shared_place (*place_of)(void* context, const void* block, int64_t bytes);
  void* (*address_of)(void* context, int rank, cornerturn_shared_place place);
} cornerturn_communicator;

typedef CORNERTURN_ENUM(cornerturn_route){CORNERTURN_ROUTE_AUTOMATIC = 0, CORNERTURN_ROUTE_KERNELS = 1,
                                          CORNERTURN_ROUTE_COPY_ENGINES = 2,
                                          CORNERTURN_ROUTE_MESSAGES = 3} cornerturn_route;

/* See cornerturn::dist::options */
typedef struct cornerturn_dist_options {
  size_t size;
  cornerturn_route route;
  int64_t chunk_bytes;
  double seconds;
  const cornerturn_options* local; /* null: the defaults */
} cornerturn_dist_options;

/* clang-format off */
#define CORNERTURN_BLOCK_CYCLIC_INIT {sizeof(cornerturn_block_cyclic), 0, 0, 1, 1, 0, 0, 1, 1, 0}
#define CORNERTURN_DIST_PROBLEM_INIT {sizeof(cornerturn_dist_problem), 0, NULL, NULL, 0, NULL, NULL, NULL, NULL}
#define CORNERTURN_COMMUNICATOR_INIT {sizeof(cornerturn_communicator), NULL, 0, 1, NULL, NULL, NULL, NULL, NULL, NULL, NULL}
#define CORNERTURN_DIST_OPTIONS_INIT {sizeof(cornerturn_dist_options), CORNERTURN_ROUTE_AUTOMATIC, \
                                      (int64_t)64 << 20, 300, NULL}
/* clang-format on */

typedef struct cornerturn_dist_plan cornerturn_dist_plan;

/* Effect  makes a layout of `rank` axes; release it with cornerturn_layout_destroy. owners: the rank of each cell, row-major */
cornerturn_status cornerturn_layout_create(int rank, const cornerturn_axis_layout* axes, const int32_t* owners,
                                           cornerturn_layout** out);
/* Effect  rank r owns [splits[r], splits[r + 1]) of one axis. splits has ranks + 1 numbers, or is null for equal slabs */
cornerturn_status cornerturn_layout_slabs(int rank, const int64_t* extents, int axis, const int64_t* splits, int ranks,
                                          cornerturn_layout** out);
cornerturn_status cornerturn_layout_block_cyclic(const cornerturn_block_cyclic* descriptor, cornerturn_layout** out);
void cornerturn_layout_destroy(cornerturn_layout* layout); /* null is allowed */

/* Effect  *count becomes the number of blocks that `owner` has. If extents is not null, the extents of block k are stored to the
           numbers from extents[k * axes] on, where axes is the number of axes. It has room for all blocks */
cornerturn_status cornerturn_layout_blocks(const cornerturn_layout* layout, int owner, int64_t* count,
                                           int64_t* extents);

/* Effect  makes a plan between processes, or between GPUs of this one; release it with cornerturn_dist_plan_destroy. The problem,
           its layouts and options are not used after the call; the context of the communicator is used by each call of the plan.
           options may be null. */
cornerturn_status cornerturn_dist_plan_create(const cornerturn_dist_problem* problem,
                                              const cornerturn_communicator* ranks,
                                              const cornerturn_dist_options* options, cornerturn_dist_plan** out);
cornerturn_status cornerturn_dist_plan_create_on_devices(const cornerturn_dist_problem* problem, const int* devices,
                                                         int count, const cornerturn_dist_options* options,
                                                         cornerturn_dist_plan** out);
void cornerturn_dist_plan_destroy(cornerturn_dist_plan* plan); /* null is allowed */

/* Effect  executes the problem. src and dst have a pointer for each block of this process: of each rank's blocks in the order of
           cornerturn_layout_blocks. streams: one for each GPU, or null */
cornerturn_status cornerturn_dist_plan_execute(const cornerturn_dist_plan* plan, const void* const* src,
                                               void* const* dst, void* const* streams);

/* Effect  *out becomes the text of plan.explain(), owned by the plan */
cornerturn_status cornerturn_dist_plan_explain(const cornerturn_dist_plan* plan, const char** out);
cornerturn_status cornerturn_dist_plan_bytes_sent(const cornerturn_dist_plan* plan, int64_t* out);

#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop

#endif

/* The C ABI. Calls that can fail return a status; none throws. cornerturn_last_error() returns the sentence of this
   thread's last failure. problem.hpp and plan.hpp define the meaning of every field and call.
   Later versions may add fields at the end of a structure. Its size says which ones the program knows, so a structure starts
   from its initializer: cornerturn_problem problem = CORNERTURN_PROBLEM_INIT. */
#ifndef CORNERTURN_CORNERTURN_H
#define CORNERTURN_CORNERTURN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cornerturn/version.h"

#pragma GCC visibility push(default)
#ifdef __cplusplus
extern "C" {
#endif

#define CORNERTURN_MAX_RANK 16

/* In C++ every int is a value of these types, as it is in C: a wrong number gets a status, not undefined behaviour. */
#ifdef __cplusplus
#define CORNERTURN_ENUM(name) enum name : int
#else
#define CORNERTURN_ENUM(name) enum name
#endif

typedef CORNERTURN_ENUM(cornerturn_status){
    CORNERTURN_OK = 0,       CORNERTURN_INVALID_ARGUMENT = 1, CORNERTURN_OVERFLOW = 2,
    CORNERTURN_OVERLAP = 3,  CORNERTURN_NO_DEVICE = 4,        CORNERTURN_OUT_OF_MEMORY = 5,
    CORNERTURN_INTERNAL = 6, CORNERTURN_DEVICE_ERROR = 7,     CORNERTURN_IO_ERROR = 8} cornerturn_status;

typedef CORNERTURN_ENUM(cornerturn_device){CORNERTURN_DEVICE_AUTO = 0, CORNERTURN_DEVICE_CPU = 1,
                                           CORNERTURN_DEVICE_CUDA = 2, CORNERTURN_DEVICE_HIP = 3} cornerturn_device;

/* One axis of the index space; strides count elements. */
typedef struct cornerturn_axis {
  int64_t extent;
  int64_t src_stride;
  int64_t dst_stride;
} cornerturn_axis;

typedef struct cornerturn_problem {
  size_t size;
  int64_t element_bytes;
  int rank;
  int in_place; /* 1: src is dst; 0: separate arrays */
  cornerturn_axis axes[CORNERTURN_MAX_RANK];
} cornerturn_problem;

/* Arithmetic on elements: see arithmetic.hpp, which has equal enumerator values. */
typedef CORNERTURN_ENUM(cornerturn_element_type){
    CORNERTURN_BITS = 0,        CORNERTURN_FLOAT16 = 1,   CORNERTURN_BFLOAT16 = 2,   CORNERTURN_FLOAT32 = 3,
    CORNERTURN_FLOAT64 = 4,     CORNERTURN_COMPLEX64 = 5, CORNERTURN_COMPLEX128 = 6, CORNERTURN_FLOAT8_E4M3 = 7,
    CORNERTURN_FLOAT8_E5M2 = 8, CORNERTURN_INT8 = 9,      CORNERTURN_INT16 = 10,     CORNERTURN_INT32 = 11,
    CORNERTURN_INT64 = 12,      CORNERTURN_UINT8 = 13,    CORNERTURN_UINT16 = 14,    CORNERTURN_UINT32 = 15,
    CORNERTURN_UINT64 = 16} cornerturn_element_type;

typedef CORNERTURN_ENUM(cornerturn_second_array){CORNERTURN_NO_SECOND = 0, CORNERTURN_SECOND_SOURCE = 1,
                                                 CORNERTURN_SECOND_DESTINATION = 2} cornerturn_second_array;

/* dst = convert(scale * (alpha * op(src) + beta * S)). The initializer only copies. */
typedef struct cornerturn_arithmetic {
  size_t size;
  cornerturn_element_type src;
  cornerturn_element_type dst;
  double alpha[2]; /* real and imaginary part */
  double beta[2];
  int conj;     /* 0 or 1 */
  int saturate; /* 0 or 1 */
  int scaled;   /* 0 or 1 */
  cornerturn_second_array second;
  int64_t second_strides[CORNERTURN_MAX_RANK]; /* one per axis of the problem, in elements of dst */
} cornerturn_arithmetic;

/* All arrays of one execute call. A pointer that the problem does not use is null. */
typedef struct cornerturn_operands {
  size_t size;
  const void* src;
  void* dst;
  const void* second;
  void* second_dst;
  const float* scale;
  void* workspace;
  int64_t workspace_bytes;
} cornerturn_operands;

/* See cornerturn::executor. A null run selects the library's own threads. */
typedef struct cornerturn_executor {
  void (*run)(void* context, int tasks, void (*body)(void* argument, int task), void* argument);
  void* context;
  bool (*is_cancelled)(void* context); /* null: the call is not cancelled */
} cornerturn_executor;

typedef struct cornerturn_options {
  size_t size;
  cornerturn_device device;
  int threads; /* most threads of the CPU; 0: see cornerturn::plan_options */
  cornerturn_executor parallel;
  int measure; /* 0 or 1: see cornerturn::plan_options */
} cornerturn_options;

/* See cornerturn::tune_options */
typedef struct cornerturn_tune_options {
  size_t size;
  cornerturn_device device;
  int threads;
  double seconds;   /* approximate time of the measurement */
  const char* file; /* receives the result; null: the file of CORNERTURN_TUNE_FILE, or none */
} cornerturn_tune_options;

/* See cornerturn::calibrate_options */
typedef struct cornerturn_calibrate_options {
  size_t size;
  const char* device; /* "cpu", "cuda" or "cuda:N" */
  double minutes;     /* approximate time of the measurement */
  int threads;
  int64_t seed;
  const char* file;    /* receives the result; null: a file that all later programs of this user read */
  const char* command; /* measures; null: the command `cornerturn` that PATH has */
  int quiet;           /* 0: the command prints its progress on stderr */
} cornerturn_calibrate_options;

/* A store of bytes: see file.hpp. Both functions transfer all bytes and return 0, or an errno, which ends the transpose. They
   are called from several threads at a time. */
typedef struct cornerturn_store {
  size_t size;
  void* context;
  int (*read)(void* context, int64_t offset, void* to, size_t bytes);          /* of src and of a scratch store */
  int (*write)(void* context, int64_t offset, const void* from, size_t bytes); /* of dst and of a scratch store */
} cornerturn_store;

/* See cornerturn::file_options and stored_array */
typedef struct cornerturn_file_options {
  size_t size;
  int64_t memory_bytes;      /* of all buffers; 0: half of the memory that is available */
  int threads;               /* 0: the threads of a call, at least 4 */
  int src_fortran_order;     /* 0 or 1 */
  int dst_fortran_order;     /* 0 or 1 */
  cornerturn_store* scratch; /* null: none */
} cornerturn_file_options;

/* clang-format off */
#define CORNERTURN_STORE_INIT {sizeof(cornerturn_store), NULL, NULL, NULL}
#define CORNERTURN_FILE_OPTIONS_INIT {sizeof(cornerturn_file_options), 0, 0, 0, 0, NULL}
#define CORNERTURN_PROBLEM_INIT {sizeof(cornerturn_problem), 0, 0, 0, {{0, 0, 0}}}
#define CORNERTURN_ARITHMETIC_INIT {sizeof(cornerturn_arithmetic), CORNERTURN_BITS, CORNERTURN_BITS, {1, 0}, {0, 0}, \
                                    0, 1, 0, CORNERTURN_NO_SECOND, {0}}
#define CORNERTURN_OPERANDS_INIT {sizeof(cornerturn_operands), NULL, NULL, NULL, NULL, NULL, NULL, 0}
#define CORNERTURN_OPTIONS_INIT {sizeof(cornerturn_options), CORNERTURN_DEVICE_AUTO, 0, {NULL, NULL, NULL}, 0}
#define CORNERTURN_CALIBRATE_OPTIONS_INIT {sizeof(cornerturn_calibrate_options), "cpu", 3, 1, 1, NULL, NULL, 1}
#define CORNERTURN_TUNE_OPTIONS_INIT {sizeof(cornerturn_tune_options), CORNERTURN_DEVICE_AUTO, 0, 0.5, NULL}
/* clang-format on */

typedef struct cornerturn_plan cornerturn_plan;
typedef struct cornerturn_batch cornerturn_batch;

/* Effect  makes the problem dst[j * dst_ld + i] = src[i * src_ld + j] in *out, which starts from its initializer. A leading
           dimension of 0 means packed. */
cornerturn_status cornerturn_transpose_problem(int64_t rows, int64_t cols, int64_t element_bytes, int64_t src_ld,
                                               int64_t dst_ld, cornerturn_problem* out);

/* Effect  makes the problem of numpy.transpose(src, axes), packed on both sides */
cornerturn_status cornerturn_permute_problem(int rank, const int64_t* extents, const int* axes, int64_t element_bytes,
                                             cornerturn_problem* out);

/* Effect  transposes an array of any size from one store to another in bounded memory: axis k of dst is axis axes[k] of src.
           options may be null. See cornerturn::transpose_stored */
cornerturn_status cornerturn_transpose_stored(const cornerturn_store* src, const cornerturn_store* dst, int rank,
                                              const int64_t* extents, const int* axes, int64_t element_bytes,
                                              const cornerturn_file_options* options);

/* Effect  makes a plan; release it with cornerturn_plan_destroy. math and options may be null. */
cornerturn_status cornerturn_plan_create(const cornerturn_problem* problem, const cornerturn_arithmetic* math,
                                         const cornerturn_options* options, cornerturn_plan** out);
void cornerturn_plan_destroy(cornerturn_plan* plan); /* null is allowed */

/* Effect  copies the data. Alias: src and dst may not overlap; for a problem in place they are one pointer. */
cornerturn_status cornerturn_plan_execute(const cornerturn_plan* plan, const void* src, void* dst, void* stream);

/* Effect  executes with a second array, a scale and a workspace of at least cornerturn_plan_workspace_bytes() bytes.
           Without one, execute allocates it during the call. In place, rectangles and batches of small squares need
           a workspace; nothing else does. */
cornerturn_status cornerturn_plan_apply(const cornerturn_plan* plan, const cornerturn_operands* operands, void* stream);
cornerturn_status cornerturn_plan_workspace_bytes(const cornerturn_plan* plan, cornerturn_device device, int64_t* out);

/* Effect  *out becomes the present text of plan.explain(), owned by the plan */
cornerturn_status cornerturn_plan_explain(const cornerturn_plan* plan, const char** out);
const char* cornerturn_plan_kernel(const cornerturn_plan* plan); /* its name; "" if plan is null */

/* Effect  makes a batch: item k copies src[k] to dst[k] by problems[k]; release it with cornerturn_batch_destroy. Items may
           share a problem. The problems and the three arrays are not used after the call. options may be null. */
cornerturn_status cornerturn_batch_create(const cornerturn_problem* const* problems, const void* const* src,
                                          void* const* dst, int64_t count, const cornerturn_options* options,
                                          cornerturn_batch** out);
void cornerturn_batch_destroy(cornerturn_batch* batch); /* null is allowed */

/* Effect  copies all items */
cornerturn_status cornerturn_batch_execute(const cornerturn_batch* batch, void* stream);

/* Effect  *out becomes the text of batch.explain(), owned by the batch */
cornerturn_status cornerturn_batch_explain(const cornerturn_batch* batch, const char** out);

/* Effect  executes the problem through the plan cache. cornerturn_transpose works in place if src is dst. */
cornerturn_status cornerturn_execute(const cornerturn_problem* problem, const void* src, void* dst, void* stream);
cornerturn_status cornerturn_apply(const cornerturn_problem* problem, const cornerturn_arithmetic* math,
                                   const cornerturn_operands* operands, void* stream);
cornerturn_status cornerturn_transpose(const void* src, void* dst, int64_t rows, int64_t cols, int64_t element_bytes,
                                       int64_t src_ld, int64_t dst_ld, void* stream);
cornerturn_status cornerturn_permute(const void* src, void* dst, int rank, const int64_t* extents, const int* axes,
                                     int64_t element_bytes, void* stream);

/* Effect  times all kernels; later plans use the fastest one: see tune.hpp. dst holds the result. options may be null.
           *kernel becomes the winner's name, or "" for a problem without elements; kernel may be null. */
cornerturn_status cornerturn_tune(const cornerturn_problem* problem, const void* src, void* dst,
                                  const cornerturn_tune_options* options, const char** kernel, void* stream);
/* Effect  later plans use the kernels that the file names */
cornerturn_status cornerturn_load_tuning(const char* file);
/* Effect  later plans use the constants of the file: see machine.hpp */
cornerturn_status cornerturn_load_machine(const char* file);
/* Effect  measures this machine for some minutes with the command `cornerturn calibrate`; later plans use what it found: see
           machine.hpp. options may be null. */
cornerturn_status cornerturn_calibrate(const cornerturn_calibrate_options* options);
/* Effect  later plans use the kernels whose offers are the cheapest */
cornerturn_status cornerturn_forget_tuning(void);

const char* cornerturn_last_error(void); /* "" if the last call on this thread that returns a status succeeded */
const char* cornerturn_status_name(cornerturn_status code);
const char* cornerturn_version(void);

#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop

#endif

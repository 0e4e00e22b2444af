// threads_without_memory LIBRARY: threads of the pool find no memory for the thread_local variables of the library, which it
// loads as Python does. The calling thread does their work.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "cornerturn/cornerturn.h"

extern void* __libc_malloc(size_t bytes);
extern void* __libc_calloc(size_t count, size_t bytes);

static pthread_t with_memory;
static atomic_int refused, is_refusing;

static int refuses(void) {
  if (!atomic_load(&is_refusing) || pthread_equal(pthread_self(), with_memory)) return 0;
  atomic_fetch_add(&refused, 1);
  return 1;
}

void* malloc(size_t bytes) { return refuses() ? NULL : __libc_malloc(bytes); }
void* calloc(size_t count, size_t bytes) { return refuses() ? NULL : __libc_calloc(count, bytes); }

enum { rows = 1000, cols = 1100 };
static uint32_t src[rows * cols], dst[cols * rows];

int main(int count, char** arguments) {
  if (count != 2) return 2;
  with_memory = pthread_self();
  void* const library = dlopen(arguments[1], RTLD_NOW);
  if (library == NULL) return fprintf(stderr, "%s\n", dlerror()), 2;
  __typeof__(&cornerturn_plan_create) create;
  __typeof__(&cornerturn_plan_execute) execute;
  *(void**)&create = dlsym(library, "cornerturn_plan_create");
  *(void**)&execute = dlsym(library, "cornerturn_plan_execute");
  const cornerturn_problem problem = {.size = sizeof problem,
                                      .element_bytes = 4,
                                      .rank = 2,
                                      .axes = {{.extent = rows, .src_stride = cols, .dst_stride = 1},
                                               {.extent = cols, .src_stride = 1, .dst_stride = rows}}};
  const cornerturn_options options = {.size = sizeof options, .device = CORNERTURN_DEVICE_CPU, .threads = 4};
  cornerturn_plan* plan = NULL;
  if (create(&problem, NULL, &options, &plan) != CORNERTURN_OK) return 3;
  for (uint32_t k = 0; k < rows * cols; ++k) src[k] = k;
  atomic_store(&is_refusing, 1);
  for (int turn = 0; turn < 1000 && (turn < 20 || atomic_load(&refused) == 0); ++turn) {
    for (uint32_t k = 0; k < rows * cols; ++k) dst[k] = ~0U;
    if (execute(plan, src, dst, NULL) != CORNERTURN_OK) return 4;
    for (uint32_t k = 0; k < rows * cols; ++k) {
      if (dst[k] != k % rows * cols + k / rows) return 5;
    }
  }
  return atomic_load(&refused) > 0 ? 0 : 6;  // 6: no thread asked, so nothing was tested
}

/* Loads the shared library, transposes on several threads, and unloads it while they are still awake: no thread may run in
   unmapped code. A call from a child of fork(), from an exit handler and from a destructor of a thread. */
#include <cornerturn/cornerturn.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum { rows = 1000, cols = 1100 };
static float src[rows * cols], dst[cols * rows];
typedef cornerturn_status (*transpose_function)(const void*, void*, int64_t, int64_t, int64_t, int64_t, int64_t, void*);
static transpose_function transpose;

static int is_right(void) {
  for (int k = 0; k < rows * cols; ++k) src[k] = (float)k, dst[k] = -1;
  if (transpose(src, dst, rows, cols, 4, cols, rows, NULL) != 0) return 0;
  for (int i = 0; i < rows; ++i) {
    for (int j = 0; j < cols; ++j) {
      if (dst[j * rows + i] != src[i * cols + j]) return 0;
    }
  }
  return 1;
}

static void expect_right(const char* where) {
  if (is_right()) return;
  fprintf(stderr, "wrong %s\n", where);
  _exit(1);
}

static void at_thread_end(void* unused) {
  (void)unused;
  expect_right("in a destructor of a thread");
}
static void* set_key(void* key) {
  pthread_setspecific(*(pthread_key_t*)key, key);
  expect_right("in a thread");
  return NULL;
}
static void at_exit(void) { expect_right("in an exit handler"); }

int main(int count, char** arguments) {
  if (count != 2) return 2;
  for (int round = 0; round < 20; ++round) {
    void* const library = dlopen(arguments[1], RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) return fprintf(stderr, "%s\n", dlerror()), 1;
    *(void**)&transpose = dlsym(library, "cornerturn_transpose");
    expect_right("after dlopen");
    dlclose(library);
    usleep(round % 2 == 0 ? 0 : 5000); /* helpers spin, or sleep */
  }
  *(void**)&transpose = dlsym(dlopen(arguments[1], RTLD_NOW | RTLD_LOCAL), "cornerturn_transpose");
  const pid_t child = fork();
  if (child == 0) {
    alarm(60);
    expect_right("in a child");
    exit(0);
  }
  int status = 0;
  if (waitpid(child, &status, 0) != child || status != 0)
    return fprintf(stderr, "the child ended with %d\n", status), 1;
  pthread_key_t key;
  pthread_t thread;
  if (pthread_key_create(&key, at_thread_end) != 0 || pthread_create(&thread, NULL, set_key, &key) != 0) return 1;
  pthread_join(thread, NULL);
  atexit(at_exit);
  return 0;
}

// A library for LD_PRELOAD: the disk of a process fails in a chosen call. The environment names the fault:
//   FAULT         CALL:FIRST:LAST:ACTION, with calls counted from 1 on. `input` is a pread of a file that is open for reading only, and
//                 `sync` has two system calls. ACTION is one of
//                   a number  the call fails with this errno
//                   short     a read or write transfers a part of its bytes
//                   kill      the process ends
//                   lost      as a power failure: written bytes that are not on the disk become zeros, each write with probability 1/2,
//                             and the process ends
//                   shrink, change   the file that is read is cut in half, or gets another byte
//   FAULT_SEED    a number
//   FAULT_COUNTS  a file that gets a line "CALL COUNT" for each call when the process exits
//   FAULT_CLOCK   each write sets the monotonic clock two seconds ahead, so that a journal is written after each box
#define _GNU_SOURCE
#undef _FORTIFY_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum call {
  call_input,
  call_pread,
  call_pwrite,
  call_sync,
  call_fallocate,
  call_openat,
  call_link,
  call_rename,
  call_thread,
  calls
};
static const char* const names[calls] = {"input",  "pread", "pwrite", "sync",  "fallocate",
                                         "openat", "link",  "rename", "thread"};

enum action { action_none, action_errno, action_short, action_kill, action_lost, action_shrink, action_change };

static atomic_long counts[calls];
static enum call fault_call = calls;
static long fault_first, fault_last;
static enum action fault_action;
static int fault_errno;
static int has_clock;
static atomic_long ahead_seconds;
static atomic_ulong random_state;

// Bytes that no fsync has covered, oldest first.
struct written {
  int file;
  ino_t number;
  off_t offset;
  size_t bytes;
};
enum { most_written = 1 << 18 };
static struct written unsynced[most_written];
static size_t unsynced_count;
static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;

static unsigned long next_random(void) {
  unsigned long word = atomic_fetch_add(&random_state, 0x9e3779b97f4a7c15UL) + 0x9e3779b97f4a7c15UL;
  word = (word ^ (word >> 30)) * 0xbf58476d1ce4e5b9UL;
  word = (word ^ (word >> 27)) * 0x94d049bb133111ebUL;
  return word ^ (word >> 31);
}

__attribute__((constructor)) static void begin(void) {
  const char* const seed = getenv("FAULT_SEED");
  atomic_store(&random_state, seed == NULL ? 1 : strtoul(seed, NULL, 10));
  has_clock = getenv("FAULT_CLOCK") != NULL;
  const char* const fault = getenv("FAULT");
  char name[16] = "", action[16] = "";
  if (fault == NULL || sscanf(fault, "%15[a-z]:%ld:%ld:%15s", name, &fault_first, &fault_last, action) != 4) return;
  for (int k = 0; k < calls; ++k) {
    if (strcmp(name, names[k]) == 0) fault_call = (enum call)k;
  }
  static const char* const words[] = {"", "", "short", "kill", "lost", "shrink", "change"};
  for (int k = action_short; k <= action_change; ++k) {
    if (strcmp(action, words[k]) == 0) fault_action = (enum action)k;
  }
  if (fault_action == action_none) {
    fault_action = action_errno;
    fault_errno = atoi(action);
  }
}

__attribute__((destructor)) static void end(void) {
  const char* const path = getenv("FAULT_COUNTS");
  FILE* const file = path == NULL ? NULL : fopen(path, "w");
  if (file == NULL) return;
  for (int k = 0; k < calls; ++k) fprintf(file, "%s %ld\n", names[k], atomic_load(&counts[k]));
  fclose(file);
}

// The function of the C library.
#define NEXT(function)                               \
  static __typeof__(&function) next;                 \
  if (next == NULL) {                                \
    void* const found = dlsym(RTLD_NEXT, #function); \
    if (found == NULL) abort();                      \
    memcpy(&next, &found, sizeof next);              \
  }

static ssize_t real_write(int file, const void* from, size_t bytes, off_t offset) {
  NEXT(pwrite)
  return next(file, from, bytes, offset);
}

static void lose_writes(void) {
  static char zeros[1 << 20];
  pthread_mutex_lock(&guard);
  for (size_t k = 0; k < unsynced_count; ++k) {
    if (next_random() % 2 == 0) continue;
    for (size_t done = 0; done < unsynced[k].bytes;) {
      const size_t left = unsynced[k].bytes - done;
      const ssize_t now = real_write(unsynced[k].file, zeros, left < sizeof zeros ? left : sizeof zeros,
                                     unsynced[k].offset + (off_t)done);
      if (now <= 0) break;
      done += (size_t)now;
    }
  }
}

static void change_file(int file, int is_shrink) {
  char path[64];
  struct stat about;
  snprintf(path, sizeof path, "/proc/self/fd/%d", file);
  if (fstat(file, &about) != 0) return;
  if (is_shrink) {
    if (truncate(path, about.st_size / 2) != 0) abort();
    return;
  }
  const int other = open(path, O_RDWR | O_CLOEXEC);
  char byte = 0;
  const off_t last = about.st_size - 1;
  if (other < 0 || lseek(other, last, SEEK_SET) != last || read(other, &byte, 1) != 1) abort();
  byte ^= 1;
  if (real_write(other, &byte, 1, last) != 1) abort();
  close(other);
}

// Counts the call, and does what the fault is. Returns 1 if the call fails with errno, 2 if it is short.
static int fault_in(enum call one, int file) {
  const long number = atomic_fetch_add(&counts[one], 1) + 1;
  if (one != fault_call || number < fault_first || number > fault_last) return 0;
  switch (fault_action) {
    case action_errno:
      errno = fault_errno;
      return 1;
    case action_short:
      return 2;
    case action_lost:
      lose_writes();
      raise(SIGKILL);
      return 0;
    case action_kill:
      raise(SIGKILL);
      return 0;
    case action_shrink:
    case action_change:
      change_file(file, fault_action == action_shrink);
      return 0;
    case action_none:
      return 0;
  }
  return 0;
}

static size_t shortened(size_t bytes) { return bytes < 2 ? bytes : 1 + next_random() % (bytes - 1); }

ssize_t pread(int file, void* to, size_t bytes, off_t offset) {
  NEXT(pread)
  int fault = 0;
  if ((fcntl(file, F_GETFL) & O_ACCMODE) == O_RDONLY) fault = fault_in(call_input, file);
  if (fault == 0) fault = fault_in(call_pread, file);
  if (fault == 1) return -1;
  return next(file, to, fault == 2 ? shortened(bytes) : bytes, offset);
}
#ifdef __GLIBC__
ssize_t pread64(int file, void* to, size_t bytes, off_t offset) { return pread(file, to, bytes, offset); }
#endif

ssize_t pwrite(int file, const void* from, size_t bytes, off_t offset) {
  const int fault = fault_in(call_pwrite, file);
  if (fault == 1) return -1;
  if (fault == 2) bytes = shortened(bytes);
  struct stat about;
  if (fault_action == action_lost && fstat(file, &about) == 0) {
    pthread_mutex_lock(&guard);
    if (unsynced_count == most_written) abort();
    unsynced[unsynced_count++] = (struct written){file, about.st_ino, offset, bytes};
    pthread_mutex_unlock(&guard);
  }
  if (has_clock) atomic_fetch_add(&ahead_seconds, 2);
  return real_write(file, from, bytes, offset);
}
#ifdef __GLIBC__
ssize_t pwrite64(int file, const void* from, size_t bytes, off_t offset) { return pwrite(file, from, bytes, offset); }
#endif

// The writes before the begin of the call are on the disk after it.
static int synced(int file, int (*next)(int)) {
  if (fault_in(call_sync, file) == 1) return -1;
  pthread_mutex_lock(&guard);
  const size_t before = unsynced_count;
  pthread_mutex_unlock(&guard);
  const int result = next(file);
  struct stat about;
  if (result == 0 && fstat(file, &about) == 0) {
    pthread_mutex_lock(&guard);
    for (size_t k = 0; k < before; ++k) {
      if (unsynced[k].number == about.st_ino) unsynced[k].bytes = 0;
    }
    pthread_mutex_unlock(&guard);
  }
  return result;
}
int fsync(int file) {
  NEXT(fsync)
  return synced(file, next);
}
int fdatasync(int file) {
  NEXT(fdatasync)
  return synced(file, next);
}

int fallocate(int file, int mode, off_t offset, off_t bytes) {
  NEXT(fallocate)
  return fault_in(call_fallocate, file) == 1 ? -1 : next(file, mode, offset, bytes);
}
#ifdef __GLIBC__
int fallocate64(int file, int mode, off_t offset, off_t bytes) { return fallocate(file, mode, offset, bytes); }
#endif

int openat(int folder, const char* name, int flags, ...) {
  NEXT(openat)
  va_list more;
  va_start(more, flags);
  const mode_t mode = va_arg(more, mode_t);
  va_end(more);
  return fault_in(call_openat, folder) == 1 ? -1 : next(folder, name, flags, mode);
}

int linkat(int from, const char* old, int to, const char* name, int flags) {
  NEXT(linkat)
  return fault_in(call_link, from) == 1 ? -1 : next(from, old, to, name, flags);
}

int renameat(int from, const char* old, int to, const char* name) {
  NEXT(renameat)
  return fault_in(call_rename, from) == 1 ? -1 : next(from, old, to, name);
}

long syscall(long number, ...) {
  NEXT(syscall)
  long word[6];
  va_list more;
  va_start(more, number);
  for (int k = 0; k < 6; ++k) word[k] = va_arg(more, long);
  va_end(more);
  if (number == SYS_renameat2 && fault_in(call_rename, -1) == 1) return -1;
  return next(number, word[0], word[1], word[2], word[3], word[4], word[5]);
}

int pthread_create(pthread_t* made, const pthread_attr_t* how, void* (*run)(void*), void* with) {
  NEXT(pthread_create)
  return fault_in(call_thread, -1) == 1 ? fault_errno : next(made, how, run, with);
}

int clock_gettime(clockid_t which, struct timespec* now) {
  NEXT(clock_gettime)
  const int result = next(which, now);
  if (result == 0 && which == CLOCK_MONOTONIC) now->tv_sec += atomic_load(&ahead_seconds);
  return result;
}

/* Functions of newer C libraries that the compiler's C++ headers and libstdc++.a call. A wheel also runs on glibc 2.28,
   which lacks them. The symbols are hidden, so other libraries of the process do not see them. */
#include <pthread.h>
#include <stdint.h>
#include <sys/random.h>
#include <time.h>

/* glibc 2.32. Zero means that the process may have several threads: libstdc++ then uses atomic reference counts. */
char __libc_single_threaded = 0;

/* glibc 2.36. libstdc++.a calls it for std::random_device. */
uint32_t arc4random(void) {
  uint32_t value = 0;
  while (getrandom(&value, sizeof value, 0) != (ssize_t)sizeof value) {
  }
  return value;
}

/* glibc 2.29 has these functions anew, without the error handling of SVID. The older ones are equal otherwise. */
#define OLDER(type, name, parameters, arguments)            \
  __asm__(".symver older_" #name "," #name "@GLIBC_2.2.5"); \
  type older_##name parameters;                             \
  type __wrap_##name parameters;                            \
  type __wrap_##name parameters { return older_##name arguments; }
OLDER(double, exp, (double x), (x))
OLDER(double, exp2, (double x), (x))
OLDER(double, log, (double x), (x))
OLDER(double, log2, (double x), (x))
OLDER(double, pow, (double x, double y), (x, y))

/* glibc 2.30. Converts the absolute time to CLOCK_REALTIME, the clock of a condition variable by default. If the system
   time changes during the call, the wait ends early or late; callers check their condition and their clock again. */
int pthread_cond_clockwait(pthread_cond_t* condition, pthread_mutex_t* mutex, clockid_t clock,
                           const struct timespec* until) {
  struct timespec now_there, now_here, end = *until;
  if (clock != CLOCK_REALTIME) {
    clock_gettime(clock, &now_there);
    clock_gettime(CLOCK_REALTIME, &now_here);
    end.tv_sec += now_here.tv_sec - now_there.tv_sec;
    end.tv_nsec += now_here.tv_nsec - now_there.tv_nsec;
    if (end.tv_nsec < 0) {
      end.tv_nsec += 1000000000;
      end.tv_sec -= 1;
    } else if (end.tv_nsec >= 1000000000) {
      end.tv_nsec -= 1000000000;
      end.tv_sec += 1;
    }
  }
  return pthread_cond_timedwait(condition, mutex, &end);
}

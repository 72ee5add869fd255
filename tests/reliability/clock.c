/* The wall clock of one process, moved while it runs: seconds read from the file that CLOCK_SHIFT names. Waiting (the monotonic clock) is left alone. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static const volatile long long *shift;

__attribute__((constructor)) static void map(void) {
    const char *path = getenv("CLOCK_SHIFT");
    int file = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    void *at = file < 0 ? MAP_FAILED : mmap(NULL, sizeof *shift, PROT_READ, MAP_SHARED, file, 0);
    if (at != MAP_FAILED) shift = at;
    if (file >= 0) close(file);
}

int clock_gettime(clockid_t which, struct timespec *now) {
    int done = (int)syscall(SYS_clock_gettime, which, now);
    if (!done && which == CLOCK_REALTIME && shift) now->tv_sec += *shift;
    return done;
}

int gettimeofday(struct timeval *restrict now, void *restrict zone) {
    struct timespec exact;
    int done = clock_gettime(CLOCK_REALTIME, &exact);
    (void)zone;
    if (!done && now) *now = (struct timeval){exact.tv_sec, exact.tv_nsec / 1000};
    return done;
}

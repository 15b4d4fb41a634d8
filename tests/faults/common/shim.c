// A library for LD_PRELOAD that stands between the service and its files and clocks.
//
// It numbers every operation that changes or syncs the files of one directory (FAULTS_DIR): create, write, sync,
// truncate, rename, unlink and allocate. On request, it also numbers each open. The experiment shares a page of memory
// (FAULTS_CONTROL) with the shim. The page gives an action and the number of the operation at which the shim takes the
// action: kill the process before, within or after the operation, or fail the operation with an error, alone or
// together with all later operations. With FAULTS_RECORD, the shim appends each successful change and sync to a file,
// from which the experiment rebuilds states that a disk could have after a power failure. Through the page, the
// experiment also shifts or stops the wall clock and shifts the monotonic clock.
//
// A lock serializes all operations, so the record has them in the order in which they happened.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

enum { CREATE = 1, WRITE, SYNC, TRUNCATE, RENAME, UNLINK, OPEN, ALLOCATE };
enum { NOTHING, KILL_BEFORE, KILL_WITHIN, KILL_AFTER, FAIL, FAIL_FROM };
enum { DESCRIPTORS = 65536, SECOND = 1000000000 };

// common/shim.py has the same members in the same order.
struct control {
    volatile int64_t count, action, at, error, kinds, injected;
    volatile int64_t wall_shift, wall_stands_at, monotonic_shift, is_shifting;
};

struct entry {
    uint32_t kind, path_bytes;
    int64_t inode, offset, bytes, number;
};

static struct control *control;
static const char *directory;
static size_t directory_bytes;
static int record = -1;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
// The inode of each open file below FAULTS_DIR, by descriptor. 0 stands for any other file.
static int64_t inodes[DESCRIPTORS];

#define REAL(name) \
    static __typeof__(&name) real; \
    if (!real) real = (__typeof__(&name))dlsym(RTLD_NEXT, #name)

__attribute__((constructor)) static void begin(void) {
    const char *path = getenv("FAULTS_CONTROL");
    if (!path) return;
    int file = syscall(SYS_openat, AT_FDCWD, path, O_RDWR | O_CLOEXEC);
    void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (file < 0 || page == MAP_FAILED) abort();
    control = page;
    directory = getenv("FAULTS_DIR");
    directory_bytes = directory ? strlen(directory) : 0;
    if (getenv("FAULTS_RECORD"))
        record = syscall(SYS_openat, AT_FDCWD, getenv("FAULTS_RECORD"), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
}

static int is_watched(const char *path) {
    if (!directory_bytes || !path || strncmp(path, directory, directory_bytes)) return 0;
    return path[directory_bytes] == '/' || path[directory_bytes] == 0;
}

static int64_t inode_of(int file) {
    return file >= 0 && file < DESCRIPTORS && control ? inodes[file] : 0;
}

static void die(void) {
    syscall(SYS_kill, syscall(SYS_getpid), SIGKILL);
    for (;;) pause();
}

// Begins an operation: takes the lock and numbers the operation. Returns 1 if the operation must fail; errno is then
// set and the lock is free.
static int enter(int kind) {
    pthread_mutex_lock(&lock);
    int is_numbered = kind != OPEN || control->kinds >> OPEN & 1;
    int64_t number = is_numbered ? ++control->count : control->count;
    int is_due = is_numbered && control->action && (control->kinds >> kind & 1);
    int is_here = is_due && (control->action == FAIL_FROM ? number >= control->at : number == control->at);
    if (is_here && control->action == KILL_BEFORE) die();
    if (is_here && control->action >= FAIL) {
        control->injected++;
        errno = control->error;
        pthread_mutex_unlock(&lock);
        return 1;
    }
    return 0;
}

static int is_within(int kind) {
    return control->action == KILL_WITHIN && control->count == control->at && (control->kinds >> kind & 1);
}

// Ends an operation: records it if it succeeded, and releases the lock.
static void leave(int kind, int64_t inode, const char *path, int64_t offset, const void *data, int64_t bytes, int ok) {
    int saved = errno;
    if (ok && record >= 0) {
        struct entry entry = {kind, path ? strlen(path) : 0, inode, offset, bytes, control->count};
        struct iovec parts[] = {{&entry, sizeof entry}, {(void *)path, entry.path_bytes}, {(void *)data, data ? bytes : 0}};
        size_t total = sizeof entry + parts[1].iov_len + parts[2].iov_len;
        if (syscall(SYS_writev, record, parts, 3) != (long)total) abort();
    }
    if (control->action == KILL_AFTER && control->count == control->at && (control->kinds >> kind & 1)) die();
    pthread_mutex_unlock(&lock);
    errno = saved;
}

static int opened(int at, const char *path, int flags, mode_t mode) {
    if (!control || !is_watched(path)) return syscall(SYS_openat, at, path, flags, mode);
    struct stat status;
    int is_new = (flags & O_CREAT) && stat(path, &status) != 0;
    int kind = is_new ? CREATE : flags & O_TRUNC ? TRUNCATE : OPEN;
    if (enter(kind)) return -1;
    int file = syscall(SYS_openat, at, path, flags, mode);
    int64_t inode = 0;
    if (file >= 0 && file < DESCRIPTORS && fstat(file, &status) == 0) inodes[file] = inode = status.st_ino;
    leave(kind, inode, path, 0, NULL, 0, file >= 0 && kind != OPEN);
    return file;
}

#define MODE(flags) \
    mode_t mode = 0; \
    if ((flags) & (O_CREAT | __O_TMPFILE)) { va_list rest; va_start(rest, flags); mode = va_arg(rest, mode_t); va_end(rest); }

int open(const char *path, int flags, ...) { MODE(flags); return opened(AT_FDCWD, path, flags, mode); }
int open64(const char *path, int flags, ...) { MODE(flags); return opened(AT_FDCWD, path, flags | O_LARGEFILE, mode); }
int openat(int at, const char *path, int flags, ...) { MODE(flags); return opened(at, path, flags, mode); }
int openat64(int at, const char *path, int flags, ...) { MODE(flags); return opened(at, path, flags | O_LARGEFILE, mode); }

int close(int file) {
    if (inode_of(file)) inodes[file] = 0;
    return syscall(SYS_close, file);
}

static ssize_t written(int file, const void *data, size_t bytes, off_t offset, int moves) {
    int64_t inode = inode_of(file);
    if (enter(WRITE)) return -1;
    if (moves) offset = lseek(file, 0, fcntl(file, F_GETFL) & O_APPEND ? SEEK_END : SEEK_CUR);
    if (is_within(WRITE)) {
        syscall(SYS_pwrite64, file, data, bytes / 2, offset);
        die();
    }
    ssize_t done = moves ? syscall(SYS_write, file, data, bytes) : syscall(SYS_pwrite64, file, data, bytes, offset);
    leave(WRITE, inode, NULL, offset, data, done, done > 0);
    return done;
}

ssize_t write(int file, const void *data, size_t bytes) {
    if (!inode_of(file)) return syscall(SYS_write, file, data, bytes);
    return written(file, data, bytes, 0, 1);
}

ssize_t pwrite64(int file, const void *data, size_t bytes, off64_t offset) {
    if (!inode_of(file)) return syscall(SYS_pwrite64, file, data, bytes, offset);
    return written(file, data, bytes, offset, 0);
}
ssize_t pwrite(int file, const void *data, size_t bytes, off_t offset) { return pwrite64(file, data, bytes, offset); }

// Writes each part separately, so that a kill can also happen between two parts.
ssize_t writev(int file, const struct iovec *parts, int count) {
    if (!inode_of(file)) return syscall(SYS_writev, file, parts, count);
    ssize_t total = 0;
    for (int nth = 0; nth < count; nth++) {
        ssize_t done = written(file, parts[nth].iov_base, parts[nth].iov_len, 0, 1);
        if (done < 0) return total ? total : -1;
        total += done;
        if ((size_t)done < parts[nth].iov_len) break;
    }
    return total;
}

// While a directory is watched, `copy_file_range` fails, and `sendfile` fails for a watched target. The caller then
// copies with read and write, and the shim numbers each write.
ssize_t copy_file_range(int from, off64_t *at, int to, off64_t *to_at, size_t bytes, unsigned flags) {
    if (control && directory_bytes) { errno = ENOSYS; return -1; }
    return syscall(SYS_copy_file_range, from, at, to, to_at, bytes, flags);
}
ssize_t sendfile64(int to, int from, off64_t *at, size_t bytes) {
    if (inode_of(to)) { errno = EINVAL; return -1; }
    return syscall(SYS_sendfile, to, from, at, bytes);
}
ssize_t sendfile(int to, int from, off_t *at, size_t bytes) { return sendfile64(to, from, at, bytes); }

static int synced(int file, long call) {
    if (!inode_of(file)) return syscall(call, file);
    if (enter(SYNC)) return -1;
    int result = syscall(call, file);
    leave(SYNC, inode_of(file), NULL, 0, NULL, 0, result == 0);
    return result;
}
int fsync(int file) { return synced(file, SYS_fsync); }
int fdatasync(int file) { return synced(file, SYS_fdatasync); }

int ftruncate64(int file, off64_t bytes) {
    if (!inode_of(file)) return syscall(SYS_ftruncate, file, bytes);
    if (enter(TRUNCATE)) return -1;
    int result = syscall(SYS_ftruncate, file, bytes);
    leave(TRUNCATE, inode_of(file), NULL, bytes, NULL, 0, result == 0);
    return result;
}
int ftruncate(int file, off_t bytes) { return ftruncate64(file, bytes); }

int fallocate64(int file, int mode, off64_t offset, off64_t bytes) {
    if (!inode_of(file)) return syscall(SYS_fallocate, file, mode, offset, bytes);
    if (enter(ALLOCATE)) return -1;
    int result = syscall(SYS_fallocate, file, mode, offset, bytes);
    leave(ALLOCATE, inode_of(file), NULL, offset, NULL, bytes, result == 0);
    return result;
}
int fallocate(int file, int mode, off_t offset, off_t bytes) { return fallocate64(file, mode, offset, bytes); }
int posix_fallocate64(int file, off64_t offset, off64_t bytes) { return fallocate64(file, 0, offset, bytes) ? errno : 0; }
int posix_fallocate(int file, off_t offset, off_t bytes) { return fallocate64(file, 0, offset, bytes) ? errno : 0; }

int rename(const char *from, const char *to) {
    if (!control || !is_watched(to)) return syscall(SYS_rename, from, to);
    if (enter(RENAME)) return -1;
    char both[8192];
    snprintf(both, sizeof both, "%s\n%s", from, to);
    int result = syscall(SYS_rename, from, to);
    leave(RENAME, 0, both, 0, NULL, 0, result == 0);
    return result;
}

int link(const char *from, const char *to) {
    if (!control || !is_watched(to)) return syscall(SYS_link, from, to);
    struct stat status;
    if (enter(CREATE)) return -1;
    int result = syscall(SYS_link, from, to);
    leave(CREATE, stat(to, &status) ? 0 : (int64_t)status.st_ino, to, 0, NULL, 0, result == 0);
    return result;
}

int unlink(const char *path) {
    if (!control || !is_watched(path)) return syscall(SYS_unlink, path);
    if (enter(UNLINK)) return -1;
    int result = syscall(SYS_unlink, path);
    leave(UNLINK, 0, path, 0, NULL, 0, result == 0);
    return result;
}

static struct timespec shifted(struct timespec time, int64_t by) {
    int64_t total = time.tv_sec * (int64_t)SECOND + time.tv_nsec + by;
    return (struct timespec){total / SECOND, total % SECOND};
}

int clock_gettime(clockid_t clock, struct timespec *time) {
    REAL(clock_gettime);
    int result = real(clock, time);
    if (result || !control) return result;
    if (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE) {
        int64_t stands = control->wall_stands_at;
        *time = stands ? shifted((struct timespec){0, 0}, stands) : shifted(*time, control->wall_shift);
    } else if (clock == CLOCK_MONOTONIC || clock == CLOCK_MONOTONIC_COARSE || clock == CLOCK_BOOTTIME) {
        *time = shifted(*time, control->monotonic_shift);
    }
    return result;
}

// Converts the deadline of a wait from the shifted to the real monotonic clock, which is the only one that the kernel
// knows. While the experiment shifts the clocks, long waits are cut into slices of 0.1 s. At the end of a slice, the
// call fails with EINTR, and the caller waits again, with the new shift.
long syscall(long number, ...) {
    REAL(syscall);
    va_list rest;
    va_start(rest, number);
    long a = va_arg(rest, long), b = va_arg(rest, long), c = va_arg(rest, long), d = va_arg(rest, long);
    long e = va_arg(rest, long), f = va_arg(rest, long);
    va_end(rest);
    int is_wait = number == SYS_futex && control && (b & 127) == FUTEX_WAIT_BITSET && !(b & FUTEX_CLOCK_REALTIME);
    if (!is_wait || !d || !control->is_shifting) return real(number, a, b, c, d, e, f);
    struct timespec now, until = shifted(*(struct timespec *)d, -control->monotonic_shift);
    real(SYS_clock_gettime, CLOCK_MONOTONIC, &now);
    struct timespec slice = shifted(now, SECOND / 10);
    if (until.tv_sec < now.tv_sec) until = now;
    int is_cut = until.tv_sec > slice.tv_sec || (until.tv_sec == slice.tv_sec && until.tv_nsec > slice.tv_nsec);
    long result = real(number, a, b, c, is_cut ? &slice : &until, e, f);
    if (is_cut && result < 0 && errno == ETIMEDOUT) errno = EINTR;
    return result;
}

int epoll_wait(int file, struct epoll_event *events, int count, int milliseconds) {
    int is_cut = control && control->is_shifting && (milliseconds < 0 || milliseconds > 100);
    return syscall(SYS_epoll_wait, file, events, count, is_cut ? 100 : milliseconds);
}

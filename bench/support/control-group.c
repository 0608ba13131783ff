// Stands in for a control group of version 2 with limits, for a program that is started with this library: Murmur runs no command without one, and not every
// machine can give it one. Nothing is limited, and a process is put into it at no cost, so that a command takes less time than with a real one.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdarg.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

static const char root[] = "/sys/fs/cgroup/";
static const char controllers[] = "cpu memory pids\n";

static int is_in(const char *path) { return strncmp(path, root, sizeof root - 1) == 0; }

static int opened(const char *name, const char *path, int flags, mode_t mode) {
  int (*next)(const char *, int, ...) = (int (*)(const char *, int, ...))dlsym(RTLD_NEXT, name);
  if (!is_in(path) || (flags & O_DIRECTORY) != 0) return next(path, flags, mode);
  if (strstr(path, "/cgroup.controllers") == NULL && strstr(path, "/cgroup.subtree_control") == NULL)
    return next("/dev/null", flags & ~(O_CREAT | O_EXCL), mode);
  int file = memfd_create("controllers", MFD_CLOEXEC);
  if (file >= 0 && (write(file, controllers, sizeof controllers - 1) < 0 || lseek(file, 0, SEEK_SET) < 0)) return -1;
  return file;
}

int open(const char *path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  mode_t mode = va_arg(rest, mode_t);
  va_end(rest);
  return opened("open", path, flags, mode);
}

int open64(const char *path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  mode_t mode = va_arg(rest, mode_t);
  va_end(rest);
  return opened("open64", path, flags, mode);
}

int mkdir(const char *path, mode_t mode) {
  int (*next)(const char *, mode_t) = (int (*)(const char *, mode_t))dlsym(RTLD_NEXT, "mkdir");
  return is_in(path) ? 0 : next(path, mode);
}

int rmdir(const char *path) {
  int (*next)(const char *) = (int (*)(const char *))dlsym(RTLD_NEXT, "rmdir");
  return is_in(path) ? 0 : next(path);
}

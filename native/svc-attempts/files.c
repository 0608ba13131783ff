/* Attempts on files outside the workdir. */
#define _GNU_SOURCE
#include "attempts.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

int holds(int descriptor, const char *secret) {
  char found[256];
  if (descriptor < 0) return -1;
  ssize_t size = read(descriptor, found, sizeof found);
  int error = errno;
  close(descriptor);
  errno = size < 0 ? error : ENODATA;
  size_t length = strlen(secret);
  return size >= 0 && (size_t)size >= length && memcmp(found, secret, length) == 0 ? 0 : -1;
}

void write_file(const char *path, const void *bytes, size_t size, unsigned mode) {
  int file = open(path, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, mode);
  if (file < 0 || write(file, bytes, size) != (ssize_t)size || close(file) != 0) not_prepared(path);
}

void copy_file(const char *from, const char *to) {
  char bytes[65536];
  int source = open(from, O_RDONLY | O_CLOEXEC), target = open(to, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0755);
  if (source < 0 || target < 0) not_prepared(to);
  for (ssize_t size = 1; size > 0;) {
    size = read(source, bytes, sizeof bytes);
    if (size < 0 || write(target, bytes, (size_t)size) != size) not_prepared(to);
  }
  if (close(source) != 0 || close(target) != 0) not_prepared(to);
}

static int opens_secret(const char *path, const char *secret) { return holds(open(path, O_RDONLY | O_CLOEXEC), secret); }

static int read_file(char *const *operands) { return opens_secret(operands[0], operands[1]); }

static int list_directory(char *const *operands) {
  DIR *directory = opendir(operands[0]);
  if (directory == NULL) return -1;
  for (const struct dirent *entry = readdir(directory); entry != NULL; entry = readdir(directory))
    if (strcmp(entry->d_name, operands[1]) == 0) return 0;
  errno = ENODATA;
  return -1;
}

static int stat_file(char *const *operands) {
  struct stat found;
  return stat(operands[0], &found);
}

/* A change of a file's times is an event of its directory with the file's name. */
static int watch_directory(char *const *operands) {
  union {
    struct inotify_event event;
    char bytes[4096];
  } seen;
  char path[4096];
  int events = inotify_init1(IN_CLOEXEC);
  if (events < 0 || inotify_add_watch(events, operands[0], IN_ATTRIB) < 0) return -1;
  snprintf(path, sizeof path, "%s/%s", operands[0], operands[1]);
  if (utimensat(AT_FDCWD, path, NULL, 0) != 0) return -1;
  struct pollfd wait = {.fd = events, .events = POLLIN, .revents = 0};
  errno = ENODATA;
  if (poll(&wait, 1, 2000) != 1 || read(events, &seen, sizeof seen) <= 0) return -1;
  return strcmp(seen.event.name, operands[1]) == 0 ? 0 : -1;
}

static int append(char *const *operands) {
  int file = open(operands[0], O_WRONLY | O_APPEND | O_CLOEXEC);
  return file < 0 || write(file, "more", 4) != 4 ? -1 : 0;
}

static int empty(char *const *operands) { return truncate(operands[0], 0); }

static int create(char *const *operands) { return open(operands[0], O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600) < 0 ? -1 : 0; }

static int remove_file(char *const *operands) { return unlink(operands[0]); }

static int change_mode(char *const *operands) {
  struct stat found;
  if (chmod(operands[0], 0604) != 0 || stat(operands[0], &found) != 0) return -1;
  errno = ENODATA;
  return (found.st_mode & 0777) == 0604 ? 0 : -1;
}

static int change_times(char *const *operands) {
  const struct timespec long_ago[2] = {{.tv_sec = 1000000000, .tv_nsec = 0}, {.tv_sec = 1000000000, .tv_nsec = 0}};
  struct stat found;
  if (utimensat(AT_FDCWD, operands[0], long_ago, 0) != 0 || stat(operands[0], &found) != 0) return -1;
  errno = ENODATA;
  return found.st_mtime == 1000000000 ? 0 : -1;
}

static int set_attribute(char *const *operands) {
  char value[8];
  if (setxattr(operands[0], "user.svc", "set", 3, 0) != 0) return -1;
  errno = ENODATA;
  return getxattr(operands[0], "user.svc", value, sizeof value) == 3 ? 0 : -1;
}

static int enter_directory(char *const *operands) { return chdir(operands[0]); }

static int read_through_symlink(char *const *operands) {
  if (symlink(operands[0], "planted") != 0) not_prepared("planted");
  return opens_secret("planted", operands[1]);
}

static int hard_link_inward(char *const *operands) {
  return link(operands[0], "linked") != 0 ? -1 : opens_secret("linked", operands[1]);
}

static int rename_outward(char *const *operands) {
  write_file("mine", "mine", 4, 0600);
  return rename("mine", operands[0]);
}

static int rename_inward(char *const *operands) {
  return rename(operands[0], "taken") != 0 ? -1 : opens_secret("taken", operands[1]);
}

/* The host's null device by another name. */
static int make_device(char *const *operands) {
  (void)operands;
  return mknod("device", S_IFCHR | 0600, makedev(1, 3));
}

/* The one device that needs no privilege: it hides a file of a lower layer. */
static int make_whiteout(char *const *operands) {
  (void)operands;
  return mknod("whiteout", S_IFCHR, makedev(0, 0));
}

/* Opened, and nothing written. */
static int open_for_writing(char *const *operands) { return open(operands[0], O_WRONLY | O_CLOEXEC) < 0 ? -1 : 0; }

/* To the mode that it has: nothing changes where this is let. */
static int change_mode_to_same(char *const *operands) {
  struct stat found;
  if (stat(operands[0], &found) != 0) return -1;
  return chmod(operands[0], found.st_mode & 07777);
}

const struct attempt file_attempts[] = {
  {"read", 2, read_file},
  {"list", 2, list_directory},
  {"stat", 1, stat_file},
  {"watch", 2, watch_directory},
  {"append", 1, append},
  {"truncate", 1, empty},
  {"create", 1, create},
  {"remove", 1, remove_file},
  {"chmod", 1, change_mode},
  {"utimes", 1, change_times},
  {"setxattr", 1, set_attribute},
  {"chdir", 1, enter_directory},
  {"read-through-symlink", 2, read_through_symlink},
  {"hard-link-inward", 2, hard_link_inward},
  {"rename-outward", 1, rename_outward},
  {"rename-inward", 2, rename_inward},
  {"make-device", 0, make_device},
  {"make-whiteout", 0, make_whiteout},
  {"open-for-writing", 1, open_for_writing},
  {"chmod-to-same", 1, change_mode_to_same},
  {NULL, 0, NULL},
};

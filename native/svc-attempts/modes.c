/* Every call that can give a file in the workdir a set-id bit, or capabilities. */
#define _GNU_SOURCE
#include "attempts.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/xattr.h>
#include <unistd.h>

enum { number_openat2 = 437, number_fchmodat2 = 452 };

static const char path[] = "file";

/* A call that should have made the file with the bit, or given it one. */
static int has_bit(long result, unsigned bit) {
  struct stat found;
  if (result < 0 || stat(path, &found) != 0) return -1;
  errno = ENODATA;
  return (found.st_mode & bit) != 0 ? 0 : -1;
}

static void plain_file(void) { write_file(path, "", 0, 0755); }

/* Calls that newer architectures never had. */
#ifdef SYS_open
static int by_open(char *const *operands) {
  (void)operands;
  return has_bit(syscall(SYS_open, path, O_CREAT | O_WRONLY, 04755), S_ISUID);
}

static int by_creat(char *const *operands) {
  (void)operands;
  return has_bit(syscall(SYS_creat, path, 04755), S_ISUID);
}

static int by_mknod(char *const *operands) {
  (void)operands;
  return has_bit(syscall(SYS_mknod, path, S_IFREG | 04755, 0), S_ISUID);
}

static int by_chmod(char *const *operands) {
  (void)operands;
  plain_file();
  return has_bit(syscall(SYS_chmod, path, 04755), S_ISUID);
}
#endif

static int by_openat(char *const *operands) {
  (void)operands;
  return has_bit(syscall(SYS_openat, AT_FDCWD, path, O_CREAT | O_WRONLY, 04755), S_ISUID);
}

static int by_openat2(char *const *operands) {
  (void)operands;
  const uint64_t how[3] = {O_CREAT | O_WRONLY, 04755, 0};
  return has_bit(syscall(number_openat2, AT_FDCWD, path, how, sizeof how), S_ISUID);
}

static int by_mknodat(char *const *operands) {
  (void)operands;
  return has_bit(syscall(SYS_mknodat, AT_FDCWD, path, S_IFREG | 04755, 0), S_ISUID);
}

static int by_unnamed_file(char *const *operands) {
  (void)operands;
  struct stat found;
  long file = syscall(SYS_openat, AT_FDCWD, ".", O_TMPFILE | O_WRONLY, 04755);
  if (file < 0 || fstat((int)file, &found) != 0) return -1;
  errno = ENODATA;
  return (found.st_mode & S_ISUID) != 0 ? 0 : -1;
}

static int by_fchmod(char *const *operands) {
  (void)operands;
  plain_file();
  return has_bit(fchmod(open(path, O_RDONLY | O_CLOEXEC), 04755), S_ISUID);
}

static int by_fchmodat(char *const *operands) {
  (void)operands;
  plain_file();
  return has_bit(syscall(SYS_fchmodat, AT_FDCWD, path, 04755), S_ISUID);
}

static int by_fchmodat2(char *const *operands) {
  (void)operands;
  plain_file();
  return has_bit(syscall(number_fchmodat2, AT_FDCWD, path, 04755, 0), S_ISUID);
}

static int set_group(char *const *operands) {
  (void)operands;
  plain_file();
  return has_bit(syscall(SYS_fchmodat, AT_FDCWD, path, 02755), S_ISGID);
}

/* What lets a file change any file, in the form that the kernel keeps. */
static int set_capabilities(char *const *operands) {
  (void)operands;
  const uint32_t capabilities[5] = {0x02000001, 1u << 1, 0, 0, 0};
  char found[32];
  plain_file();
  if (setxattr(path, "security.capability", capabilities, sizeof capabilities, 0) != 0) return -1;
  return getxattr(path, "security.capability", found, sizeof found) < 0 ? -1 : 0;
}

const struct attempt mode_attempts[] = {
#ifdef SYS_open
  {"setuid-by-open", 0, by_open},
  {"setuid-by-creat", 0, by_creat},
  {"setuid-by-mknod", 0, by_mknod},
  {"setuid-by-chmod", 0, by_chmod},
#endif
  {"setuid-by-openat", 0, by_openat},
  {"setuid-by-openat2", 0, by_openat2},
  {"setuid-by-mknodat", 0, by_mknodat},
  {"setuid-by-unnamed-file", 0, by_unnamed_file},
  {"setuid-by-fchmod", 0, by_fchmod},
  {"setuid-by-fchmodat", 0, by_fchmodat},
  {"setuid-by-fchmodat2", 0, by_fchmodat2},
  {"setgid", 0, set_group},
  {"file-capabilities", 0, set_capabilities},
  {NULL, 0, NULL},
};

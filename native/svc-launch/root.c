#define _GNU_SOURCE
#include "root.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "kernel.h"
#include "report.h"

static const char stage[] = "root";

/* A name in the new root, wherever links in it point: nothing leads out, and nothing through a process's own files. */
static int open_in_root(int root, const char *path, uint64_t flags) {
  const struct open_how how = {.flags = O_PATH | O_CLOEXEC | flags, .resolve = resolve_in_root | resolve_no_magiclinks};
  return kernel_openat2(root, path, &how);
}

static int open_directory(int root, const char *path) {
  const int directory = open_in_root(root, path, O_DIRECTORY);
  if (directory < 0) fail(stage, path);
  return directory;
}

/* Opens a directory of the new root, making what is missing of it. `path` is as the parser let it through, or empty. */
static int make_directories(int root, const char *path) {
  const char *whole = *path == '\0' ? "/" : path;
  const int there = open_in_root(root, whole, O_DIRECTORY);
  if (there >= 0) return there;
  if (errno != ENOENT) fail(stage, path);
  char sofar[plan_max_path + 1];
  int directory = open_directory(root, "/");
  for (const char *slash = path; *slash == '/';) {
    const size_t length = (size_t)(slash - path) + 1 + strcspn(slash + 1, "/");
    snprintf(sofar, sizeof sofar, "%.*s", (int)length, path);
    if (mkdirat(directory, strrchr(sofar, '/') + 1, 0755) != 0 && errno != EEXIST) fail(stage, sofar);
    close(directory);
    directory = open_directory(root, sofar);
    slash = path + length;
  }
  return directory;
}

/* Opens the directory that holds, or is to hold, the last part of a target. */
static int make_parent(int root, const char *target) {
  char parent[plan_max_path + 1];
  const size_t length = (size_t)(strrchr(target, '/') - target);
  snprintf(parent, sizeof parent, "%.*s", (int)length, target);
  return make_directories(root, parent);
}

static const char *last_part(const char *target) {
  return strrchr(target, '/') + 1;
}

/* Opens what a mount is to cover, which may have to be made first. */
static int make_target(int root, const char *target, bool is_directory) {
  if (is_directory) return make_directories(root, target);
  const int there = open_in_root(root, target, 0);
  if (there >= 0) return there;
  if (errno != ENOENT) fail(stage, target);
  const int parent = make_parent(root, target);
  if (mknodat(parent, last_part(target), S_IFREG | 0444, 0) != 0) fail(stage, target);
  close(parent);
  const int made = open_in_root(root, target, 0);
  if (made < 0) fail(stage, target);
  return made;
}

static void attach(int root, int mount, const char *target) {
  struct stat mounted;
  if (fstat(mount, &mounted) != 0) fail(stage, target);
  const int place = make_target(root, target, S_ISDIR(mounted.st_mode));
  const unsigned flags = move_mount_from_empty_path | move_mount_to_empty_path;
  if (syscall(number_move_mount, mount, "", place, "", flags) != 0) fail(stage, target);
  close(place);
  close(mount);
}

static void set_option(int context, const char *key, const char *value, const char *target) {
  if (syscall(number_fsconfig, context, fsconfig_set_string, key, value, 0) != 0) fail(stage, target);
}

static int finish_filesystem(int context, uint64_t attributes, const char *target) {
  if (syscall(number_fsconfig, context, fsconfig_create, NULL, NULL, 0) != 0) fail(stage, target);
  const int mount = (int)syscall(number_fsmount, context, fsmount_cloexec, attributes);
  if (mount < 0) fail(stage, target);
  close(context);
  return mount;
}

static int open_filesystem(const char *type, const char *target) {
  const int context = (int)syscall(number_fsopen, type, fsopen_cloexec);
  if (context < 0) fail(stage, target);
  return context;
}

static int mount_memory(const struct root_step *step, const char *mode) {
  char number[24];
  const int context = open_filesystem("tmpfs", step->target);
  snprintf(number, sizeof number, "%llu", (unsigned long long)step->bytes);
  set_option(context, "size", number, step->target);
  /* Files without content take memory too, which `size` does not count. */
  const unsigned long long files = step->bytes / 4096;
  snprintf(number, sizeof number, "%llu", files < 1024 ? 1024 : files);
  set_option(context, "nr_inodes", number, step->target);
  set_option(context, "mode", mode, step->target);
  return finish_filesystem(context, step->attributes, step->target);
}

static int mount_proc(const struct root_step *step) {
  const int context = open_filesystem("proc", step->target);
  set_option(context, "subset", "pid", step->target);
  return finish_filesystem(context, step->attributes, step->target);
}

static int clone_source(const struct root_step *step) {
  /* What a link on the way leads to could be another's choice by the time it is followed. */
  const struct open_how how = {.flags = O_PATH | O_CLOEXEC, .resolve = resolve_no_symlinks | resolve_no_magiclinks};
  const int source = kernel_openat2(AT_FDCWD, step->source, &how);
  if (source < 0) fail(stage, step->source);
  const unsigned flags = open_tree_clone | O_CLOEXEC | at_empty_path | at_recursive;
  const int tree = (int)syscall(number_open_tree, source, "", flags);
  if (tree < 0) fail(stage, step->source);
  close(source);
  const struct mount_attributes attributes = {.set = step->attributes, .propagation = MS_PRIVATE};
  if (kernel_mount_setattr(tree, at_recursive, &attributes) != 0) fail(stage, step->source);
  return tree;
}

static void make_symlink(int root, const struct root_step *step) {
  const int parent = make_parent(root, step->target);
  if (symlinkat(step->source, parent, last_part(step->target)) != 0) fail(stage, step->target);
  close(parent);
}

static void carry_out(int root, const struct root_step *step, int tree) {
  switch (step->kind) {
    case step_bind: attach(root, tree, step->target); return;
    case step_tmpfs: attach(root, mount_memory(step, "0755"), step->target); return;
    case step_tmp: attach(root, mount_memory(step, "1777"), step->target); return;
    case step_proc: attach(root, mount_proc(step), step->target); return;
    case step_directory: close(make_directories(root, step->target)); return;
    case step_symlink: make_symlink(root, step); return;
  }
}

/* The empty file system that becomes the root: small, for it holds names only. */
static int mount_empty_root(void) {
  const struct root_step empty = {.kind = step_tmpfs,
                                  .attributes = mount_attribute_nosuid | mount_attribute_nodev,
                                  .bytes = UINT64_C(64) << 20,
                                  .target = "/"};
  const int root = mount_memory(&empty, "0755");
  /* A root must be attached somewhere before it can be pivoted to; every system has this place. */
  if (syscall(number_move_mount, root, "", AT_FDCWD, "/", move_mount_from_empty_path) != 0) fail(stage, "attaching");
  return root;
}

static void switch_to(int root) {
  if (fchdir(root) != 0) fail(stage, "entering");
  /* With both names the same, the old root comes to lie on the new one, and is taken off from there. */
  if (syscall(SYS_pivot_root, ".", ".") != 0) fail(stage, "pivot_root");
  if (umount2(".", MNT_DETACH) != 0) fail(stage, "detaching the old root");
  if (chdir("/") != 0) fail(stage, "entering");
  const struct mount_attributes attributes = {.set = mount_attribute_read_only};
  if (kernel_mount_setattr(root, 0, &attributes) != 0) fail(stage, "making it read-only");
  close(root);
}

/* Every source is held open at once. The program must not inherit the higher limit that takes. */
static struct rlimit allow_open_files(void) {
  struct rlimit before;
  if (getrlimit(RLIMIT_NOFILE, &before) != 0) fail(stage, "open files");
  const struct rlimit most = {.rlim_cur = before.rlim_max, .rlim_max = before.rlim_max};
  if (setrlimit(RLIMIT_NOFILE, &most) != 0) fail(stage, "open files");
  return before;
}

void compose_root(const struct plan *plan) {
  static int trees[plan_max_steps];
  if (plan->step_count == 0) return;
  const struct rlimit open_files = allow_open_files();
  const mode_t mask = umask(0);
  /* Nothing that is mounted from here on may show on the host. */
  if (mount(NULL, "/", NULL, MS_REC | MS_SLAVE, NULL) != 0) fail(stage, "propagation");
  for (size_t at = 0; at < plan->step_count; at++)
    if (plan->steps[at].kind == step_bind) trees[at] = clone_source(&plan->steps[at]);
  const int root = mount_empty_root();
  for (size_t at = 0; at < plan->step_count; at++) carry_out(root, &plan->steps[at], trees[at]);
  switch_to(root);
  umask(mask);
  if (setrlimit(RLIMIT_NOFILE, &open_files) != 0) fail(stage, "open files");
}

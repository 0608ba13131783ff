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

/* A directory of the new root, by the target that it was opened for. */
struct parent {
  int directory; /* -1 is none */
  const char *target;
  size_t length;
};

static void leave(struct parent *parent) {
  if (parent->directory >= 0) close(parent->directory);
  parent->directory = -1;
}

/* Opens the directory that holds, or is to hold, the last part of a target. Targets are sorted: it is often the last one's too. */
static int enter_parent(int root, struct parent *parent, const char *target) {
  char path[plan_max_path + 1];
  const size_t length = (size_t)(strrchr(target, '/') - target);
  if (parent->directory >= 0 && parent->length == length && strncmp(parent->target, target, length) == 0)
    return parent->directory;
  leave(parent);
  snprintf(path, sizeof path, "%.*s", (int)length, target);
  *parent = (struct parent){.directory = make_directories(root, path), .target = target, .length = length};
  return parent->directory;
}

static const char *last_part(const char *target) {
  return strrchr(target, '/') + 1;
}

/* Makes what a mount is to cover; false when something is there already. */
static bool make_target(int parent, const char *target, bool is_directory) {
  const char *name = last_part(target);
  const int result = is_directory ? mkdirat(parent, name, 0755) : mknodat(parent, name, S_IFREG | 0444, 0);
  if (result != 0 && errno != EEXIST) fail(stage, target);
  return result == 0;
}

/* What was there is followed inside the root, should it be a link; what was made is covered by its name, which follows none. */
static void attach(int root, struct parent *last, int mount, const char *target) {
  struct stat mounted;
  if (fstat(mount, &mounted) != 0) fail(stage, target);
  const bool is_directory = S_ISDIR(mounted.st_mode);
  const bool is_root = target[1] == '\0';
  const int parent = is_root ? -1 : enter_parent(root, last, target);
  if (!is_root && make_target(parent, target, is_directory)) {
    const char *name = last_part(target);
    if (syscall(number_move_mount, mount, "", parent, name, move_mount_from_empty_path) != 0) fail(stage, target);
  } else {
    const int place = open_in_root(root, target, is_directory ? O_DIRECTORY : 0);
    const unsigned flags = move_mount_from_empty_path | move_mount_to_empty_path;
    if (place < 0 || syscall(number_move_mount, mount, "", place, "", flags) != 0) fail(stage, target);
    close(place);
    /* A link may have led to the directory itself, and what follows belongs into what covers it now. */
    leave(last);
  }
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

/* What cannot be mapped is only then of use unmapped when nothing is written to it: it shows as somebody else's. */
static bool may_stay_unmapped(const struct root_step *step) {
  return (step->attributes & mount_attribute_mapped) != 0 && (step->attributes & mount_attribute_read_only) != 0;
}

static int clone_source(const struct root_step *step, int mounts) {
  /* What a link on the way leads to could be another's choice by the time it is followed. */
  const struct open_how how = {.flags = O_PATH | O_CLOEXEC, .resolve = resolve_no_symlinks | resolve_no_magiclinks};
  const int source = kernel_openat2(AT_FDCWD, step->source, &how);
  if (source < 0) fail(stage, step->source);
  const unsigned flags = open_tree_clone | O_CLOEXEC | at_empty_path | at_recursive;
  const int tree = (int)syscall(number_open_tree, source, "", flags);
  if (tree < 0) fail(stage, step->source);
  close(source);
  struct mount_attributes attributes = {.set = step->attributes, .propagation = MS_PRIVATE};
  if ((step->attributes & mount_attribute_mapped) != 0) attributes.user_namespace = (uint64_t)mounts;
  int result = kernel_mount_setattr(tree, at_recursive, &attributes);
  if (result != 0 && may_stay_unmapped(step)) {
    attributes.set &= ~(uint64_t)mount_attribute_mapped;
    attributes.user_namespace = 0;
    result = kernel_mount_setattr(tree, at_recursive, &attributes);
  }
  if (result != 0) fail(stage, step->source);
  return tree;
}

static void make_symlink(int root, struct parent *last, const struct root_step *step) {
  const int parent = enter_parent(root, last, step->target);
  if (symlinkat(step->source, parent, last_part(step->target)) != 0) fail(stage, step->target);
}

static void carry_out(int root, struct parent *last, const struct root_step *step, int tree) {
  switch (step->kind) {
    case step_bind: attach(root, last, tree, step->target); return;
    case step_tmpfs: attach(root, last, mount_memory(step, "0755"), step->target); return;
    case step_tmp: attach(root, last, mount_memory(step, "1777"), step->target); return;
    case step_proc: attach(root, last, mount_proc(step), step->target); return;
    case step_directory: close(make_directories(root, step->target)); return;
    case step_symlink: make_symlink(root, last, step); return;
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

static int trees[plan_max_steps];
static bool has_sources = false;
static struct rlimit open_files;

void open_sources(const struct plan *plan, int mounts) {
  open_files = allow_open_files();
  has_sources = true;
  for (size_t at = 0; at < plan->step_count; at++)
    if (plan->steps[at].kind == step_bind) trees[at] = clone_source(&plan->steps[at], mounts);
}

void compose_root(const struct plan *plan) {
  if (plan->step_count == 0) return;
  const mode_t mask = umask(0);
  /* Nothing that is mounted from here on may show on the host. */
  if (mount(NULL, "/", NULL, MS_REC | MS_SLAVE, NULL) != 0) fail(stage, "propagation");
  if (!has_sources) open_sources(plan, -1);
  const int root = mount_empty_root();
  struct parent last = {.directory = -1};
  for (size_t at = 0; at < plan->step_count; at++) carry_out(root, &last, &plan->steps[at], trees[at]);
  leave(&last);
  switch_to(root);
  umask(mask);
  if (setrlimit(RLIMIT_NOFILE, &open_files) != 0) fail(stage, "open files");
}

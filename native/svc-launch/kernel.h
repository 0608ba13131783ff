/* The kernel interface that C libraries and headers of the oldest supported system do not know. Numbers, flags and
 * structures are the kernel's, stated here so that the helper is the same whatever it is compiled on. */
#ifndef SVC_LAUNCH_KERNEL_H
#define SVC_LAUNCH_KERNEL_H

#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

#if !defined(__x86_64__) && !defined(__aarch64__)
#error "svc-launch knows x86_64 and aarch64"
#endif

/* Since 424, a call has the same number on every architecture. */
enum {
  number_open_tree = 428,
  number_move_mount = 429,
  number_fsopen = 430,
  number_fsconfig = 431,
  number_fsmount = 432,
  number_close_range = 436,
  number_openat2 = 437,
  number_mount_setattr = 442,
  number_landlock_create_ruleset = 444,
  number_landlock_add_rule = 445,
  number_landlock_restrict_self = 446
};

enum { at_empty_path = 0x1000, at_recursive = 0x8000 };
enum { open_tree_clone = 1 };
enum { move_mount_from_empty_path = 0x4, move_mount_to_empty_path = 0x40 };
enum { fsopen_cloexec = 1, fsmount_cloexec = 1 };
enum { fsconfig_set_string = 1, fsconfig_create = 6 };
enum { close_range_cloexec = 4 };
enum { resolve_no_magiclinks = 0x2, resolve_no_symlinks = 0x4, resolve_in_root = 0x10 };
enum {
  mount_attribute_read_only = 0x1,
  mount_attribute_nosuid = 0x2,
  mount_attribute_nodev = 0x4,
  mount_attribute_noexec = 0x8,
  mount_attribute_mapped = 0x100000, /* MOUNT_ATTR_IDMAP */
  mount_attribute_nosymfollow = 0x200000
};
enum { landlock_rule_path_beneath = 1, landlock_rule_net_port = 2 };

struct open_how {
  uint64_t flags;
  uint64_t mode;
  uint64_t resolve;
};

struct mount_attributes {
  uint64_t set;
  uint64_t clear;
  uint64_t propagation;
  uint64_t user_namespace;
};

struct landlock_handled {
  uint64_t filesystem;
  uint64_t network;
  uint64_t scope;
};

struct __attribute__((packed)) landlock_path_rule {
  uint64_t rights;
  int32_t descriptor;
};

struct landlock_port_rule {
  uint64_t rights;
  uint64_t port;
};

static inline int kernel_openat2(int directory, const char *path, const struct open_how *how) {
  return (int)syscall(number_openat2, directory, path, how, sizeof *how);
}

static inline int kernel_close_range(unsigned first, unsigned last, unsigned flags) {
  return (int)syscall(number_close_range, first, last, flags);
}

/* Only ever sets attributes: those that are locked in a user namespace are then no obstacle. */
static inline int kernel_mount_setattr(int mount, unsigned flags, const struct mount_attributes *attributes) {
  return (int)syscall(number_mount_setattr, mount, "", at_empty_path | flags, attributes, sizeof *attributes);
}

#endif

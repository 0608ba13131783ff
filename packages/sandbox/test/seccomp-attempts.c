/* Runs in an empty directory that is thrown away afterwards. */
#define _GNU_SOURCE
#include "seccomp-attempts.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <pty.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#define HIGH 0xdeadbeef00000000ul

/* Success of whatever returns a number. */
static int done(long result) { return result < 0 ? -1 : 0; }

/* One that needs nothing beforehand. */
#define PLAIN(name, expression) \
    static int name(void) { contain(); return done(expression); }

static int no_such_bit(const char *path) {
    struct stat found;
    if (stat(path, &found) != 0) return -1;
    if ((found.st_mode & 06000) != 0) return 0;
    errno = ENODATA;
    return -1;
}

/* A call that should have made `path` with a set-id bit. */
static int with_bit(long result, const char *path) { return result < 0 ? -1 : no_such_bit(path); }

static int file(const char *path) { return open(path, O_CREAT | O_RDWR | O_CLOEXEC, 0600); }

static int own_mounts(void) {
    if (unshare(CLONE_NEWNS) != 0) return -1;
    return mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL);
}

/* In a child that ends at once. */
static int cloned(unsigned long flags) {
    long child = syscall(SYS_clone, flags, 0, 0, 0, 0);
    if (child == 0) _exit(0);
    if (child > 0) waitpid((pid_t)child, NULL, __WALL);
    return done(child);
}

static int cloned_by_clone3(void) {
    uint64_t arguments[8] = {0, 0, 0, 0, SIGCHLD};
    contain();
    long child = syscall(SYS_clone3, arguments, sizeof arguments);
    if (child == 0) _exit(0);
    return done(child);
}

PLAIN(unshare_user, unshare(CLONE_NEWUSER))
PLAIN(clone_user, cloned(CLONE_NEWUSER | SIGCHLD))
PLAIN(clone_user_high, cloned(HIGH | CLONE_NEWUSER | SIGCHLD))
PLAIN(clone_parent, cloned(CLONE_PARENT | SIGCHLD))
PLAIN(clone_untraced, cloned(0x00800000 | SIGCHLD))
PLAIN(clone_plain, cloned(SIGCHLD))
PLAIN(clone_plain_high, cloned(HIGH | SIGCHLD))

static int enter_namespace(void) {
    int names = open("/proc/self/ns/uts", O_RDONLY | O_CLOEXEC);
    contain();
    return setns(names, CLONE_NEWUTS);
}

static int mount_new(void) {
    if (own_mounts() != 0 || mkdir("mount", 0700) != 0) return -1;
    contain();
    return mount("none", "mount", "tmpfs", 0, NULL);
}

static int remount(void) {
    if (own_mounts() != 0 || mkdir("remount", 0700) != 0 || mount("none", "remount", "tmpfs", 0, NULL) != 0) return -1;
    contain();
    return mount(NULL, "remount", NULL, MS_REMOUNT | MS_RDONLY, NULL);
}

static int pivot(void) {
    if (own_mounts() != 0 || mkdir("pivot", 0700) != 0 || mount("none", "pivot", "tmpfs", 0, NULL) != 0) return -1;
    if (mkdir("pivot/old", 0700) != 0) return -1;
    contain();
    return done(syscall(SYS_pivot_root, "pivot", "pivot/old"));
}

PLAIN(change_root, chroot("."))
PLAIN(open_mount_context, syscall(SYS_fsopen, "tmpfs", 0))
PLAIN(open_mount_tree, syscall(SYS_open_tree, AT_FDCWD, "/", 0))

PLAIN(trace_me, ptrace(PTRACE_TRACEME, 0, NULL, NULL))

static int read_memory(void) {
    char from = 'a', to = 'b';
    struct iovec local = {&to, 1}, remote = {&from, 1};
    contain();
    return done(process_vm_readv(getpid(), &local, 1, &remote, 1, 0));
}

static int take_descriptor(void) {
    int self = (int)syscall(SYS_pidfd_open, getpid(), 0);
    contain();
    return done(syscall(438, self, 0, 0));
}

PLAIN(limit_parent, prlimit(getppid(), RLIMIT_CORE, NULL, &(struct rlimit){0}))
PLAIN(limit_self, prlimit(0, RLIMIT_CORE, NULL, &(struct rlimit){0}))

static int make_map(void) {
    uint32_t attributes[32] = {2 /* array */, 4, 4, 1};
    contain();
    return done(syscall(SYS_bpf, 0, attributes, sizeof attributes));
}

static int open_performance_event(void) {
    uint32_t attributes[32] = {1 /* software */, sizeof attributes};
    contain();
    return done(syscall(SYS_perf_event_open, attributes, 0, -1, -1, 0));
}

static int set_up_ring(void) {
    char parameters[256] = {0};
    contain();
    return done(syscall(SYS_io_uring_setup, 4, parameters));
}

PLAIN(fault_by_call, syscall(SYS_userfaultfd, 1))

static int fault_by_device(void) {
    int device = open("/dev/userfaultfd", O_RDWR | O_CLOEXEC);
    if (device < 0) return -1;
    contain();
    return done(ioctl(device, 0xaa00, 0));
}

PLAIN(keyring, syscall(SYS_keyctl, 0, -3, 1))
PLAIN(add_key, syscall(SYS_add_key, "user", "probe", "x", 1, -2))

static int file_handle(void) {
    struct { unsigned bytes; int type; char handle[128]; } handle = {128, 0, {0}};
    int mount;
    contain();
    return done(syscall(SYS_name_to_handle_at, AT_FDCWD, "/", &handle, &mount, 0));
}

/* A terminal of its own to type into. */
static int type_in(unsigned long request) {
    int controller, terminal;
    if (openpty(&controller, &terminal, NULL, NULL, NULL) != 0 || setsid() < 0 || ioctl(terminal, TIOCSCTTY, 0) != 0) return -1;
    contain();
    return done(syscall(SYS_ioctl, terminal, request, "x"));
}
static int type_in_terminal(void) { return type_in(TIOCSTI); }
static int type_in_terminal_high(void) { return type_in(HIGH | TIOCSTI); }

static int take_terminal(void) {
    int controller, terminal;
    if (openpty(&controller, &terminal, NULL, NULL, NULL) != 0 || setsid() < 0) return -1;
    contain();
    return ioctl(terminal, TIOCSCTTY, 0);
}

/* From the session that has it. */
static int steal_terminal(void) {
    int controller, terminal, status;
    if (openpty(&controller, &terminal, NULL, NULL, NULL) != 0 || setsid() < 0 || ioctl(terminal, TIOCSCTTY, 0) != 0) return -1;
    contain();
    pid_t child = fork();
    if (child == 0) _exit(setsid() < 0 || ioctl(terminal, TIOCSCTTY, 1) != 0 ? errno : 0);
    if (waitpid(child, &status, 0) != child || !WIFEXITED(status)) return -1;
    errno = WEXITSTATUS(status);
    return errno == 0 ? 0 : -1;
}

static int ask_terminal(void) {
    int controller, terminal;
    struct winsize size;
    if (openpty(&controller, &terminal, NULL, NULL, NULL) != 0) return -1;
    contain();
    return ioctl(terminal, TIOCGWINSZ, &size);
}

PLAIN(fixed_addresses, personality(ADDR_NO_RANDOMIZE))
PLAIN(ask_personality, personality(0xffffffff))
PLAIN(executable_memory_file, syscall(SYS_memfd_create, "x", 1))
PLAIN(sealed_memory_file, syscall(SYS_memfd_create, "x", 9))

/* Every way to a set-id bit. */
#if defined(__x86_64__)
PLAIN(bit_by_open, with_bit(syscall(SYS_open, "open", O_CREAT | O_WRONLY, 04755), "open"))
PLAIN(bit_by_creat, with_bit(syscall(SYS_creat, "creat", 04755), "creat"))
PLAIN(bit_by_mknod, with_bit(syscall(SYS_mknod, "mknod", S_IFREG | 04755, 0), "mknod"))
static int bit_by_chmod(void) { file("chmod"); contain(); return with_bit(syscall(SYS_chmod, "chmod", 04755), "chmod"); }
static int group_bit_by_chmod(void) { file("g"); contain(); return with_bit(syscall(SYS_chmod, "g", 02755), "g"); }
#endif
PLAIN(bit_by_openat, with_bit(syscall(SYS_openat, AT_FDCWD, "openat", O_CREAT | O_WRONLY, 04755), "openat"))
PLAIN(bit_by_openat_high,
      with_bit(syscall(SYS_openat, AT_FDCWD, "high", HIGH | O_CREAT | O_WRONLY, HIGH | 0xffff0000u | 04755), "high"))
PLAIN(bit_by_mknodat, with_bit(syscall(SYS_mknodat, AT_FDCWD, "mknodat", S_IFREG | 06755, 0), "mknodat"))

static int bit_by_openat2(void) {
    uint64_t how[3] = {O_CREAT | O_WRONLY, 04755, 0};
    contain();
    return with_bit(syscall(437, AT_FDCWD, "openat2", how, sizeof how), "openat2");
}

static int bit_by_temporary(void) {
    contain();
    long made = syscall(SYS_openat, AT_FDCWD, ".", O_TMPFILE | O_WRONLY, 04755);
    if (made < 0) return -1;
    struct stat found;
    return fstat((int)made, &found) == 0 && (found.st_mode & S_ISUID) != 0 ? 0 : -1;
}

static int bit_by_fchmod(void) { int at = file("fchmod"); contain(); return with_bit(fchmod(at, 04755), "fchmod"); }
static int bit_by_fchmodat(void) {
    file("fchmodat");
    contain();
    return with_bit(syscall(SYS_fchmodat, AT_FDCWD, "fchmodat", 04755), "fchmodat");
}
static int bit_by_fchmodat2(void) {
    file("fchmodat2");
    contain();
    return with_bit(syscall(452, AT_FDCWD, "fchmodat2", 04755, 0), "fchmodat2");
}
static int plain_mode(void) { int at = file("mode"); contain(); return fchmod(at, 01755); }
PLAIN(open_with_garbage, syscall(SYS_openat, AT_FDCWD, "/", O_RDONLY, 07777))

PLAIN(character_device, mknodat(AT_FDCWD, "null", S_IFCHR | 0600, 0x103))
PLAIN(block_device, mknodat(AT_FDCWD, "block", S_IFBLK | 0600, 0x700))
PLAIN(whiteout, mknodat(AT_FDCWD, "whiteout", S_IFCHR, 0))
static int whiteout_by_rename(void) {
    file("old");
    contain();
    return done(syscall(SYS_renameat2, AT_FDCWD, "old", AT_FDCWD, "new", RENAME_WHITEOUT));
}
static int exchange(void) {
    file("one");
    file("two");
    contain();
    return done(syscall(SYS_renameat2, AT_FDCWD, "one", AT_FDCWD, "two", RENAME_EXCHANGE));
}
PLAIN(make_fifo, mkfifo("fifo", 0600))

PLAIN(socket_unix, socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0))
PLAIN(socket_unix_datagram, socket(AF_UNIX, SOCK_DGRAM, 0))
PLAIN(socket_unix_raw, socket(AF_UNIX, SOCK_RAW, 0))
PLAIN(socket_tcp, socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0))
PLAIN(socket_tcp6, socket(AF_INET6, SOCK_STREAM, IPPROTO_TCP))
PLAIN(socket_tcp_high, syscall(SYS_socket, HIGH | AF_INET, HIGH | SOCK_STREAM, HIGH | IPPROTO_TCP))
PLAIN(socket_udp, socket(AF_INET, SOCK_DGRAM, 0))
PLAIN(socket_raw, socket(AF_INET, SOCK_RAW, IPPROTO_ICMP))
PLAIN(socket_old_packet, socket(AF_INET, 10 /* SOCK_PACKET */, 0x0300))
PLAIN(socket_packet, socket(AF_PACKET, SOCK_RAW, 0))
PLAIN(socket_netlink, socket(AF_NETLINK, SOCK_RAW, 0))
PLAIN(socket_netlink_high, syscall(SYS_socket, HIGH | AF_NETLINK, SOCK_RAW, 0))
PLAIN(socket_vsock, socket(AF_VSOCK, SOCK_STREAM, 0))
PLAIN(socket_mptcp, socket(AF_INET, SOCK_STREAM, 262))
PLAIN(pair_stream, socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, (int[2]){0}))
PLAIN(pair_datagram, socketpair(AF_UNIX, SOCK_DGRAM, 0, (int[2]){0}))
PLAIN(pair_raw, socketpair(AF_UNIX, SOCK_RAW, 0, (int[2]){0}))

static struct sockaddr_in listening(int *at) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    *at = socket(AF_INET, SOCK_STREAM, 0);
    if (bind(*at, (struct sockaddr *)&address, size) != 0 || listen(*at, 1) != 0) _exit(1);
    getsockname(*at, (struct sockaddr *)&address, &size);
    return address;
}

static int fast_open(void) {
    int server, client = socket(AF_INET, SOCK_STREAM, 0);
    struct sockaddr_in address = listening(&server);
    contain();
    return done(sendto(client, "x", 1, MSG_FASTOPEN, (struct sockaddr *)&address, sizeof address));
}

static int connect_tcp(void) {
    int server, client = socket(AF_INET, SOCK_STREAM, 0);
    struct sockaddr_in address = listening(&server);
    contain();
    return connect(client, (struct sockaddr *)&address, sizeof address);
}

static int tcp_option(int option, const void *value, socklen_t size) {
    int client = socket(AF_INET, SOCK_STREAM, 0);
    contain();
    return setsockopt(client, IPPROTO_TCP, option, value, size);
}
static int fast_open_option(void) { return tcp_option(TCP_FASTOPEN_CONNECT, &(int){1}, sizeof(int)); }
static int no_delay_option(void) { return tcp_option(TCP_NODELAY, &(int){1}, sizeof(int)); }

static int bind_tcp(void) {
    int at = socket(AF_INET, SOCK_STREAM, 0);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    contain();
    return bind(at, (struct sockaddr *)&address, sizeof address);
}
static int listen_unbound(void) { int at = socket(AF_INET, SOCK_STREAM, 0); contain(); return listen(at, 1); }

PLAIN(shared_memory, shmget(IPC_PRIVATE, 4096, 0600) < 0 ? -1 : 0)
PLAIN(process_name, prctl(PR_SET_NAME, "probe"))
PLAIN(memory_map_of_process, prctl(PR_SET_MM, 15 /* PR_SET_MM_MAP_SIZE */, &(unsigned){0}, 0, 0))

static int own_filter(unsigned flags) {
    struct sock_filter allow = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    struct sock_fprog program = {1, &allow};
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    contain();
    return done(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &program));
}
static int narrow_itself(void) { return own_filter(SECCOMP_FILTER_FLAG_TSYNC); }
static int listen_to_calls(void) { return own_filter(SECCOMP_FILTER_FLAG_NEW_LISTENER); }

/* After a filter that allows everything, what the first one refuses is still refused. */
static int widen_itself(void) { return own_filter(0) != 0 ? -1 : unshare(CLONE_NEWUSER); }

#if defined(__x86_64__)
static int call_i386(void) {
    long result;
    contain();
    __asm__ volatile("int $0x80" : "=a"(result) : "a"(20 /* getpid */) : "memory");
    return done(result);
}
PLAIN(call_x32, syscall(0x40000000 + SYS_getpid))
#endif

static void *nothing(void *argument) { return argument; }
static int thread(void) {
    pthread_t made;
    contain();
    errno = pthread_create(&made, NULL, nothing, NULL);
    return errno == 0 && pthread_join(made, NULL) == 0 ? 0 : -1;
}
static int change_owner(void) { int at = file("owner"); contain(); return fchown(at, (uid_t)-1, getegid()); }
static int change_times(void) { file("times"); contain(); return utimensat(AT_FDCWD, "times", NULL, 0); }
static int set_attribute(void) { file("attribute"); contain(); return setxattr("attribute", "user.x", "1", 1, 0); }
PLAIN(watch_files, inotify_add_watch(inotify_init1(IN_CLOEXEC), ".", IN_CREATE))
PLAIN(landlock_version, syscall(444, NULL, 0, 1))
PLAIN(unknown_call, syscall(600))

#define TRY(name) {#name, name}
const struct attempt attempts[] = {
    TRY(unshare_user), TRY(clone_user), TRY(clone_user_high), TRY(cloned_by_clone3), TRY(clone_parent), TRY(clone_untraced), TRY(clone_plain),
    TRY(clone_plain_high), TRY(enter_namespace), TRY(mount_new), TRY(remount), TRY(pivot), TRY(change_root),
    TRY(open_mount_context), TRY(open_mount_tree), TRY(trace_me), TRY(read_memory), TRY(take_descriptor),
    TRY(limit_parent), TRY(limit_self), TRY(make_map), TRY(open_performance_event), TRY(set_up_ring), TRY(fault_by_call),
    TRY(fault_by_device), TRY(keyring), TRY(add_key), TRY(file_handle), TRY(type_in_terminal), TRY(type_in_terminal_high),
    TRY(take_terminal), TRY(steal_terminal), TRY(ask_terminal), TRY(fixed_addresses), TRY(ask_personality), TRY(executable_memory_file),
    TRY(sealed_memory_file),
#if defined(__x86_64__)
    TRY(bit_by_open), TRY(bit_by_creat), TRY(bit_by_mknod), TRY(bit_by_chmod), TRY(group_bit_by_chmod),
    TRY(call_i386), TRY(call_x32),
#endif
    TRY(bit_by_openat), TRY(bit_by_openat_high), TRY(bit_by_mknodat), TRY(bit_by_openat2), TRY(bit_by_temporary),
    TRY(bit_by_fchmod), TRY(bit_by_fchmodat), TRY(bit_by_fchmodat2), TRY(plain_mode), TRY(open_with_garbage),
    TRY(character_device), TRY(block_device), TRY(whiteout), TRY(whiteout_by_rename), TRY(exchange), TRY(make_fifo), TRY(socket_unix), TRY(socket_unix_datagram),
    TRY(socket_unix_raw), TRY(socket_tcp), TRY(socket_tcp6), TRY(socket_tcp_high), TRY(socket_udp), TRY(socket_raw),
    TRY(socket_old_packet), TRY(socket_packet), TRY(socket_netlink), TRY(socket_netlink_high), TRY(socket_vsock),
    TRY(socket_mptcp), TRY(pair_stream), TRY(pair_datagram), TRY(pair_raw), TRY(fast_open), TRY(connect_tcp),
    TRY(fast_open_option), TRY(no_delay_option), TRY(bind_tcp), TRY(listen_unbound), TRY(shared_memory),
    TRY(process_name), TRY(memory_map_of_process), TRY(narrow_itself), TRY(listen_to_calls), TRY(widen_itself),
    TRY(thread), TRY(change_owner), TRY(change_times), TRY(set_attribute), TRY(watch_files), TRY(landlock_version),
    TRY(unknown_call), {0},
};

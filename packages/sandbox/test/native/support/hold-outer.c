/* Starts a program, the helper, and holds it at one call: the last that the process outside makes before it opens the gate. Prints the
 * process that is held, lets it go on when a byte comes on standard input, and ends as the program did. */
#define _GNU_SOURCE
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { close_range_number = 436 };

#define DATA(field) (unsigned)offsetof(struct seccomp_data, field)

/* close_range(above 0, ~0, 0): everything behind the gate. */
static int install(void) {
  struct sock_filter code[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, DATA(nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, close_range_number, 0, 7),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, DATA(args[0])),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0, 5, 0),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, DATA(args[1])),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ~0u, 0, 3),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, DATA(args[2])),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  struct sock_fprog program = {.len = sizeof code / sizeof *code, .filter = code};
  return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, &program);
}

int main(int count, char **words) {
  const int listener = install();
  if (count < 2 || listener < 0) return perror("the filter"), 2;
  const pid_t helper = fork();
  if (helper == 0) {
    close(STDIN_FILENO);
    dup2(STDERR_FILENO, STDIN_FILENO);
    execv(words[1], words + 1);
    _exit(2);
  }
  struct seccomp_notif held;
  memset(&held, 0, sizeof held);
  if (ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &held) != 0) return perror("receiving"), 2;
  printf("held %u\n", held.pid);
  fflush(stdout);
  char go = 0;
  if (read(STDIN_FILENO, &go, 1) != 1) return 2;
  struct seccomp_notif_resp answer = {.id = held.id, .flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE};
  if (ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &answer) != 0) return perror("answering"), 2;
  int status = 0;
  if (waitpid(helper, &status, 0) != helper) return 2;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 2;
}

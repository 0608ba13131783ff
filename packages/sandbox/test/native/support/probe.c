/* What a program can find out about itself only by asking the kernel. Prints one word a line. */
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <unistd.h>

int main(void) {
  int death_signal = -1;
  prctl(PR_GET_PDEATHSIG, &death_signal);
  printf("securebits %#x\n", prctl(PR_GET_SECUREBITS));
  printf("dumpable %d\n", prctl(PR_GET_DUMPABLE));
  printf("pdeathsig %d\n", death_signal);
  printf("leads its group %d\n", getpgrp() == getpid());
  printf("session is that of process 1 %d\n", getsid(0) == 1);
  return 0;
}

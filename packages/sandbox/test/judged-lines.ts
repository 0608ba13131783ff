import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

import type { BundledChild } from './bundled-child.ts';

/** What became of a line, and the programs that were judged. */
export interface Ran {
  readonly out: string;
  readonly err: string;
  readonly end: unknown;
  readonly seen: readonly { readonly file: string; readonly argv: readonly string[]; readonly state: string }[];
  readonly ms: number;
}

/** Runs lines of bash as a user, the one of the tests when absent, by `judged-programs-child.ts`. */
export async function run(
  program: BundledChild,
  user: number | undefined,
  asked: { readonly ceiling: string; readonly names: readonly string[]; readonly sources?: readonly string[] },
  lines: readonly string[],
): Promise<readonly Ran[]> {
  const { args, options } = program.callAs(user, JSON.stringify({ sources: [], ...asked, lines }));
  const { stdout } = await promisify(execFile)(process.execPath, args, { ...options, maxBuffer: 1 << 26 });
  return JSON.parse(stdout) as readonly Ran[];
}

/** Appends a byte when it runs with `push`. */
const mark = String.raw`
#include <fcntl.h>
#include <string.h>
#include <unistd.h>
int main(int count, char **words) {
  if (count < 2 || strcmp(words[1], "push") != 0) return 0;
  return write(open("marked", O_CREAT | O_WRONLY | O_APPEND, 0600), "x", 1) != 1;
}`;

/** Starts ./p0 so often with a word that another thread turns from pull into push and back; prints how often it was killed. */
const race = String.raw`
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
static volatile char word[8] = "pull";
static void *turn(void *unused) {
  for (;;) {
    word[2] = 's', word[3] = 'h';
    for (volatile int wait = 0; wait < 200; wait++) {}
    word[2] = 'l', word[3] = 'l';
    for (volatile int wait = 0; wait < 200; wait++) {}
  }
  return unused;
}
int main(int count, char **words) {
  int killed = 0, failed = 0;
  for (int at = count > 1 ? atoi(words[1]) : 0; at > 0; at--) {
    const pid_t child = fork();
    int status = 0;
    if (child == 0) {
      pthread_t thread;
      pthread_create(&thread, NULL, turn, NULL);
      usleep(200);
      execl("./p0", "p0", (char *)word, (char *)NULL);
      _exit(9);
    }
    waitpid(child, &status, 0);
    killed += WIFSIGNALED(status) && WTERMSIG(status) == 9;
    failed += WIFEXITED(status) && WEXITSTATUS(status) != 0;
  }
  printf("%d killed, %d failed\n", killed, failed);
  return 0;
}`;

/** Starts ./p0 push by vfork, by posix_spawn, by execveat, and from a thread that is not the first. */
const ways = String.raw`
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
static char *words[] = {"p0", "push", NULL}, *none[] = {NULL};
static void *start(void *unused) {
  execv("./p0", words);
  return unused;
}
int main(int count, char **arguments) {
  pid_t child = 0;
  int status = 0;
  const char *way = count > 1 ? arguments[1] : "";
  if (strcmp(way, "vfork") == 0 && (child = vfork()) == 0) { execv("./p0", words); _exit(9); }
  if (strcmp(way, "spawn") == 0) posix_spawn(&child, "./p0", NULL, NULL, words, none);
  if (strcmp(way, "at") == 0 && (child = fork()) == 0) {
    syscall(SYS_execveat, open("p0", O_PATH), "", words, none, AT_EMPTY_PATH);
    _exit(9);
  }
  if (strcmp(way, "thread") == 0 && (child = fork()) == 0) {
    pthread_t thread;
    pthread_create(&thread, NULL, start, NULL);
    for (;;) pause();
  }
  waitpid(child, &status, 0);
  printf("%s %d\n", way, WIFSIGNALED(status) ? WTERMSIG(status) : -WEXITSTATUS(status));
  return 0;
}`;

/** The sources of `./p0`, `./p1` and `./p2`. */
export const sources = [mark, race, ways];

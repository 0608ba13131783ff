#ifndef SECCOMP_ATTEMPTS_H
#define SECCOMP_ATTEMPTS_H

/* Something a contained process might try. What it needs first is prepared before `contain`, which installs the filter. */
struct attempt {
    const char *name;
    /* 0, or -1 with errno. */
    int (*run)(void);
};

/* Ends with an entry without a name. */
extern const struct attempt attempts[];

void contain(void);

#endif

#ifndef SVC_LAUNCH_NAMESPACES_H
#define SVC_LAUNCH_NAMESPACES_H

#include "ahead.h"
#include "plan.h"

/* Opens what the plan's control groups are joined by, while that may be done. */
void open_cgroups(const struct plan *plan);

/* Joins them, whoever this process has become, and fails where one then has more in it than the plan lets be. */
void join_cgroups(const struct plan *plan);

/* Opens a user namespace by its path. */
int open_users(const char *path);

/* Joins an open user namespace as the plan says, without groups that root had beside its own, and closes it. */
void join_users(const struct joined *users, int namespace);

/* Makes this user and group, of the namespace that was left, the only ones of the user namespace that this process is in. */
void map_identity(const struct identity *inside, unsigned uid, unsigned gid);

/* Writes a file of /proc that takes its text in one piece. */
void write_file(const char *stage, const char *path, const char *text);

/* Makes namespaces and is in them, with the user maps in place. */
void make_namespaces(int namespaces, const struct identity *inside);

void bring_up_loopback(void);

/* Enters the plan's namespaces, those that were made ahead for this launch among them, with the user maps, the host name and the loopback in place. */
void enter_namespaces(const struct plan *plan, struct ahead *ahead);

#endif

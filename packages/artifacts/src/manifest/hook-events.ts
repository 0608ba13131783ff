/** The events that a hook can be called at, and what it can change at them. */

/** Everything a hook can be called at, in the order of a session (docs/hooks.md "Events"). */
export const hookEvents = [
  'on-stage',
  'on-session-start',
  'on-task-start',
  'on-inference',
  'on-tool-call',
  'on-shell',
  'on-compaction',
  'on-task-end',
  'on-session-end',
] as const;

export type HookEvent = (typeof hookEvents)[number];

/** What a hook can change, each with the events at which it can (docs/hooks.md "Events"). */
export const hookPolicies = {
  'write-manifests': ['on-stage'],
  artifact: ['on-inference'],
  deny: ['on-tool-call', 'on-shell'],
  'replace-context': ['on-compaction'],
  'reopen-task': ['on-task-end'],
} as const satisfies Record<string, readonly HookEvent[]>;

export type HookPolicy = keyof typeof hookPolicies;

export const hookPolicyNames = Object.keys(hookPolicies) as [HookPolicy, ...HookPolicy[]];

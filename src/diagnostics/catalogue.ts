/** What one code means, for `svc explain <code>` and the documentation. */
export interface CatalogueEntry {
  readonly title: string;
  readonly explanation: string;
}

/**
 * Every code that `svc` prints. `E-` stops the work, `W-` does not.
 * A code is never reused for another condition.
 */
export const catalogue = {
  'E-MAN-001': {
    title: 'a required key is missing',
    explanation: 'The manifest lacks a key that the capsule cannot do without. Add it at the place shown.',
  },
  'E-MAN-002': {
    title: 'the file is not valid YAML',
    explanation:
      'The manifest or configuration file cannot be read as YAML. The place shown is where the reader gave up.',
  },
  'E-MAN-003': {
    title: 'a value is not allowed, or a ${VARIABLE} cannot be resolved',
    explanation:
      'A key holds a value of the wrong type or outside the allowed ones, or names an environment variable that is not set. Set the variable in the environment or in the .env file of the workspace.',
  },
  'E-CAP-001': {
    title: 'a network destination is malformed',
    explanation:
      'capabilities.network.allow takes host, host:port or http(s)://host[:port]; no path, query, fragment or user.',
  },
  'E-CAP-002': {
    title: 'a filesystem scope leaves the workdir',
    explanation: 'capabilities.filesystem.scope is a relative path inside the workdir.',
  },
  'E-CAP-003': {
    title: 'the containment floor cannot be met on this host',
    explanation:
      'The declared containment class is stronger than what the host achieves. Lower the floor or run on another host.',
  },
  'E-CAP-007': {
    title: 'an export root resolves outside the workdir',
    explanation:
      'exports.files.root and exports.peer_files.root must stay inside the accessible workdir, links included.',
  },
  'E-CAP-008': {
    title: 'a capsule that sleeps lacks a valid peer-handle lifetime',
    explanation: 'With lifecycle.after_task: sleep, exports.peer_files.max_ttl is required and at most 15m.',
  },
  'E-CAP-013': {
    title: 'an artifact takes the name of a runtime tool',
    explanation:
      'delegate-task, share-file, fetch-peer-file and submit-plan belong to the runtime. Rename the artifact.',
  },
  'E-IO-001': {
    title: 'a file cannot be read or written',
    explanation: 'The operating system refused a file operation. The message names the path and the reason.',
  },
  'E-IO-002': {
    title: 'the trace cannot be written',
    explanation:
      'A session never goes on without its trace. The disk is full, read-only or failing; the message gives the reason.',
  },
  'E-IO-003': {
    title: 'a remote side failed: registry authentication or parsing, or a lost watch connection',
    explanation:
      'The registry refused the key or answered something unreadable, or the connection to a capsule was lost.',
  },
  'E-RUN-003': {
    title: 'an artifact differs from svc.lock',
    explanation:
      'The bytes found for an artifact do not have the hash that svc.lock records. Run svc install to accept a change.',
  },
  'E-RUN-009': {
    title: 'the system prompt file is missing',
    explanation: 'inference.system_prompt_file names a file that does not exist beside the manifest.',
  },
  'E-RUN-010': {
    title: 'the listener port is taken',
    explanation:
      'network.internal_port is already bound by another process. Choose another port, or leave the key out.',
  },
  'E-RUN-011': {
    title: 'the listener cannot bind its address',
    explanation:
      'The address given with --bind does not belong to this machine, or the port may not be bound by this user.',
  },
  'E-RUN-024': {
    title: 'there is nothing to run',
    explanation: 'lifecycle.task_acceptance is none and neither --task nor a task.md beside the manifest was given.',
  },
  'W-SEC-007': {
    title: 'a capability of an artifact is wider than the capsule grants',
    explanation:
      'artifacts[].capabilities narrows the grants of the capsule and never widens them. The entry named was dropped.',
  },
  'W-SEC-019': {
    title: 'an unknown key was ignored',
    explanation: 'The manifest holds a key that this version does not know. It has no effect.',
  },
  'W-SEC-020': {
    title: 'a delegating capsule cannot receive outcomes',
    explanation:
      'capabilities.spawn.allow is declared but the lifecycle block cannot receive completions: it needs task_acceptance: queue, a queue_depth of at least the delegations per turn, and after_task: sleep.',
  },
  'W-SEC-031': {
    title: 'the listener accepts other machines without a token',
    explanation: 'The listener is bound to an address that is not loopback and SVC_LISTENER_TOKEN is not set.',
  },
} as const satisfies Record<string, CatalogueEntry>;

export type DiagnosticCode = keyof typeof catalogue;

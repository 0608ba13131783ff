/** The codes of manifests, and of what they ask for. */

import type { CatalogueEntry } from './catalogue-entry.ts';

export const manifestCodes = {
  'E-CAP-001': {
    title: 'a network destination is malformed',
    explanation:
      'capabilities.network.allow takes host, host:port or http(s)://host[:port]; no path, query, fragment or user.',
  },
  'E-CAP-002': {
    title: 'a filesystem scope leaves the workdir',
    explanation: 'capabilities.filesystem.scope is a relative path inside the workdir.',
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
  'E-CAP-014': {
    title: 'two tools share one name',
    explanation:
      'The model addresses tools by name, so an artifact and an allowed shell command cannot have the same one. Rename the artifact or drop one of the two.',
  },
  'E-CAP-016': {
    title: 'the server of an artifact is a program that is not granted',
    explanation:
      'The command of an artifact with implementation: mcp begins with a program of the host. It may run only when runs of its entry lists it, or capabilities.shell.allow, which gives it to the model too. A server on the web is asked only when from of its entry has its address.',
  },
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
      'A key holds a value of the wrong type or outside the allowed ones, or names an environment variable that is not set. Set the variable in the environment or in the .env file of the workspace. The key of a provider is refused where a line break or another character in it cannot stand in the header of a request.',
  },
  'E-MAN-006': {
    title: 'a key that says what is allowed is not known',
    explanation:
      'capabilities, artifacts[].capabilities, approvals, doors and exports say what a capsule may do and what it offers. A misspelt key there, or such a name that is misspelt itself, is not ignored, since the capsule could then do more than its author wrote. Correct it or remove it.',
  },
  'E-RUN-009': {
    title: 'the system prompt file is missing',
    explanation:
      'inference.system_prompt_file names a file that does not exist beside the manifest, or that a link leads out to.',
  },
  'E-RUN-025': {
    title: 'the manifest asks for something this version cannot do',
    explanation:
      'Versions that could not run hooks refused a capsule that declares one: running without it would do less than promised. This version runs them.',
  },
  'W-MAN-001': {
    title: 'sleep has no effect',
    explanation:
      'lifecycle.after_task: sleep keeps a session up for more tasks, which only lifecycle.task_acceptance: queue accepts. The session ends after its task.',
  },
  'W-RUN-002': {
    title: 'a declared part of the manifest is not available in this version',
    explanation: 'The capsule runs without it. The message says what it does without.',
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
} as const satisfies Record<string, CatalogueEntry>;

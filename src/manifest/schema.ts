import { z } from 'zod';

import { containmentClasses } from '../wire/containment-class.ts';
import { byteSize, durationSecs } from './units.ts';

/**
 * The manifest as written, `svc.yaml` (D1 "Manifest keys this interface names"). Keys keep the spelling of the file, so that
 * a diagnostic's path, the published JSON Schema and the code agree. Unknown keys are dropped; the loader warns about them.
 */

const reservedVersions: ReadonlySet<string> = new Set(['latest', 'stable', 'edge']);

const wholeNumber = z.int().min(0);
const positive = z.int().min(1);

export const artifactName = z
  .string()
  .max(100)
  .regex(/^[a-z0-9]([a-z0-9-]*[a-z0-9])?$/, 'must be lowercase letters, digits and inner hyphens');

export const artifactVersion = z
  .string()
  .max(100)
  .regex(/^[0-9A-Za-z][0-9A-Za-z.+-]*$/, 'must be letters, digits, dots, plus signs and hyphens')
  .refine((version) => !version.includes('..'), 'must not contain ".."');

/** A version that names one artifact: the reserved names resolve to nothing (D1 "Versioning" 2). */
export const exactVersion = artifactVersion.refine(
  (version) => !reservedVersions.has(version),
  'is a reserved version; name an exact one',
);

const variableName = z.string().regex(/^[A-Za-z_][A-Za-z0-9_]*$/, 'must be a variable name');

const commandName = z
  .string()
  .regex(/^[^/\s\0]+$/, 'must be a bare command name')
  .refine((name) => name !== '.' && name !== '..', 'must be a bare command name');

const filesystem = z.object({
  scope: z.string().optional(),
  read_only: z.boolean().optional(),
  workdir_exec: z.boolean().optional(),
});

const network = z.object({
  allow: z.array(z.string()).default([]),
  unix_sockets: z.boolean().optional(),
});

const limits = z.object({
  memory: byteSize.default(512 * 1024 * 1024),
  deadline: durationSecs.optional(),
});

const resources = z.object({
  processes: positive.default(128),
  open_files: positive.default(1024),
  file_size: byteSize.default(4 * 1024 ** 3),
  cpu: durationSecs.default(3600),
  memory: byteSize.default(2 * 1024 ** 3),
  workdir_max_bytes: byteSize.default(10 * 1024 ** 3),
});

const storeNames = z.union([artifactName, z.array(artifactName)]).nullable();

/** What one artifact asks for; it narrows the capsule's grants and never widens them. */
export const artifactCapabilities = z.object({
  filesystem: filesystem.optional(),
  network: network.optional(),
  env: z.object({ allow: z.array(variableName).default([]) }).optional(),
  state: z.object({ store: storeNames.default(null) }).optional(),
  limits: limits.partial().optional(),
});

export const artifactEntry = z.object({
  name: artifactName,
  version: exactVersion,
  runtime: z.enum(['driver', 'tool', 'hook', 'skill']).default('tool'),
  source: z.string().min(1).optional(),
  capabilities: artifactCapabilities.optional(),
  config: z.record(z.string(), z.unknown()).optional(),
});

const inference = z.object({
  transport: z.enum(['http', 'process']).default('http'),
  endpoint: z.string().optional(),
  model: z.string().default(''),
  api_key: z.string().optional(),
  driver: z
    .object({
      artifact: artifactName,
      config: z.record(z.string(), z.unknown()).default({}),
    })
    .optional(),
  command: z.union([z.string().min(1), z.array(z.string()).min(1)]).optional(),
  system_prompt: z.string().optional(),
  system_prompt_file: z.string().min(1).optional(),
  max_turns: positive.default(10),
  max_tokens: positive.default(8192),
  max_session_tokens: positive.optional(),
  context: z.object({ max_tokens: positive.optional() }).default({}),
  compaction: z.object({ threshold: z.number().gt(0).max(1).default(0.98) }).default({ threshold: 0.98 }),
});

const lifecycle = z.object({
  task_acceptance: z.enum(['none', 'single', 'queue']).default('single'),
  queue_depth: wholeNumber.default(1),
  after_task: z.enum(['exit', 'sleep']).default('exit'),
  conversation: z.enum(['stateless', 'threaded']).default('stateless'),
  max_task_reopens: wholeNumber.default(1),
  input_timeout_secs: positive.optional(),
  delegation_deadline_secs: positive.default(600),
  shell_grace_secs: positive.default(10),
});

const capabilities = z.object({
  containment: z.enum(containmentClasses).optional(),
  filesystem: filesystem.optional(),
  network: network.optional(),
  shell: z.object({ allow: z.array(commandName).min(1) }).optional(),
  spawn: z.object({ allow: z.array(artifactName) }).optional(),
  env: z.object({ allow: z.array(variableName) }).optional(),
  peer_fetch: z.object({ allow: z.array(z.string().min(1)) }).optional(),
  state: z.object({ store: storeNames.default(null) }).optional(),
  plan: z.object({ submit: z.boolean().default(false) }).optional(),
  limits: limits.optional(),
  resources: resources.optional(),
});

const defaultMaxBytes = 10 * 1024 * 1024;

const fileExport = z.object({
  root: z.string().min(1),
  max_bytes: byteSize.default(defaultMaxBytes),
});

const exportsBlock = z.object({
  files: fileExport.optional(),
  peer_files: fileExport.extend({ max_ttl: durationSecs.optional() }).optional(),
});

/** The manifest of a capsule. */
export const capsuleManifest = z.object({
  name: artifactName,
  version: artifactVersion,
  description: z.string().optional(),
  artifacts: z.array(artifactEntry).default([]),
  inference,
  lifecycle: lifecycle.prefault({}),
  network: z.object({ internal_port: z.int().min(1).max(65535).optional() }).default({}),
  capabilities: capabilities.default({}),
  exports: exportsBlock.default({}),
});

/** The manifest at the root of a tool, driver, hook or skill archive (contracts §4). */
export const artifactManifest = z.object({
  name: artifactName,
  version: exactVersion,
  runtime: z.enum(['driver', 'tool', 'hook', 'skill']),
  implementation: z.enum(['wasm', 'native']).default('wasm'),
  description: z.string().default(''),
  input_schema: z.record(z.string(), z.unknown()).optional(),
  tags: z.array(z.string()).default([]),
  binding: z.union([z.string(), z.array(z.string())]).optional(),
  execution_mode: z.enum(['blocking', 'async']).optional(),
  commit_policy: z.string().optional(),
});

export type CapsuleManifest = z.infer<typeof capsuleManifest>;
export type ArtifactManifest = z.infer<typeof artifactManifest>;
export type ArtifactEntry = z.infer<typeof artifactEntry>;
export type ArtifactCapabilities = z.infer<typeof artifactCapabilities>;

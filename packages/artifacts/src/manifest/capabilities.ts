/** The schema of `capabilities`: what a manifest asks to touch. */

import * as z from 'zod/mini';

import { credentialSchemes } from '@svc/kit/keys/bound-host.ts';
import { parseRule } from '@svc/kit/keys/request-rules.ts';
import { parseDestination } from '@svc/kit/net/network-destination.ts';
import { defaultLimits } from '@svc/kit/default-limits.ts';
import { containmentClasses } from '@svc/protocol/containment-class.ts';
import { maxHostPaths, normalizeHostPath } from './host-path.ts';
import { artifactName, commandName, programVariable, variableName } from './name-schemas.ts';
import { byteSize, durationSecs } from './units.ts';
import { maxMasks, normalizeProjectPath, normalizeWorkdirPath } from './workdir-path.ts';

export const mebibyte: number = 1024 ** 2;

const positive = z.int().check(z.minimum(1));

/** A place in a network, as a manifest writes it. */
export const destination = z.string().check(
  z.refine((text) => parseDestination(text).kind === 'destination', {
    error: ({ input }) => {
      const reading = parseDestination(String(input));
      return reading.kind === 'malformed' ? reading.reason : undefined;
    },
    params: { code: 'E-CAP-001' },
  }),
);

const workdirPath = z.string().check(
  z.refine((path) => normalizeWorkdirPath(path) !== undefined, {
    error: 'must be a relative path inside the workdir, without ".."',
    params: { code: 'E-CAP-002' },
  }),
);

const hostPath = z.string().check(
  z.refine((path) => normalizeHostPath(path) !== undefined, {
    error: 'must be an absolute path of this machine without "..", and not / itself',
    params: { code: 'E-CAP-026' },
  }),
);

const filesystem = z.strictObject({
  scope: z.optional(workdirPath),
  host_read: z.optional(z.array(hostPath).check(z.maxLength(maxHostPaths))),
  read_only: z.optional(z.boolean()),
  workdir_exec: z.optional(z.boolean()),
});

const projectPath = z.string().check(
  z.refine((path) => normalizeProjectPath(path) !== undefined, {
    error: 'must be a relative path without "..": . is the folder of the manifest, and --project names any other',
    params: { code: 'E-CAP-028' },
  }),
);

const maskedPath = z.string().check(
  z.refine((path) => (normalizeProjectPath(path) ?? '.') !== '.', {
    error: 'must be a relative path below the folder, without ".."',
    params: { code: 'E-CAP-028' },
  }),
);

const project = z.strictObject({
  path: z.optional(projectPath),
  write: z._default(z.boolean(), false),
  mask: z._default(z.array(maskedPath).check(z.maxLength(maxMasks)), []),
});

const network = z.strictObject({
  allow: z._default(z.array(destination), []),
  unix_sockets: z.optional(z.boolean()),
});

const maxRules = 100;
const maxForeseen = 64;

const requestRule = z.string().check(
  z.maxLength(512),
  z.refine((text) => parseRule(text).kind === 'rule', {
    error: ({ input }) => {
      const reading = parseRule(String(input));
      return reading.kind === 'malformed' ? reading.reason : undefined;
    },
    params: { code: 'E-CAP-030' },
  }),
);

/** A host with what is held of requests to it; how its keys go together is the business of `credential-rules.ts`. */
const boundHost = z.strictObject({
  host: destination,
  rules: z.optional(z.array(requestRule).check(z.minLength(1), z.maxLength(maxRules))),
  credential: z.optional(z.string()),
  foreign: z.optional(z.enum(['allow'])),
});

const capsuleNetwork = z.strictObject({
  allow: z._default(z.array(z.union([destination, boundHost], 'must be a host, or a block with host')), []),
  unix_sockets: z.optional(z.boolean()),
});

const credentialName = z
  .string()
  .check(z.regex(/^[a-z][a-z0-9-]{0,31}$/, 'must be up to 32 lowercase letters, digits and hyphens'));

/** A part of the scope of a signature. */
const scopeWord = z
  .string()
  .check(z.regex(/^[a-z0-9-]{1,64}$/, 'must be lowercase letters, digits and hyphens, as in eu-west-1'));

const credential = z.strictObject({
  value: z.optional(z.string()),
  for: z.optional(z.array(artifactName).check(z.minLength(1), z.maxLength(maxForeseen))),
  header: z._default(
    z.string().check(z.regex(/^[A-Za-z0-9-]{1,64}$/, 'must be the name of a header')),
    'authorization',
  ),
  scheme: z.optional(z.enum(credentialSchemes, { error: `must be one of ${credentialSchemes.join(', ')}` })),
  user: z.optional(z.string().check(z.regex(/^[!-9;-~]{1,128}$/, 'must be printable characters without a colon'))),
  region: z.optional(scopeWord),
  service: z.optional(scopeWord),
  session_token: z.optional(z.string()),
  token_endpoint: z.optional(z.string()),
  client_secret: z.optional(z.string()),
  env: z.optional(programVariable),
  shape: z._default(
    z.string().check(z.regex(/^[A-Za-z0-9._-]{0,32}$/, 'must be up to 32 plain characters')),
    'svc-key-',
  ),
});

const limits = z.strictObject({
  memory: z._default(byteSize, 512 * mebibyte),
  deadline: z.optional(durationSecs),
});

/** Bounds of one subprocess, of all of a session together, and of the whole workdir. */
export const resourceLimits = z.strictObject({
  processes: z._default(positive, defaultLimits.processes),
  open_files: z._default(positive, defaultLimits.open_files),
  file_size: z._default(byteSize, defaultLimits.file_size),
  cpu: z._default(durationSecs, defaultLimits.cpu),
  memory: z._default(byteSize, defaultLimits.memory),
  session_processes: z.optional(positive),
  session_memory: z.optional(byteSize),
  enforce: z.optional(z.enum(['available', 'required'])),
  workdir_max_bytes: z._default(byteSize, defaultLimits.workdir_max_bytes),
});

const storeNames = z.nullable(
  z.union([artifactName, z.array(artifactName).check(z.minLength(1))], 'must be a store name or a list of them'),
);

// An empty block counts: state declared without a name is a store named after the capsule (D2 "State stores").
const state = z.pipe(
  z.nullable(z.strictObject({ store: z._default(storeNames, null) })),
  z.transform((declared) => declared ?? { store: null }),
);

/** What one artifact asks for; it narrows the capsule's grants and never widens them (docs/manifest.md "Narrowing"). */
export const artifactCapabilities = z.strictObject({
  filesystem: z.optional(filesystem),
  network: z.optional(network),
  env: z.optional(z.strictObject({ allow: z._default(z.array(variableName), []) })),
  state: z.optional(state),
  limits: z.optional(z.strictObject({ memory: z.optional(byteSize), deadline: z.optional(durationSecs) })),
});

/** What the capsule as a whole may touch. */
export const capsuleCapabilities = z.strictObject({
  containment: z.optional(z.enum(containmentClasses)),
  filesystem: z.optional(filesystem),
  project: z.optional(project),
  network: z.optional(capsuleNetwork),
  credentials: z.optional(z.record(credentialName, credential)),
  shell: z.optional(z.strictObject({ allow: z.array(commandName).check(z.minLength(1)) })),
  spawn: z.optional(z.strictObject({ allow: z.array(artifactName) })),
  env: z.optional(z.strictObject({ allow: z.array(variableName) })),
  peer_fetch: z.optional(z.strictObject({ allow: z.array(destination) })),
  state: z.optional(state),
  plan: z.optional(z.strictObject({ submit: z._default(z.boolean(), false) })),
  limits: z.optional(limits),
  resources: z.optional(resourceLimits),
});

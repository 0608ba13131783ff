/** The schemas of the manifests of capsules and of artifacts. */

import * as z from 'zod/mini';

import { endpointFault } from '@svc/kit/net/endpoint.ts';
import { maxWaitSecs } from '@svc/kit/units.ts';
import { approvals } from './approvals.ts';
import { doorNames } from './door-names.ts';
import { captureLevels } from './capture-levels.ts';
import { artifactCapabilities, capsuleCapabilities, destination, mebibyte } from './capabilities.ts';
import { hookEvents, hookPolicyNames } from './hook-events.ts';
import {
  artifactName,
  artifactPlace,
  exactVersion,
  commandName,
  programVariables,
  versionRange,
} from './name-schemas.ts';
import { ofLogin } from './names.ts';
import { notify } from './notify.ts';
import { ageSecs, byteSize, lifetimeSecs } from './units.ts';
import { normalizeWorkdirPath } from './workdir-path.ts';

/**
 * The manifest as written, `svc.yaml` (D1 "Manifest keys this interface names"). Keys keep the spelling of the file, so that
 * a diagnostic's path, the published JSON Schema and the code agree. Rules across keys are in `rules.ts`.
 */

const wholeNumber = z.int().check(z.minimum(0));
const positive = z.int().check(z.minimum(1));
const waitSecs = z.int().check(z.minimum(1), z.maximum(maxWaitSecs));
const someText = z.string().check(z.minLength(1));

const freeForm = z.record(z.string(), z.unknown());

/** The variable that holds what a server on the web is shown: the manifest never holds it itself. */
const variableReference = z
  .string()
  .check(z.regex(/^\$\{[A-Z_][A-Z0-9_]*\}$/, 'must name the variable that holds it, as ${NAME}'));

/** Headers that frame or route a request, and those of the protocol. */
const keptHeader =
  /^(?:accept.*|connection|content-.*|expect|host|keep-alive|mcp-.*|proxy-.*|te|trailer|transfer-encoding|upgrade)$/i;

const headerName = z.string().check(
  z.regex(/^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}$/, 'must be the name of a header'),
  z.refine((name) => !keptHeader.test(name), 'must be a header that svc does not set itself'),
);

/** A client for which no person logs in; its secret goes to the issuer alone. */
const ownClient = z.strictObject({
  client_id: z.string().check(z.regex(/^[\x20-\x7e]{1,2000}$/, 'must be the id of a client')),
  client_secret: variableReference,
  issuer: z
    .string()
    .check(
      z.refine((text) => endpointFault(text) === undefined, { error: ({ input }) => endpointFault(String(input)) }),
    ),
});

const serverAuth = z.union(
  [variableReference, z.strictObject({ header: headerName, value: variableReference }), ownClient, z.literal(ofLogin)],
  'must be ${NAME}, the variable of a bearer token, { header, value: ${NAME} }, { client_id, client_secret: ${NAME}, issuer }, or login',
);

/** A name or a pattern, or names that take the place of those that the server has. */
const toolChoice = z.union([z.string().check(z.minLength(1), z.maxLength(256)), z.record(z.string(), z.string())]);

/** One entry of `artifacts` (docs/manifest.md "Keys"). */
const artifactEntry = z.strictObject({
  name: artifactName,
  version: exactVersion,
  runtime: z._default(z.enum(['driver', 'tool', 'hook', 'skill']), 'tool'),
  range: z.optional(versionRange),
  source: z.optional(someText),
  from: z.optional(artifactPlace),
  auth: z.optional(serverAuth),
  capabilities: z.optional(artifactCapabilities),
  config: z.optional(freeForm),
  env: z.optional(programVariables),
  runs: z.optional(z.array(commandName).check(z.minLength(1), z.maxLength(32))),
  tools: z.optional(
    z.union(
      [z.literal('capsule'), z.array(toolChoice).check(z.minLength(1), z.maxLength(128))],
      'must be a list of names of tools, where { <name>: <another name> } renames one, or capsule for a skill',
    ),
  ),
});

const endpoint = z.string().check(
  z.refine((text) => inferenceFault(text) === undefined, {
    error: ({ input }) => inferenceFault(String(input)),
  }),
);

/** `http` to a private address is the business of `rules.ts`. */
function inferenceFault(text: string): string | undefined {
  return endpointFault(text, true) === undefined ? undefined : endpointFault(text);
}

// A capsule may come from elsewhere: it must not read the operator's own files into a prompt.
const siblingFile = z
  .string()
  .check(
    z.refine(
      (path) => normalizeWorkdirPath(path) !== undefined,
      'must be a relative path below the manifest, without ".."',
    ),
  );

const rootFile = z
  .string()
  .check(
    z.regex(/^(?!\.{1,2}$)[^/\\\p{C}]{1,200}$/u, 'must be the name of a file, which lies at the root of the folder'),
  );

const inference = z.strictObject({
  transport: z._default(z.enum(['http', 'process']), 'http'),
  endpoint: z.optional(endpoint),
  insecure_http: z.optional(z.boolean()),
  model: z._default(z.string(), ''),
  api_key: z.optional(z.string()),
  driver: z.optional(z.strictObject({ artifact: artifactName, config: z._default(freeForm, {}) })),
  command: z.optional(
    z.union([someText, z.array(z.string()).check(z.minLength(1))], 'must be a command line or a list of words'),
  ),
  system_prompt: z.optional(z.string()),
  system_prompt_file: z.optional(siblingFile),
  project_text: z.optional(z.array(rootFile).check(z.minLength(1), z.maxLength(8))),
  max_turns: z._default(positive, 10),
  max_tokens: z._default(positive, 8192),
  max_session_tokens: z.optional(positive),
  timeout_secs: z._default(z.strictObject({ idle: z._default(waitSecs, 300), total: z._default(waitSecs, 3600) }), {
    idle: 300,
    total: 3600,
  }),
  context: z._default(z.strictObject({ max_tokens: z.optional(positive) }), {}),
  compaction: z._default(
    z.strictObject({ threshold: z._default(z.number().check(z.positive(), z.maximum(1)), 0.98) }),
    { threshold: 0.98 },
  ),
});

/** Skills without entries. */
const skills = z.strictObject({ discover: z.array(siblingFile).check(z.minLength(1), z.maxLength(8)) });

const lifecycle = z.strictObject({
  task_acceptance: z._default(z.enum(['none', 'single', 'queue']), 'single'),
  queue_depth: z._default(wholeNumber, 1),
  after_task: z._default(z.enum(['exit', 'sleep']), 'exit'),
  conversation: z._default(z.enum(['stateless', 'threaded']), 'stateless'),
  max_task_reopens: z._default(wholeNumber, 1),
  input_timeout_secs: z.optional(waitSecs),
  delegation_deadline_secs: z._default(waitSecs, 600),
  shell_grace_secs: z.optional(waitSecs),
});

/** Which journals of a workspace stay; 30 days, in seconds. */
const keep = z.strictObject({
  sessions: z._default(positive, 50),
  age: z._default(ageSecs, 30 * 86_400),
  bytes: z._default(byteSize, 2048 * mebibyte),
});

/** What is kept of a session beside its trace (docs/journal.md). */
const trace = z.strictObject({
  capture: z.optional(z.enum(captureLevels)),
  max_body: z._default(byteSize, 8 * mebibyte),
  max_bytes: z._default(byteSize, 256 * mebibyte),
  keep: z.prefault(keep, {}),
  components: z._default(z.boolean(), false),
});

const defaultMaxBytes = 10 * mebibyte;

const exportRoot = z.string().check(
  z.refine((path) => normalizeWorkdirPath(path) !== undefined, {
    error: 'must be a relative path inside the workdir, without ".."',
    params: { code: 'E-CAP-007' },
  }),
);

const fileExport = z.strictObject({
  root: exportRoot,
  max_bytes: z._default(byteSize, defaultMaxBytes),
});

const peerFileExport = z.strictObject({
  root: exportRoot,
  max_bytes: z._default(byteSize, defaultMaxBytes),
  max_ttl: z.optional(lifetimeSecs),
});

/** A host that notifications may be pushed to; one that is in a private network says so. */
const pushHost = z.union(
  [destination, z.strictObject({ host: destination, private: z._default(z.boolean(), false) })],
  'must be a host, or a block with host and private',
);

const push = z.strictObject({ allow: z._default(z.array(pushHost), []) });

/** The manifest of a capsule. */
export const capsuleManifest = z.strictObject({
  name: artifactName,
  version: exactVersion,
  description: z.optional(z.string()),
  artifacts: z._default(z.array(artifactEntry), []),
  skills: z.optional(skills),
  inference,
  lifecycle: z.prefault(lifecycle, {}),
  trace: z.prefault(trace, {}),
  network: z._default(
    z.strictObject({ internal_port: z.optional(z.int().check(z.minimum(1), z.maximum(65_535))) }),
    {},
  ),
  capabilities: z._default(capsuleCapabilities, {}),
  approvals: z.optional(z.lazy(() => approvals)),
  notify: z.optional(notify),
  exports: z._default(z.strictObject({ files: z.optional(fileExport), peer_files: z.optional(peerFileExport) }), {}),
  doors: z._default(z.strictObject({ serve: z.optional(z.array(z.enum(doorNames))), push: z.optional(push) }), {}),
});

/** A name of `names`, or a list of them. */
function oneOrMore<const Names extends readonly [string, ...string[]]>(names: Names) {
  const name = z.enum(names);
  const clause = `must be one of ${names.join(', ')}, or a list of them`;
  return z.union([name, z.array(name).check(z.minLength(1))], clause);
}

/** The manifest at the root of a tool, driver, hook or skill archive. Few starts read one as YAML. */
export const artifactManifest = z.lazy(() =>
  z.strictObject({
    name: artifactName,
    version: exactVersion,
    runtime: z.enum(['driver', 'tool', 'hook', 'skill']),
    implementation: z._default(z.enum(['wasm', 'native', 'mcp']), 'wasm'),
    command: z.optional(serverCommand),
    url: z.optional(serverUrl),
    description: z._default(z.string(), ''),
    input_schema: z.optional(freeForm),
    tags: z._default(z.array(z.string()), []),
    binding: z.optional(oneOrMore(hookEvents)),
    execution_mode: z.optional(z.enum(['blocking', 'async'])),
    commit_policy: z.optional(oneOrMore(hookPolicyNames)),
    on_overflow: z.optional(z.enum(['wait', 'drop'])),
  }),
);

export type CapsuleManifest = Omit<z.infer<typeof capsuleManifest>, 'artifacts'> & { artifacts: ArtifactEntry[] };
export type ArtifactManifest = z.infer<typeof artifactManifest>;
export type ServerAuth = z.infer<typeof serverAuth>;
/** `discovered` is what a manifest cannot say: that `skills.discover` stands for the entry. */
export type ArtifactEntry = z.infer<typeof artifactEntry> & { readonly discovered?: true };
export type ArtifactCapabilities = z.infer<typeof artifactCapabilities>;

const archived = /^bin\/[A-Za-z0-9][A-Za-z0-9._-]{0,99}$/;

const word = z.lazy(() =>
  z.string().check(z.maxLength(4096), z.regex(/^[^\0]*$/, 'must not contain a null character')),
);

const program = z.lazy(() =>
  z
    .string()
    .check(
      z.refine(
        (text) => archived.test(text) || commandName.safeParse(text).success,
        'must be bin/<file>, a program of the archive, or the bare name of a program of the host',
      ),
    ),
);

/** `command` of an artifact with `implementation: mcp`: the program and its arguments; no shell reads them. */
const serverCommand = z.lazy(() => z.tuple([program], word).check(z.maxLength(100)));

/** `url` of an artifact with `implementation: mcp`: a server on the web, whose tools the archive has in `tools.json`. */
const serverUrl = z.lazy(() =>
  z.string().check(
    z.refine((text) => endpointFault(text) === undefined, {
      error: ({ input }) => endpointFault(String(input)),
    }),
  ),
);

/** The file of the archive that such a command starts; null when it starts a program of the host. */
export function serverFile([first = '']: readonly string[]): string | null {
  return archived.test(first) ? first : null;
}

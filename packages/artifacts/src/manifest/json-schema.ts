/** Makes the JSON Schema of `svc.yaml`, which editors check manifests with and which describes each key. */

import * as z from 'zod/mini';

import { isJsonObject, type JsonObject } from '@svc/protocol/json-object.ts';
import { artifactManifest, capsuleManifest } from './schema.ts';

/** A JSON Schema, or a part of one. */
type JsonSchema = JsonObject;

/**
 * The JSON Schema (draft 7, which editors know best) of `svc.yaml`: an artifact's when it has a top-level `runtime`,
 * a capsule's otherwise. It cannot express rules across keys and `${VARIABLE}` references. It is too slow for the start of a capsule.
 */
export function manifestJsonSchema(): JsonSchema {
  return {
    $schema: 'http://json-schema.org/draft-07/schema#',
    title: 'svc.yaml',
    description: 'Manifest of a capsule or of an artifact.',
    type: 'object',
    allOf: [
      { if: { required: ['runtime'] }, else: { $ref: '#/definitions/capsule' } },
      { if: { not: { required: ['runtime'] } }, else: { $ref: '#/definitions/artifact' } },
    ],
    definitions: {
      capsule: described(capsuleManifest, { title: 'Capsule manifest', keys: capsuleKeys }),
      artifact: described(artifactManifest, { title: 'Artifact manifest', keys: artifactKeys }),
    },
  };
}

interface Texts {
  readonly title: string;
  readonly keys: Readonly<Record<string, string>>;
}

function described(schema: z.core.$ZodType, { title, keys }: Texts): JsonSchema {
  const { $schema: _, ...generated } = z.toJSONSchema(schema, { io: 'input', target: 'draft-7' });
  return { title, ...withDescriptions(generated, { keys, path: '' }) };
}

interface Described {
  readonly keys: Texts['keys'];
  /** The path of the key that the schema is for, spelt as in the tables. */
  readonly path: string;
}

function withDescriptions(schema: JsonSchema, described: Described): JsonSchema {
  const description = described.keys[described.path];
  return { ...(description === undefined ? {} : { description }), ...withInnerDescriptions(schema, described) };
}

function withInnerDescriptions(schema: JsonSchema, described: Described): JsonSchema {
  const parts = Object.entries(schema)
    // A default that stands for "not given" says nothing to a reader.
    .filter(([keyword, value]) => keyword !== 'default' || value !== '')
    .map(([keyword, value]) => [keyword, describedPart(keyword, value, described)] as const);
  return Object.fromEntries(parts);
}

function describedPart(keyword: string, value: unknown, { keys, path }: Described): unknown {
  switch (keyword) {
    case 'properties':
      return describedProperties(value, { keys, path });
    case 'additionalProperties':
      return isJsonObject(value) ? withDescriptions(value, { keys, path: `${path}.*` }) : value;
    case 'items':
      return isJsonObject(value) ? withDescriptions(value, { keys, path: `${path}[]` }) : value;
    case 'anyOf':
      return Array.isArray(value)
        ? value.map((option: unknown) =>
            isJsonObject(option) ? withInnerDescriptions(option, { keys, path }) : option,
          )
        : value;
    default:
      return value;
  }
}

function describedProperties(properties: unknown, { keys, path }: Described): JsonSchema {
  const entries = isJsonObject(properties) ? Object.entries(properties) : [];
  return Object.fromEntries(
    entries.map(([key, schema]) => {
      const inner = path === '' ? key : `${path}.${key}`;
      return [key, isJsonObject(schema) ? withDescriptions(schema, { keys, path: inner }) : schema];
    }),
  );
}

/** The keys below a verdict of a rule of `approvals`. */
function ruleKeys(verdict: string, means: string): Readonly<Record<string, string>> {
  const at = `approvals.rules[].${verdict}`;
  const later = 'Not decided by this version of svc, which refuses it.';
  return {
    [at]: `${means} One of tool, command, spawn and request; path stands beside tool.`,
    [`${at}.tool`]: 'Calls of this tool, or of every tool of this artifact.',
    [`${at}.args`]: 'Arguments of the tool, each compared with its JSON value.',
    [`${at}.command`]: 'The words of a command. a|b is one of two words, * is one word, ** is any number of words.',
    [`${at}.spawn`]: 'Delegating to this capsule.',
    [`${at}.request`]:
      'An HTTP request, as POST https://api.github.com/repos/**, to a host of network.allow with rules or a credential.',
    [`${at}.path`]:
      'Files that the component of the tool changes, as it sees them. * is one segment, ** is any number of segments.',
    [`${at}.access`]: 'write, the default and only one: opening for writing, removing, renaming, linking.',
    [`${at}.spend`]: later,
    [`${at}.every`]: later,
  };
}

/** What each key of a capsule's `svc.yaml` means, for editors and the documentation. `[]` stands for a list position. */
export const capsuleKeys: Readonly<Record<string, string>> = {
  name: 'Name of the capsule: lowercase letters, digits and inner hyphens, at most 100 characters.',
  version: 'Version of the capsule, such as 1.0.0. Put it in quotes when it looks like a number.',
  description: 'One line for people and for the registry index.',
  artifacts: 'Drivers, tools, hooks and skills the capsule runs with.',
  'artifacts[].name': 'Name of the artifact, once in the list.',
  'artifacts[].version': 'Exact version. latest, stable and edge are reserved.',
  'artifacts[].runtime': 'The part the artifact plays.',
  'artifacts[].range':
    'The versions that svc update chooses from, such as ^1.2.0. Nothing else looks at it: what runs is version.',
  'artifacts[].from':
    'Where it comes from instead of the registry in use: github:<owner>/<repo>@<tag>, github:<owner>/<repo>@<tag or commit>#<folder> of a skill, oci://<host>/<repository>, or mcp+https://<host>/<path>, an MCP server on the web.',
  'artifacts[].auth':
    'What an MCP server on the web is shown: ${NAME}, the variable of a bearer token; { header, value: ${NAME} }; or login, for the login of svc login.',
  'artifacts[].auth.header': 'The header that has it.',
  'artifacts[].auth.value': 'The variable that holds it, as ${NAME}.',
  'artifacts[].auth.client_id': 'The client that gets tokens for it, for which no person logs in.',
  'artifacts[].auth.client_secret': 'The variable that holds its secret, as ${NAME}.',
  'artifacts[].auth.issuer': 'The authorization server that gets the secret, and no other.',
  'artifacts[].source': 'A local directory or archive to take it from instead of the registry.',
  'artifacts[].tools':
    'The tools of an MCP server that are offered, by their names, with * for any part; { <name>: <another name> } has the model know one by another. All that it lists where absent. Of a skill, what may be called while it is in use, in place of its allowed-tools; capsule narrows nothing.',
  'artifacts[].runs':
    'Programs of the host that the program of a native tool or an MCP server may run besides. The model does not get them.',
  'artifacts[].env': 'Variables set for the program of a native tool or an MCP server, best ${VARIABLE} for a key.',
  'artifacts[].capabilities': 'Narrows what the capsule grants; a hook has only what is listed here. Not for skills.',
  'artifacts[].capabilities.filesystem': 'The part of the workdir this artifact sees.',
  'artifacts[].capabilities.filesystem.scope': 'Path below the workdir; nothing beside it is seen.',
  'artifacts[].capabilities.filesystem.read_only': 'True forbids writing.',
  'artifacts[].capabilities.filesystem.workdir_exec': 'False forbids executing files of the workdir.',
  'artifacts[].capabilities.filesystem.host_read':
    'Paths of the host that the program of this artifact reads, each within the capsule’s own list.',
  'artifacts[].capabilities.network': 'Where this artifact may connect to.',
  'artifacts[].capabilities.network.allow':
    'host, host:port or http(s)://host[:port], each within the capsule’s own list.',
  'artifacts[].capabilities.network.unix_sockets': 'False forbids the use of unix sockets.',
  'artifacts[].capabilities.env': 'Environment variables this artifact sees.',
  'artifacts[].capabilities.env.allow': 'Variable names, each in the capsule’s own list.',
  'artifacts[].capabilities.state': 'Directories kept between sessions.',
  'artifacts[].capabilities.state.store': 'A store name or a list; without one, a store named after the capsule.',
  'artifacts[].capabilities.limits': 'Bounds of one call, at most the capsule’s.',
  'artifacts[].capabilities.limits.memory': 'Bytes, or a number with Ki, Mi or Gi.',
  'artifacts[].capabilities.limits.deadline':
    'Seconds, or a number with s, m or h. A hook has 30s unless it says more.',
  'artifacts[].config': 'Reserved: handed to nobody yet.',
  skills: 'Skills that need no entry of artifacts.',
  'skills.discover':
    'Folders below that of the manifest, such as .agents/skills: each folder directly in one that has a SKILL.md is a skill once svc install has recorded it.',
  inference: 'The model and how it is reached.',
  'inference.transport': 'http: through a driver artifact. process: through a program that is started for each task.',
  'inference.insecure_http':
    'True allows an endpoint with http at a private address in digits, which anybody on the way can read.',
  'inference.endpoint':
    'Address of the provider as its maker prints it: https, or http to a loopback address. The driver adds what is missing of the path.',
  'inference.model': 'Model name passed to the provider.',
  'inference.api_key': 'Provider key, best as ${VARIABLE}. Only the host ever holds it.',
  'inference.driver': 'The driver of transport http.',
  'inference.driver.artifact':
    'A driver of artifacts, or a bundled one: svc-driver-openai, svc-driver-anthropic, svc-driver-script.',
  'inference.driver.config': 'Settings of the driver.',
  'inference.command': 'The program of transport process: one line or a list of words; no shell reads it.',
  'inference.system_prompt': 'System prompt.',
  'inference.system_prompt_file': 'A file below the manifest that holds the system prompt instead.',
  'inference.project_text':
    'Files such as AGENTS.md, of which the first that lies in the folder of the session is put before a conversation, fenced. Without it none is read.',
  'inference.max_turns': 'Inference turns of one task.',
  'inference.max_tokens': 'Output tokens of one turn.',
  'inference.max_session_tokens': 'Ceiling of all tokens of a session; a call that would pass it fails the task.',
  'inference.timeout_secs': 'How long the model may take.',
  'inference.timeout_secs.idle': 'Seconds without a sign of life of it.',
  'inference.timeout_secs.total': 'Seconds for a whole response, the retries of its driver included.',
  'inference.context': 'The context window.',
  'inference.context.max_tokens': 'Size of the window. Without it the conversation is never compacted.',
  'inference.compaction': 'When the conversation is shortened.',
  'inference.compaction.threshold': 'Share of the window in use at which it happens.',
  lifecycle: 'How many tasks a session takes and when it ends.',
  'lifecycle.task_acceptance':
    'none: the first task only. single: one message if there is no first task. queue: messages, one after another.',
  'lifecycle.queue_depth': 'Tasks that may wait; the running one does not count.',
  'lifecycle.after_task': 'exit ends the session with its task. sleep, with queue, keeps it up until it is stopped.',
  'lifecycle.conversation': 'stateless: each task starts afresh. threaded: tasks of one context share a conversation.',
  'lifecycle.max_task_reopens': 'How often an on-task-end hook may reopen a completed task.',
  'lifecycle.input_timeout_secs':
    'Seconds to wait for an answer that a tool asks for; without it 1800 for a task that came through a door, else for ever.',
  'lifecycle.delegation_deadline_secs': 'Seconds a delegated child may run.',
  'lifecycle.shell_grace_secs':
    'Seconds after which a running command moves to the background; 10, or 600 in a session that ends with its task.',
  approvals: 'Which calls run, which a person is asked about, and which are refused. Without it every call runs.',
  'approvals.default': 'What becomes of a call that no rule matches.',
  'approvals.opaque': 'What becomes of a command line that svc cannot read for sure, unless a rule denies it.',
  'approvals.timeout': 'How long an answer is waited for, 1s to 24h; then the call is denied.',
  'approvals.answer':
    'Who is asked and may answer: the person at the terminal, by svc approve or in the editor that started the session, clients whose door token has the scope answer, or those of MCP by a form. Without it all but mcp.',
  'approvals.rules': 'Of all rules that match a call, deny beats ask beats allow. Their order means nothing.',
  ...ruleKeys('allow', 'What runs without a question.'),
  ...ruleKeys('ask', 'What a person is asked about.'),
  ...ruleKeys('deny', 'What never runs.'),
  trace: 'What is recorded of a session beside its trace.',
  'trace.capture':
    'none: nothing. meta: hashes and sizes, enough to see where two sessions differ. content, the default: every text, enough to run it again.',
  'trace.components':
    'With `capture: content`, whether what components are answered by their imports is kept too, for `svc run --replay --components`.',
  'trace.max_body': 'The longest text that is kept whole.',
  'trace.max_bytes': 'What a journal may take; from there on hashes and sizes alone are kept.',
  'trace.keep': 'Which journals of this workspace stay when a later session begins; the oldest go first.',
  'trace.keep.sessions': 'How many, that of the later session included.',
  'trace.keep.age': 'Since they were last written.',
  'trace.keep.bytes': 'Of all of them, with their long texts.',
  network: 'The capsule’s own listener.',
  'network.internal_port': 'Fixed port of the listener instead of a free one.',
  capabilities: 'Everything the agent may touch. What is not granted here is refused.',
  'capabilities.containment': 'The least the host must enforce; a weaker host refuses to run the capsule.',
  'capabilities.filesystem': 'Narrows the workdir.',
  'capabilities.filesystem.scope': 'Path below the workdir; nothing beside it is seen.',
  'capabilities.filesystem.read_only': 'True forbids writing.',
  'capabilities.filesystem.workdir_exec': 'True allows executing files of the workdir.',
  'capabilities.filesystem.host_read':
    'Absolute paths of files and folders of this machine that programs may read, and whose programs they may run. Nothing there can be written.',
  'capabilities.project': 'A folder of the person who runs the capsule: programs and tools see it as project/.',
  'capabilities.project.path':
    'Path below the folder of this manifest, . for that itself. Without it, --project of svc run names the folder.',
  'capabilities.project.write':
    'True lets files of the folder be changed and removed; without it the folder is read only.',
  'capabilities.project.mask':
    'Paths below the folder that nobody is shown, beside .env*, .ssh, .svc and the manifest itself.',
  'capabilities.network': 'Outbound connections.',
  'capabilities.network.allow':
    'host, host:port or http(s)://host[:port]; or a block that holds requests to it. The endpoint of the model need not be listed.',
  'capabilities.network.allow[].host': 'One origin: https://host[:port], on this machine http:// too.',
  'capabilities.network.allow[].rules':
    'The requests that may be made, as GET /repos/acme/**: * is one segment, ** the rest. Without it every one.',
  'capabilities.network.allow[].credential': 'The name of a credential that is put into requests to it, and no other.',
  'capabilities.network.allow[].foreign': 'allow lets requests have another credential instead.',
  'capabilities.credentials': 'Keys that svc puts into requests itself, so that nobody else has them, by their names.',
  'capabilities.credentials.*.value': 'The key, best as ${VARIABLE}. Only the host ever holds it.',
  'capabilities.credentials.*.for': 'Who gets it: shell for commands, and names of artifacts.',
  'capabilities.credentials.*.header': 'The header that has it.',
  'capabilities.credentials.*.scheme':
    'bearer: after the word Bearer, which authorization has without it. basic: as a password. raw: alone, which other headers have. sigv4: a signature of AWS. oauth2: as an access token that is had for it.',
  'capabilities.credentials.*.user': 'The user of scheme basic, the access key of sigv4, the client of oauth2.',
  'capabilities.credentials.*.region': 'The region that scheme sigv4 signs for.',
  'capabilities.credentials.*.service': 'The service that scheme sigv4 signs for, as s3.',
  'capabilities.credentials.*.session_token':
    'What goes with a key of sigv4 that expires, best as ${VARIABLE}. Only the host ever holds it.',
  'capabilities.credentials.*.token_endpoint': 'Where scheme oauth2 has access tokens for its value, a refresh token.',
  'capabilities.credentials.*.client_secret':
    'What the client of oauth2 shows there, best as ${VARIABLE}. Only the host ever holds it.',
  'capabilities.credentials.*.env': 'A variable that gets a placeholder, which svc replaces by the key.',
  'capabilities.credentials.*.shape': 'What the placeholder begins with, for programs that look at it.',
  'capabilities.network.unix_sockets': 'True allows the use of unix sockets.',
  'capabilities.shell': 'Programs the model may run; each becomes a tool.',
  'capabilities.shell.allow': 'Bare command names. Naming an interpreter allows any code.',
  'capabilities.spawn': 'Capsules this one may delegate to.',
  'capabilities.spawn.allow': 'Capsule names.',
  'capabilities.env': 'Environment variables that tools, commands and delegated children see.',
  'capabilities.env.allow': 'Variable names.',
  'capabilities.peer_fetch': 'Peer capsules whose shared files may be fetched.',
  'capabilities.peer_fetch.allow': 'host, host:port or http(s)://host[:port].',
  'capabilities.state': 'Directories kept between sessions, for every tool and driver that declares none of its own.',
  'capabilities.state.store': 'A store name or a list; without one, a store named after the capsule.',
  'capabilities.plan': 'Plans of several steps.',
  'capabilities.plan.submit': 'True gives the model the submit-plan tool.',
  'capabilities.limits': 'Bounds of one call of a component.',
  'capabilities.limits.memory': 'Bytes, or a number with Ki, Mi or Gi.',
  'capabilities.limits.deadline': 'Seconds, or a number with s, m or h. Without it 600s, for hooks 30s.',
  'capabilities.resources': 'Bounds of each program the capsule starts.',
  'capabilities.resources.processes': 'Processes and threads.',
  'capabilities.resources.open_files': 'Open files.',
  'capabilities.resources.file_size': 'Size of one written file, in bytes or with Ki, Mi or Gi.',
  'capabilities.resources.cpu': 'Processor time, in seconds or with s, m or h.',
  'capabilities.resources.memory': 'Memory, in bytes or with Ki, Mi or Gi.',
  'capabilities.resources.session_processes':
    'Processes and threads of all programs of the session together. Without it as many as processes, where that can be held.',
  'capabilities.resources.session_memory':
    'Memory of all programs of the session together, in bytes or with Ki, Mi or Gi. Without it no limit.',
  'capabilities.resources.enforce':
    'Whether a host that cannot hold one of these limits is refused (required) or used all the same (available).',
  'capabilities.resources.workdir_max_bytes': 'Size of the whole workdir, in bytes or with Ki, Mi or Gi.',
  doors: 'Protocols beside its own that the capsule can be reached by.',
  'doors.serve':
    'Which of a2a, mcp and openai it serves; an empty list serves none. Left out, it serves all that this version has.',
  'doors.push': 'Notifications of tasks, which clients of the A2A door ask for.',
  'doors.push.allow':
    'Where they may be sent: a host, host:port, or http(s)://host:port; with private: true also in a private network or on this machine. Without it none are.',
  'doors.push.allow[].host': 'A host, host:port, or http(s)://host:port.',
  'doors.push.allow[].private': 'Whether the host may be in a private network or on this machine.',
  notify: 'Where you hear of questions, of ends of tasks and of serious refusals.',
  'notify.webhook': 'The address that gets them: https, or http on this machine.',
  'notify.secret': 'Of a webhook: what they are signed with, best as ${VARIABLE}; as whsec_… or as it is.',
  'notify.ntfy': 'The topic of an ntfy server that gets them, such as https://ntfy.sh/<topic>, in place of a webhook.',
  'notify.token': 'Of an ntfy server: the access token that it is shown, best as ${VARIABLE}.',
  exports: 'Files of the workdir that others may read.',
  'exports.files': 'Read by path by the operator’s own programs.',
  'exports.files.root': 'Path below the workdir. It need not exist yet.',
  'exports.files.max_bytes': 'Largest file served, in bytes or with Ki, Mi or Gi.',
  'exports.peer_files': 'Shared with peer capsules, file by file, by handle.',
  'exports.peer_files.root': 'Path below the workdir that handles may name files of.',
  'exports.peer_files.max_bytes': 'Largest file served, in bytes or with Ki, Mi or Gi.',
  'exports.peer_files.max_ttl':
    'Longest life of a handle: 1h by default, required and at most 15m with after_task: sleep.',
};

/** What each key of an artifact's `svc.yaml` means. */
export const artifactKeys: Readonly<Record<string, string>> = {
  name: 'Name of the artifact: lowercase letters, digits and inner hyphens, at most 100 characters.',
  version: 'Version of the artifact. latest, stable and edge are reserved.',
  runtime: 'The part the artifact plays.',
  implementation:
    'wasm: a component in component.wasm. native: a program in bin/. mcp: a server of the Model Context Protocol.',
  url: 'Of implementation: mcp: the address of a server on the web, instead of a command; tools.json has its tools.',
  command:
    'The server of implementation: mcp, as a list of words: bin/<file> of the archive or a program of the host first.',
  description: 'What it does; the model reads this of a tool or skill.',
  input_schema: 'JSON Schema of a tool’s arguments.',
  tags: 'Words to find it by.',
  binding: 'Event or events a hook is called at; without it, every event.',
  execution_mode: 'blocking: the session waits for the hook. async: it does not, and the hook commits nothing.',
  commit_policy: 'What a hook may change at its events: one thing or a list. Without it, nothing.',
  on_overflow:
    'Of an async hook with 256 events waiting. wait: the session waits. drop: it does not hear of the newest ones.',
};

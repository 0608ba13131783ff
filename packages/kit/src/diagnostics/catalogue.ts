/** Every error and warning code, with what it means and what to do. */

import { artifactCodes } from './artifact-codes.ts';
import type { CatalogueEntry } from './catalogue-entry.ts';
import { commandCodes } from './command-codes.ts';
import { doorCodes } from './door-codes.ts';
import { firstMinuteCodes } from './first-minute-codes.ts';
import { journalCodes } from './journal-codes.ts';
import { serverCodes } from './server-codes.ts';
import { sessionCodes } from './session-codes.ts';
import { telemetryCodes } from './telemetry-codes.ts';

/**
 * Every code that `svc` and its servers print. `E-` stops the work, `W-` does not.
 * A code is never reused for another condition.
 */
export const catalogue = {
  ...artifactCodes,
  'E-CAP-017': {
    title: 'a state store is not a directory of its own',
    explanation:
      'A store is the directory ~/.svc/state/<name>. A link or a file stands in its place, or in that of ~/.svc/state: what it leads to could be anything. Remove it, or move the directory there.',
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
  'E-CAP-004': {
    title: 'SVC_CONTAINMENT_CEILING is not a containment class',
    explanation:
      'SVC_CONTAINMENT_CEILING limits the containment class that is used. It takes advisory, scoped or sealed; unset, the strongest the host offers is used.',
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
  'E-CAP-015': {
    title: 'what makes the attempts of svc doctor is not there',
    explanation:
      'svc doctor --containment makes its attempts with the program svc-attempts, which is installed beside the helper svc-launch. Install svc anew; in a checkout, npm run build:native puts both there, or says what it needs for that.',
  },
  'E-CAP-016': {
    title: 'the server of an artifact is a program that is not granted',
    explanation:
      'The command of an artifact with implementation: mcp begins with a program of the host. It may run only when capabilities.shell.allow lists it.',
  },
  'E-CAP-018': {
    title: 'a limit that is required is not held here',
    explanation:
      'capabilities.resources.enforce is required, and on this host nothing holds one of the limits, or only svc itself by looking, which is too late for a fast program. svc run --explain-scope says by what each is held, and docs/containment.md what to change.',
  },
  'E-CAP-019': {
    title: 'a request to the sandbox cannot be used',
    explanation:
      'The library and svc-sandbox take paths that are there and are no links, whole numbers above 0 as limits, and a command. The message says what was given and what is wrong with it.',
  },
  'E-CAP-020': {
    title: 'the containment class cannot hold a grant of the sandbox',
    explanation:
      'Hosts of the network, and a part of a writable directory that may be read only, are held in class sealed alone. In another class the command would get more than was granted, so nothing is started.',
  },
  'E-CAP-021': {
    title: 'the sandbox did not start a command',
    explanation:
      'The program is not there, cannot be run, or a step of its containment failed; the message says which. Nothing ran. svc-sandbox exits with 127, 126 or 125 for these.',
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
  'E-RUN-019': {
    title: 'a capsule that delegates knows no referee',
    explanation:
      'capabilities.spawn.allow is declared, and SVC_REFEREE_URL is not set or is no address of a referee. Start svc-referee and set the variable to the address it prints, such as http://127.0.0.1:7700.',
  },
  'E-RUN-020': {
    title: 'SVC_SPAWNER cannot be read',
    explanation:
      'A parent capsule hands its child a spawner handle in SVC_SPAWNER, as JSON. The variable holds something else. Unset it to run the capsule by hand.',
  },
  'E-RUN-024': {
    title: 'there is nothing to run',
    explanation: 'lifecycle.task_acceptance is none and neither --task nor a task.md beside the manifest was given.',
  },
  'E-RUN-025': {
    title: 'the manifest asks for something this version cannot do',
    explanation:
      'Versions that could not run hooks refused a capsule that declares one: running without it would do less than promised. This version runs them.',
  },
  'E-RUN-026': {
    title: 'no such running capsule',
    explanation: 'The session named is not running on this machine for this user, or the name fits several.',
  },
  'E-RUN-027': {
    title: 'a capsule did not stop in time',
    explanation:
      'The process did not end within 20 seconds of being asked to. It can be killed; its trace stays readable.',
  },
  'E-RUN-028': {
    title: 'the workdir has outgrown its limit, or cannot be held to it',
    explanation:
      'The files of the workdir hold more than capabilities.resources.workdir_max_bytes, files included that were removed and that a program still holds; or a part of the workdir cannot be looked at, so that nobody knows. The session ends, because its task could not be trusted to stop.',
  },
  'E-RUN-029': {
    title: 'the workdir holds the workspace or what svc keeps',
    explanation:
      'The agent could alter the manifest, the trace or the artifact store. Give it a directory of its own, outside the .svc directories of the workspace and of the user. The workdir of a child is to be the very directory that its parent made: a link on the way there could lead to any of these.',
  },
  'E-RUN-030': {
    title: 'the script of a scripted model cannot be read',
    explanation: 'inference.driver.config.script names a file below the manifest that is missing or cannot be read.',
  },
  'E-RUN-031': {
    title: 'a kept conversation cannot be read',
    explanation:
      'With --workdir, threaded conversations are kept below .svc/conversations. The file named is damaged, or was written by another version. A task of its context fails rather than start from nothing. Restore the file, or remove it to let the context begin anew.',
  },
  'E-RUN-032': {
    title: 'a conversation is too long to be kept',
    explanation:
      'A threaded conversation of more than 16 MiB is not kept, and the task that made it so long fails; what was kept before stays. Set inference.context.max_tokens to have it compacted, or begin another context.',
  },
  'E-RUN-033': {
    title: 'another session has the conversations of this workdir',
    explanation:
      'Threaded conversations belong to the workdir given with --workdir, and one session of a capsule at a time has them. Stop the other session, or give this one a workdir of its own.',
  },
  'E-RUN-036': {
    title: 'an MCP server did not tell its tools',
    explanation:
      'The server of an artifact with implementation: mcp has to be asked for its tools before the first session with it. It could not be started, ended, broke the protocol or did not answer in time; the message has its last words.',
  },
  'E-RUN-037': {
    title: 'the referee does not admit this session',
    explanation:
      'The session has to be registered with the referee, and it refused. A capsule that is started by hand must be named by --spawn-allow of svc-referee and be in its artifact store in the same version; an approval is good for one launch within 60 seconds.',
  },
  'E-RUN-038': {
    title: 'the referee cannot be asked',
    explanation:
      'Nothing answers at SVC_REFEREE_URL, or what answers is no referee. Start svc-referee, or correct the variable.',
  },
  'E-RUN-039': {
    title: 'the approval of a delegated launch cannot be read',
    explanation:
      'With --spawn-approval-stdin, which only a parent capsule gives, the approval of the referee is read from standard input up to its end. It was empty, too long, or did not end in time.',
  },
  'E-RUN-053': {
    title: 'the workdir holds what svc would replace',
    explanation:
      'A session writes its first task to task.md in the workdir and results to out/result.txt, and keeps files of peers in peer-in. Something stands there that svc did not write, and nothing has been run. svc remembers what it wrote in .svc/workdirs beside the manifest and in the home directory; where both are lost, its own files are taken for yours. A file that svc wrote and that was changed since is moved aside instead (W-RUN-053).',
  },
  'E-RUN-057': {
    title: 'a capsule does not serve what a command needs',
    explanation:
      'The agent card of the capsule lists the methods that it answers, and the one that the command calls is not among them: it runs under another version of svc. Nothing was asked of it. Of svc serve mcp: its manifest closes the door that is wanted (doors.serve), or its version has none.',
  },
  'E-RUN-058': {
    title: 'the event stream of a session cannot be kept',
    explanation:
      'Frames longer than 64 KiB, such as the whole result of a tool, are kept in a nameless file of the session directory until 512 newer ones have come. It could not be written or read, mostly because the disk is full, more than 16 MiB were held in memory already, and the session ended.',
  },
  'E-RUN-064': {
    title: 'the model did not answer in time',
    explanation:
      'A model that gives no sign of life for inference.timeout_secs.idle seconds, or does not end its response within inference.timeout_secs.total, fails its task. Any byte of a response counts as a sign of life, and so does any line of a program. Raise the limit for a slow model. The driver of inference.transport: http is held to capabilities.limits.deadline besides.',
  },
  'W-MAN-001': {
    title: 'sleep has no effect',
    explanation:
      'lifecycle.after_task: sleep keeps a session up for more tasks, which only lifecycle.task_acceptance: queue accepts. The session ends after its task.',
  },
  'W-ART-001': {
    title: 'a component is older than its source',
    explanation:
      'component.wasm is packed as it is, and component.ts beside it has been changed after it was built. svc build builds it anew.',
  },
  'W-ART-002': {
    title: 'a component cannot be built again with the same bytes',
    explanation:
      'svc brings an engine for one version of componentize-qjs, with which the same source gives the same bytes on every machine. Another version is installed beside component.ts, and was used with an engine of its own. Such a component works; but nobody can build it again and compare. Install the version that the hint names.',
  },
  'W-REG-002': {
    title: 'svc.lock is not written yet',
    explanation:
      'One artifact was installed by its name, and the project has no svc.lock. It would hold every artifact of the manifest or be refused by svc run, and some are not on this machine. svc install without an argument installs them and writes it; so does svc run.',
  },
  'W-RUN-001': {
    title: 'a task that looks like a path was taken as text',
    explanation:
      '--task names an existing file, or is the task itself. The value looks like a path but no such file exists.',
  },
  'W-RUN-065': {
    title: 'svc waits for the end of standard input',
    explanation:
      'What is piped into svc -p is part of the task, so all of it is read before anything runs. For three seconds it has not ended. A program that starts svc with a pipe and never closes it should give it /dev/null.',
  },
  'W-RUN-002': {
    title: 'a declared part of the manifest is not available in this version',
    explanation: 'The capsule runs without it. The message says what it does without.',
  },
  'W-RUN-003': {
    title: 'a command that is listed cannot be run on this host',
    explanation:
      'capabilities.shell.allow names a command that is not in PATH or not executable, or that needs a file that is not there. Its tool answers every call with that.',
  },
  'W-RUN-004': {
    title: 'nothing compacts the conversation',
    explanation:
      'inference.context.max_tokens says when a conversation is too long, but no hook of the capsule is bound to on-compaction with commit_policy: replace-context. It goes to the model as it is. svc-hook-compact is one that compacts.',
  },
  'W-RUN-006': {
    title: 'not all tools of an MCP server are offered',
    explanation:
      'A server may list at most 128 tools, with names of the protocol, each name once, and with input schemas that can be used and are not too large. The message says what was left out.',
  },
  'W-RUN-007': {
    title: 'the tools of an MCP server are not those it listed before',
    explanation:
      'A session offers the tools that the server listed when it was last asked. The next session with this artifact offers what it lists now.',
  },
  'W-RUN-008': {
    title: 'the end of a delegation was not told to the parent',
    explanation:
      'A delegated session posts one completion to the capsule that delegated to it. That capsule has ended, or refused it; completion.json in the workdir has the reason. The session itself is not failed by it.',
  },
  'W-RUN-053': {
    title: 'a changed file of an earlier session was moved aside',
    explanation:
      'svc wrote a file into the workdir in an earlier session, and it has been changed since, by the agent or by you. This session writes to that place again, so that what stood there has got the name in the message.',
  },
  'W-RUN-060': {
    title: 'two sessions work in one directory',
    explanation:
      'The directory of --workdir, or one around it or below it, is the workdir of another live session of this user. Both go on. Each replaces what the other wrote to task.md and out/result.txt, their agents change the same files, and workdir_max_bytes counts what both write. svc ps --json lists the live sessions with their workdirs.',
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
    explanation:
      'The listener is bound to an address that is not loopback, SVC_LISTENER_TOKEN is not set, and there are no door tokens (svc token).',
  },
  'W-SEC-032': {
    title: 'a declared limit is not enforced on commands and programs',
    explanation:
      'Components are held to every grant by svc itself; commands, native tools and process drivers by the kernel, and this host, or its operator, offers less than the manifest declares. Declare capabilities.containment to refuse such a host.',
  },
  ...commandCodes,
  ...doorCodes,
  ...firstMinuteCodes,
  ...journalCodes,
  ...sessionCodes,
  ...serverCodes,
  ...telemetryCodes,
} as const satisfies Record<string, CatalogueEntry>;

export type DiagnosticCode = keyof typeof catalogue;

/** Says what a session can do although its grants might suggest otherwise. */

import { isInterpreter } from '@svc/kit/interpreters.ts';
import { isBundledDriver } from '@svc/artifacts/manifest/names.ts';
import type { ScopeObject } from '@svc/artifacts/grants/scope-object.ts';
import type { HeldLimit } from '@svc/protocol/held-limit.ts';
import { impliedCommands } from '@svc/sandbox/closure/profiles.ts';

/** One thing that processes can do although a reader of the grants might think otherwise. */
interface Gap {
  /** A whole sentence for an operator. */
  readonly text: string;
  /** When the grants make it matter; always, when absent. */
  readonly when?: (scope: ScopeObject) => boolean;
}

/** What enforces: the classes, `advisory` being two different things (D1 "Mechanism values"). */
type Enforcement = 'nothing' | 'seccomp-only' | 'scoped' | 'sealed';

const outlives: Gap = {
  text: 'A process that detaches itself can go on running after the session has ended.',
  // A control group ends with the session, and all that is in it.
  when: ({ limits }) => !limits.some(({ held_by: by }) => by === 'cgroup-v2' || by === 'cgroup-v1'),
};
const othersPriority: Gap = {
  text: 'Other processes of that user can be slowed down: their priority and the processors they run on can be changed.',
};
const kernelBugs: Gap = { text: 'A bug of the kernel can undo all of this.' };
const memoryOfEach: Gap = {
  text: 'Memory and processor time are limited for each process: what processes share does not count, and many together can take more.',
  when: (scope) => heldBy(scope, 'memory', 'session') === 'none',
};
const memoryLookedAt: Gap = {
  text: 'The memory of all programs is added up four times a second, without what they share: a fast one can take more for a moment. Processor time is limited for each process.',
  when: (scope) => heldBy(scope, 'memory', 'session') === 'watched',
};
const betweenMeasures: Gap = {
  text: 'workdir_max_bytes is measured when a task begins and after tool calls: within one command more can be written, and removed again.',
};
const hiddenFiles: Gap = {
  text: 'Files that were removed do not count toward workdir_max_bytes while the program that holds them hides its descriptors, one of these is on its way through a socket, or the path was longer than 4,096 bytes and the program has detached itself.',
};
const timeOfEach: Gap = {
  text: 'Processor time is limited for each process: many together can take more.',
  when: (scope) => ['cgroup-v2', 'cgroup-v1'].includes(heldBy(scope, 'memory', 'session') ?? ''),
};
const anyProcesses: Gap = {
  text: 'The number of processes is not limited: svc runs as root, and nothing was found here that holds root to a number.',
  when: (scope) => heldBy(scope, 'processes', 'session') === 'none' && isUnbounded(scope, 'processes', 'program'),
};
const processesOfEach: Gap = {
  text: 'The number of processes is limited for each program that is started: many together can have more.',
  when: (scope) => heldBy(scope, 'processes', 'session') === 'none' && !isUnbounded(scope, 'processes', 'program'),
};
const processesOfUser: Gap = {
  text: 'The number of processes is counted for the user who runs svc: others of that user that end meanwhile make room for more.',
  when: (scope) => scope.limits.some((limit) => limit.resource === 'processes' && limit.held_by === 'user'),
};
const shared: readonly Gap[] = [
  memoryOfEach,
  memoryLookedAt,
  timeOfEach,
  betweenMeasures,
  hiddenFiles,
  anyProcesses,
  processesOfEach,
];
const codeItIsGiven: Gap = {
  text: 'Code that was never a file can run: a script by its interpreter, instructions that a program writes into its memory.',
};
const sendsAnything: Gap = {
  text: 'What can be read here can be sent to any destination of network allow.',
  when: ({ network_allow: allow }) => allow.length > 0,
};
const sendsArguments: Gap = {
  text: 'What can be read here can be sent to the MCP servers on the web, as arguments of their tools.',
  when: ({ mcp_servers: servers = [] }) => servers.length > 0,
};
const localNetwork: Gap = {
  text: 'A name of network allow may lead to an address of the local network.',
  when: ({ network_allow: allow }) => allow.length > 0,
};
const writableHome: Gap = {
  text: 'Processes write to .svc/home in the workdir, their home, whatever read_only and the filesystem scope say.',
  when: (scope) =>
    scope.read_only ||
    scope.filesystem_scope !== null ||
    scope.preopens.some(({ runtime, path, writable }) => runtime === 'tool' && (path !== '.' || !writable)),
};
const ownPrograms: Gap = {
  text: 'Programs that the agent writes into the workdir or fetches there can run, whatever shell allow says.',
  when: (scope) => scope.workdir_exec,
};
const hostPrograms: Gap = {
  text: 'Programs in the files and folders of host read can run, whatever shell allow says.',
  when: ({ host_read: paths = [] }) => paths.length > 0,
};
const hostSockets: Gap = {
  text: 'Services of the host whose UNIX sockets lie in host read can be reached.',
  when: ({ host_read: paths = [], unix_sockets: sockets }) => sockets && paths.length > 0,
};
const loadedFromStore: Gap = {
  text: 'The loader of the system can be made to run a copy of a program in a state store.',
  when: ({ preopens }) => preopens.some(({ runtime, state }) => runtime === 'tool' && state !== undefined),
};
const pathSockets: Gap = {
  text: 'Services of the host that listen on a UNIX socket can be reached by its path, a container engine among them.',
  when: (scope) => scope.unix_sockets,
};

function heldBy(
  { limits }: ScopeObject,
  resource: HeldLimit['resource'],
  of: HeldLimit['of'],
): HeldLimit['held_by'] | undefined {
  return limits.find((limit) => limit.resource === resource && limit.of === of)?.held_by;
}

function isUnbounded(scope: ScopeObject, resource: HeldLimit['resource'], of: HeldLimit['of']): boolean {
  return (heldBy(scope, resource, of) ?? 'none') === 'none';
}

/** The attempts that each enforcement lets through, in words; `test/containment/` makes them. */
const gaps: Readonly<Record<Enforcement, readonly Gap[]>> = {
  nothing: [
    {
      text: 'The kernel enforces nothing: commands, native tools and process drivers can do whatever the user can who runs svc.',
    },
    { text: 'They reach every file of that user, the manifest and the traces of svc included, and any network host.' },
    { text: 'They can start any program, and signal and read other processes of that user.' },
    outlives,
    { text: 'Tools, drivers and hooks that are components are held to their grants by the runtime all the same.' },
  ],
  'seccomp-only': [
    {
      text: 'System calls are filtered, files are not: processes can read, change and remove every file of the user who runs svc.',
    },
    { text: 'The manifest and the traces of svc are among these files.' },
    { text: 'They can start any program of the host, whatever shell allow says, and copies of it in the workdir.' },
    { text: 'They can signal other processes of that user, and read their environment and open files.' },
    { text: 'Run as root, they can change settings of the kernel that are files.' },
    {
      text: 'network allow is advisory here: with any entry, TCP reaches every host and port.',
      when: ({ network_allow: allow }) => allow.length > 0,
    },
    pathSockets,
    {
      text: 'So can those on abstract UNIX sockets.',
      when: (scope) => scope.unix_sockets,
    },
    othersPriority,
    outlives,
    codeItIsGiven,
    ...shared,
    processesOfUser,
    kernelBugs,
  ],
  scoped: [
    {
      text: 'Existence, size, times and owner of files outside the scope can be seen, and the names of those that change.',
    },
    {
      text: 'Mode, times and extended attributes of files outside can be changed where the user who runs svc may, those of its traces too; their content cannot.',
    },
    {
      text: 'network allow is advisory here: it limits ports at most, not hosts.',
      when: ({ network_allow: allow }) => allow.length > 0,
    },
    {
      text: 'The loader of the system can be made to run a copy of a program in the workdir, and a program to load a library from it.',
      when: (scope) => !scope.workdir_exec,
    },
    loadedFromStore,
    ownPrograms,
    hostPrograms,
    writableHome,
    pathSockets,
    othersPriority,
    outlives,
    codeItIsGiven,
    sendsAnything,
    sendsArguments,
    ...shared,
    processesOfUser,
    kernelBugs,
  ],
  sealed: [
    codeItIsGiven,
    ownPrograms,
    hostPrograms,
    hostSockets,
    writableHome,
    sendsAnything,
    sendsArguments,
    localNetwork,
    ...shared,
    kernelBugs,
  ],
};

const everywhere: readonly Gap[] = [
  {
    text: 'All that the folders of host read hold can be read, deeper files with secrets too.',
    when: ({ host_read: paths = [] }) => paths.length > 0,
  },
  {
    text: 'A host behind the proxy of this machine is judged by its name alone: the proxy looks up the address, which may be any.',
    when: ({ proxied = [] }) => proxied.length > 0,
  },
  {
    text: 'A key is looked for in answers as it is and in the usual encodings: a host that wants to show it in another form can.',
    when: ({ credentials = [] }) => credentials.length > 0,
  },
  {
    text: 'Whoever has a credential can do with it all that the rules of its host let through, and without rules all that the key may.',
    when: ({ credentials = [] }) => credentials.length > 0,
  },
  {
    text: 'A host with foreign: allow can be reached with the key of somebody else, and what is read here sent to them.',
    when: ({ bound_hosts: hosts = [] }) => hosts.some(({ foreign }) => foreign !== undefined),
  },
  {
    text: 'Every file of the folder that was given and is not masked or kept can be changed and removed, and nothing undoes it.',
    when: ({ project_folder: folder }) => folder?.writable === true,
  },
  {
    text: 'A masked file is hidden by its name: a copy of it under another name in that folder can be read.',
    when: ({ project_folder: folder }) => folder !== undefined,
  },
  {
    text: 'An allowed command may run code too without being listed as an interpreter: make, git and find can do that.',
    when: ({ shell_allow: allow }) => allow.length > 0,
  },
  {
    text: 'A driver that is a component also reaches the origin of inference.endpoint, which network allow need not name.',
    when: (scope) => driversOf(scope).length > 0,
  },
  {
    text: 'A driver that comes with svc runs in the process of svc: limits.memory bounds what comes in answer to one of its calls, and not that process.',
    when: (scope) => driversOf(scope).some(isBundledDriver),
  },
];

/** The drivers that are artifacts. */
function driversOf({ preopens, staged_runtime: staged }: ScopeObject): readonly string[] {
  return preopens.flatMap(({ runtime, artifact }) =>
    runtime === 'driver' && staged.some((name) => name.startsWith(`${artifact}@`)) ? [artifact] : [],
  );
}

/** What a session with this scope does not keep anybody from, as sentences, those about its interpreters first. */
export function notStopped(scope: ScopeObject): readonly string[] {
  const applying = [...gaps[enforcementOf(scope)], ...everywhere].filter(({ when }) => when?.(scope) ?? true);
  return [...interpreterGap(scope), ...impliedGap(scope), ...applying.map(({ text }) => text)];
}

/** Without a kernel that holds processes to a list of programs there is nothing to add to it. */
function impliedGap(scope: ScopeObject): readonly string[] {
  if (scope.containment.achieved === 'advisory') return [];
  const listed = new Set(scope.shell_allow);
  const starting = scope.shell_allow.flatMap((command) => {
    const implied = impliedCommands(command).filter((name) => !listed.has(name));
    return implied.length === 0 ? [] : [{ command, implied }];
  });
  if (starting.length === 0) return [];
  const names = starting.map(({ command, implied }) => `${command} (${implied.join(', ')})`).join('; ');
  const runsCode = starting.some(({ implied }) => implied.some(isInterpreter));
  const anyCode = runsCode ? ', and a shell among them runs any code it is given' : '';
  return [`Commands may start others that they are made of: ${names}${anyCode}.`];
}

function interpreterGap({ interpreter_runtime: names }: ScopeObject): readonly string[] {
  if (names.length === 0) return [];
  const [verb, code] = names.length === 1 ? ['runs', 'it is given'] : ['run', 'they are given'];
  return [
    `${names.join(', ')} ${verb} any code ${code}: whatever is granted above or listed here can be done with it.`,
  ];
}

function enforcementOf({ containment: { achieved, mechanism } }: ScopeObject): Enforcement {
  if (achieved !== 'advisory') return achieved;
  return mechanism === 'seccomp-only' ? 'seccomp-only' : 'nothing';
}

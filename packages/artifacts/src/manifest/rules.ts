/** The rules of a capsule's manifest that concern more than one key. */

import { didYouMean } from '@svc/kit/diagnostics/closest-name.ts';
import { quoted } from '@svc/kit/diagnostics/printable.ts';
import { endpointFault } from '@svc/kit/net/endpoint.ts';
import { checkCredentials } from './credential-rules.ts';
import { checkApprovals } from './approval-rules.ts';
import { doorNames } from './door-names.ts';
import { Draft, type KeyPath, renderKeyPath } from './key-path.ts';
import type { Findings } from './checked-document.ts';
import { checkNotify } from './notify.ts';
import { bundledDrivers, isBundledDriver, runtimeTools } from './names.ts';
import { lifetimeSecs } from './units.ts';

/**
 * The rules of a capsule manifest that look at more than one key (docs/manifest.md "Keys"). They read the file as it is, whatever else is
 * wrong with it, so that one run reports everything; a value of the wrong type is the schema's business and passes here.
 */
export function checkCapsuleRules(data: unknown, findings: Findings): void {
  const draft = new Draft(data);
  checkInference(draft, findings);
  checkDriver(draft, findings);
  checkArtifacts(draft, findings);
  checkLifecycle(draft, findings);
  checkPeerHandles(draft, findings);
  checkDoors(draft, findings);
  checkProject(draft, findings);
  checkCredentials(draft, findings);
  checkApprovals(draft, findings);
  checkNotify(draft, findings);
}

/** What nobody may write in would be written in all the same. */
function checkProject(draft: Draft, findings: Findings): void {
  const path = ['capabilities', 'project', 'write'];
  if (draft.at(...path) !== true || draft.at('capabilities', 'filesystem', 'read_only') !== true) return;
  const message = 'capabilities.project.write cannot stand beside capabilities.filesystem.read_only: true';
  findings.add('E-MAN-003', message, { path, part: 'key', hint: 'keep one of the two' });
}

/** A named door that does not exist must fail here, not at its first client. */
function checkDoors(draft: Draft, findings: Findings): void {
  const named = draft.list('doors', 'serve');
  named.forEach((name, index) => {
    const known = doorNames.find((door) => door === name);
    if (known === undefined || named.indexOf(name) === index) return;
    const path = ['doors', 'serve', index];
    findings.add('E-MAN-003', `doors.serve[${index}] repeats ${known}`, { path, hint: 'name each door once' });
  });
  if (named.length === 0 || draft.at('lifecycle', 'task_acceptance') !== 'none') return;
  findings.add('E-MAN-003', 'doors.serve names doors, but lifecycle.task_acceptance: none takes no tasks', {
    path: ['doors', 'serve'],
    hint: 'set lifecycle.task_acceptance: single or queue, or doors.serve: []',
  });
}

function checkInference(draft: Draft, findings: Findings): void {
  if (!draft.isBlock('inference')) return;
  if (draft.has('inference', 'system_prompt') && draft.has('inference', 'system_prompt_file')) {
    findings.add('E-MAN-003', 'inference.system_prompt_file cannot stand beside inference.system_prompt', {
      path: ['inference', 'system_prompt_file'],
      part: 'key',
      hint: 'keep one of the two',
    });
  }
  checkEndpoint(draft, findings);
  const transport = draft.at('inference', 'transport') ?? 'http';
  const need = (key: string, reason: string): void => {
    if (draft.has('inference', ...key.split('.'))) return;
    findings.add('E-MAN-001', `inference.${key} is missing`, { path: ['inference', ...key.split('.')], hint: reason });
  };
  if (transport === 'process') need('command', 'inference.transport: process starts this command');
  if (transport !== 'http') return;
  need('driver.artifact', `inference.transport: http needs a driver, such as ${bundledDrivers[0]}`);
  const driver = draft.at('inference', 'driver', 'artifact');
  if (driver === 'svc-driver-script') return;
  need('model', 'the driver passes this model name to the provider');
  if (driver === 'svc-driver-openai' || driver === 'svc-driver-anthropic') {
    need('endpoint', 'the address of the provider, such as http://localhost:11434');
  }
}

function checkEndpoint(draft: Draft, findings: Findings): void {
  const endpoint = draft.at('inference', 'endpoint');
  if (typeof endpoint !== 'string' || draft.at('inference', 'insecure_http') === true) return;
  const fault = endpointFault(endpoint);
  if (fault === undefined || endpointFault(endpoint, true) !== undefined) return;
  findings.add('E-MAN-003', `inference.endpoint ${fault}, not ${quoted(endpoint)}`, {
    path: ['inference', 'endpoint'],
    hint: 'set inference.insecure_http: true where everybody on the way may read the requests and the key',
  });
}

function checkDriver(draft: Draft, findings: Findings): void {
  const name = draft.at('inference', 'driver', 'artifact');
  if (typeof name !== 'string') return;
  const entries = draft.list('artifacts').map((_, index) => index);
  const runtimes = entries
    .filter((index) => draft.at('artifacts', index, 'name') === name)
    .map((index) => draft.at('artifacts', index, 'runtime') ?? 'tool');
  if (runtimes.includes('driver')) return;
  const path = ['inference', 'driver', 'artifact'];
  const [other] = runtimes;
  if (other !== undefined) {
    findings.add('E-MAN-003', `inference.driver.artifact names ${quoted(name)}, whose runtime is not driver`, {
      path,
      hint: 'set runtime: driver on its entry of artifacts',
    });
    return;
  }
  if (isBundledDriver(name)) return;
  const drivers = entries
    .filter((index) => draft.at('artifacts', index, 'runtime') === 'driver')
    .map((index) => String(draft.at('artifacts', index, 'name')));
  findings.add('E-MAN-003', `inference.driver.artifact names ${quoted(name)}, which artifacts does not list`, {
    path,
    hint: didYouMean(name, [...drivers, ...bundledDrivers]) ?? 'list it in artifacts with runtime: driver',
  });
}

function checkArtifacts(draft: Draft, findings: Findings): void {
  const seen = new Set<string>();
  const commands = new Set(draft.list('capabilities', 'shell', 'allow'));
  draft.list('artifacts').forEach((_, index) => {
    const path: KeyPath = ['artifacts', index];
    const name = draft.at(...path, 'name');
    const runtime = draft.at(...path, 'runtime') ?? 'tool';
    if (runtime === 'skill' && draft.has(...path, 'capabilities')) {
      findings.add('E-MAN-003', `artifacts[${index}].capabilities is not allowed: a skill is text and runs nothing`, {
        path: [...path, 'capabilities'],
        part: 'key',
        hint: 'remove the block',
      });
    }
    if (runtime !== 'tool' && draft.has(...path, 'env')) {
      findings.add('E-MAN-003', `artifacts[${index}].env is not allowed: it is for the program of a tool`, {
        path: [...path, 'env'],
        part: 'key',
        hint: 'remove the block',
      });
    }
    if (runtime !== 'tool' && draft.has(...path, 'runs')) {
      findings.add('E-MAN-003', `artifacts[${index}].runs is not allowed: it is for the program of a tool`, {
        path: [...path, 'runs'],
        part: 'key',
        hint: 'remove the list',
      });
    }
    checkTools(draft, path, findings);
    checkPlace(draft, path, findings);
    checkServer(draft, path, findings);
    checkFolder(draft, path, findings);
    if (typeof name !== 'string') return;
    if (seen.has(name)) {
      const message = `artifacts[${index}].name repeats ${quoted(name)}, a name names one artifact`;
      findings.add('E-MAN-003', message, { path: [...path, 'name'] });
    }
    seen.add(name);
    if ((runtimeTools as readonly string[]).includes(name)) {
      findings.add('E-CAP-013', `artifacts[${index}].name takes the name of the runtime tool ${name}`, {
        path: [...path, 'name'],
        hint: 'rename the artifact',
      });
    }
    if (commands.has(name) && (runtime === 'tool' || runtime === 'skill')) {
      const message = `artifacts[${index}].name is also a command of capabilities.shell.allow: the model could not distinguish them`;
      findings.add('E-MAN-003', message, { path: [...path, 'name'] });
    }
  });
}

/** Tools of an MCP server are chosen by their names; what a skill allows is said in words that commands and arguments are part of. */
function checkTools(draft: Draft, entry: KeyPath, findings: Findings): void {
  const path = [...entry, 'tools'];
  if (!draft.has(...path)) return;
  const runtime = draft.at(...entry, 'runtime') ?? 'tool';
  const shown = renderKeyPath(path);
  if (runtime === 'skill') {
    draft.list(...path).forEach((word, index) => {
      if (typeof word !== 'object') return;
      const at = [...path, index];
      findings.add('E-MAN-003', `${renderKeyPath(at)} gives names, which the tools of a server can have`, { path: at });
    });
    return;
  }
  if (runtime !== 'tool') {
    const message = `${shown} is not allowed: it chooses tools of an MCP server, and limits a skill`;
    findings.add('E-MAN-003', message, { path, part: 'key', hint: 'remove the list' });
    return;
  }
  if (draft.at(...path) === 'capsule') {
    findings.add('E-MAN-003', `${shown}: capsule is for a skill`, { path, hint: 'name tools of the server' });
  }
  const items = draft.list(...path);
  items.forEach((name, index) => {
    if (typeof name !== 'string' || /^[A-Za-z0-9_.*-]{1,128}$/.test(name)) return;
    const at = [...path, index];
    findings.add('E-MAN-003', `${renderKeyPath(at)} must be a name of a tool, in which * stands for any part`, {
      path: at,
    });
  });
  checkRenamed(draft, { entry, items }, findings);
}

interface ToolList {
  readonly entry: KeyPath;
  readonly items: readonly unknown[];
}

/** Providers refuse longer names of tools, and other characters. */
const longestName = 64;

/** A tool has one name, and a name one tool, as far as that shows before the server lists its own. */
function checkRenamed(draft: Draft, { entry, items }: ToolList, findings: Findings): void {
  const renamed = items.flatMap((item, index) =>
    typeof item === 'object' && item !== null
      ? Object.entries(item).map(([tool, name]) => ({
          tool,
          name: String(name),
          path: [...entry, 'tools', index, tool],
        }))
      : [],
  );
  items.forEach((item, index) => {
    if (typeof item !== 'object' || item === null || Object.keys(item).length > 0) return;
    const path = [...entry, 'tools', index];
    findings.add('E-MAN-003', `${renderKeyPath(path)} renames no tool`, { path });
  });
  const tools = new Set(renamed.map(({ tool }) => tool));
  const taken = new Set(items.filter((item) => typeof item === 'string' && !tools.has(item)));
  const room = longestName - String(draft.at(...entry, 'name')).length - 2;
  const seen = new Set<string>();
  for (const { tool, name, path } of renamed) {
    const refuse = (what: string): void => findings.add('E-MAN-003', `${renderKeyPath(path)} ${what}`, { path });
    if (!/^[A-Za-z0-9_.-]{1,128}$/.test(tool)) refuse('is not for the name of one tool, as its server lists it');
    else if (!/^[A-Za-z0-9_-]+$/.test(name) || name.length > room)
      refuse(`must be a name of letters, digits, _ and -, here of at most ${room}`);
    else if (seen.has(tool)) refuse('gives that tool a second name');
    else if (taken.has(name)) refuse(`takes the name ${name}, which another tool of the list has`);
    seen.add(tool);
    taken.add(name);
  }
}

/** An artifact has one source, and a folder on this machine holds one version. */
function checkPlace(draft: Draft, entry: KeyPath, findings: Findings): void {
  if (!draft.has(...entry, 'source')) return;
  for (const key of ['range', 'from']) {
    if (!draft.has(...entry, key)) continue;
    const path = [...entry, key];
    const message = `${renderKeyPath(path)} cannot stand beside source`;
    findings.add('E-MAN-003', message, { path, part: 'key', hint: 'keep one of the two' });
  }
}

/** A server on the web is a tool, and starts no program of this machine. */
function checkServer(draft: Draft, entry: KeyPath, findings: Findings): void {
  const from = draft.at(...entry, 'from');
  const isServer = typeof from === 'string' && from.startsWith('mcp+');
  const unfit = isServer ? ['capabilities', 'env', 'range', 'runs'] : ['auth'];
  for (const key of unfit.filter((each) => draft.has(...entry, each))) {
    const path = [...entry, key];
    const why = isServer
      ? 'an MCP server on the web runs no program here'
      : 'it is for an MCP server on the web, from: mcp+https://…';
    findings.add('E-MAN-003', `${renderKeyPath(path)} is not allowed: ${why}`, {
      path,
      part: 'key',
      hint: 'remove the key',
    });
  }
  if (!isServer || (draft.at(...entry, 'runtime') ?? 'tool') === 'tool') return;
  findings.add('E-MAN-003', `${renderKeyPath([...entry, 'from'])} names an MCP server, and those are tools`, {
    path: [...entry, 'runtime'],
  });
}

/** A folder of a repository is a skill. */
function checkFolder(draft: Draft, entry: KeyPath, findings: Findings): void {
  const from = draft.at(...entry, 'from');
  if (typeof from !== 'string' || !from.startsWith('github:') || !from.includes('#')) return;
  if (draft.at(...entry, 'runtime') === 'skill') return;
  const path = [...entry, 'from'];
  findings.add('E-MAN-003', `${renderKeyPath(path)} names a folder of a repository, and those are skills`, {
    path,
    hint: 'write runtime: skill; what is no skill comes from a release, github:<owner>/<repo>@<tag>',
  });
}

function checkLifecycle(draft: Draft, findings: Findings): void {
  const acceptance = draft.at('lifecycle', 'task_acceptance') ?? 'single';
  const sleeps = draft.at('lifecycle', 'after_task') === 'sleep';
  if (sleeps && (acceptance === 'single' || acceptance === 'none')) {
    findings.add('W-MAN-001', `lifecycle.after_task: sleep means exit while task_acceptance is ${acceptance}`, {
      path: ['lifecycle', 'after_task'],
      hint: 'set lifecycle.task_acceptance: queue, or after_task: exit',
    });
  }
  if (draft.list('capabilities', 'spawn', 'allow').length === 0) return;
  const canReceive = acceptance === 'queue' && sleeps && draft.at('lifecycle', 'queue_depth') !== 0;
  if (canReceive) return;
  findings.add('W-SEC-020', 'capabilities.spawn.allow is declared, but the lifecycle cannot receive outcomes', {
    path: ['capabilities', 'spawn'],
    part: 'key',
    hint: 'set task_acceptance: queue, after_task: sleep and a queue_depth of at least the delegations per turn',
  });
}

const maxSleepingTtlSecs = 15 * 60;

/** D3 "Limits": a handle needs a maximum lifetime where the session has no end. */
function checkPeerHandles(draft: Draft, findings: Findings): void {
  if (draft.at('lifecycle', 'after_task') !== 'sleep' || !draft.isBlock('exports', 'peer_files')) return;
  const path = ['exports', 'peer_files', 'max_ttl'];
  const hint = 'set exports.peer_files.max_ttl to 15m or less';
  if (!draft.has(...path)) {
    const message = 'exports.peer_files.max_ttl is required with lifecycle.after_task: sleep';
    findings.add('E-CAP-008', message, { path, hint });
    return;
  }
  const ttl = lifetimeSecs.safeParse(draft.at(...path), { jitless: true });
  if (!ttl.success || ttl.data <= maxSleepingTtlSecs) return;
  const message = 'exports.peer_files.max_ttl is longer than 15m, the most with lifecycle.after_task: sleep';
  findings.add('E-CAP-008', message, { path, hint });
}

import { describe, expect, it } from 'vitest';

import { DiagnosticList } from '@svc/kit/diagnostics/diagnostic.ts';
import { servedDoors } from './door-names.ts';
import { loadCapsuleManifest } from './load.ts';
import type { LoadedManifest } from './loaded-manifest.ts';

const smallest = `
name: researcher
version: 1.0.0
inference:
  endpoint: https://provider.example
  model: large
  driver: { artifact: svc-driver-openai }
`;

function load(text: string): LoadedManifest {
  return loadCapsuleManifest({ file: 'svc.yaml', text, env: {} });
}

/** `CODE line:column message` of every diagnostic that refuses the manifest. */
function refusal(text: string): string[] {
  try {
    load(text);
  } catch (error) {
    if (!(error instanceof DiagnosticList)) throw error;
    return error.diagnostics.map(
      ({ code, message, location }) => `${code} ${location?.line}:${location?.column} ${message}`,
    );
  }
  return [];
}

function warnings(text: string): string[] {
  return load(text).warnings.map(({ code, message }) => `${code} ${message}`);
}

describe('a manifest', () => {
  it('has a name and a version that are text [D1-MAN-01]', () => {
    expect(load(smallest).manifest).toMatchObject({ name: 'researcher', version: '1.0.0' });
    expect(refusal(smallest.replace('version: 1.0.0', 'version: 1.0'))).toEqual([
      'E-MAN-003 3:10 version must be text, not a number',
    ]);
    expect(refusal(smallest.replace('name: researcher\n', ''))).toEqual(['E-MAN-001 2:1 name is missing']);
  });

  it('has every default when it says only what it must', () => {
    expect(load(smallest).manifest).toEqual({
      name: 'researcher',
      version: '1.0.0',
      artifacts: [],
      inference: {
        transport: 'http',
        endpoint: 'https://provider.example',
        model: 'large',
        driver: { artifact: 'svc-driver-openai', config: {} },
        max_turns: 10,
        max_tokens: 8192,
        context: {},
        compaction: { threshold: 0.98 },
        timeout_secs: { idle: 300, total: 3600 },
      },
      lifecycle: {
        task_acceptance: 'single',
        queue_depth: 1,
        after_task: 'exit',
        conversation: 'stateless',
        max_task_reopens: 1,
        delegation_deadline_secs: 600,
      },
      trace: {
        max_body: 8 * 1024 ** 2,
        max_bytes: 256 * 1024 ** 2,
        components: false,
        keep: { sessions: 50, age: 2_592_000, bytes: 2 * 1024 ** 3 },
      },
      network: {},
      capabilities: {},
      exports: {},
      doors: {},
    });
  });

  it('lists artifacts by name, version and runtime, tool when it is left out', () => {
    const text = `${smallest}artifacts:\n  - { name: one, version: 2.0.0 }\n  - { name: two, version: 1.0.0, runtime: hook }\n`;
    expect(load(text).manifest.artifacts).toEqual([
      { name: 'one', version: '2.0.0', runtime: 'tool' },
      { name: 'two', version: '1.0.0', runtime: 'hook' },
    ]);
  });

  it.each(['driver', 'tool', 'hook', 'skill'])('takes an artifact of runtime %s', (runtime) => {
    const text = `${smallest}artifacts: [{ name: one, version: 1.0.0, runtime: ${runtime} }]\n`;
    expect(load(text).manifest.artifacts[0]?.runtime).toBe(runtime);
  });

  it('refuses an artifact of any other runtime', () => {
    expect(refusal(`${smallest}artifacts: [{ name: one, version: 1.0.0, runtime: plugin }]\n`)).toEqual([
      'E-MAN-003 8:51 artifacts[0].runtime must be one of driver, tool, hook, skill, not "plugin"',
    ]);
  });

  it.each(['latest', 'stable', 'edge'])('refuses the reserved version %s of an artifact [D1-VER-02]', (version) => {
    expect(refusal(`${smallest}artifacts: [{ name: one, version: ${version} }]\n`)).toEqual([
      `E-MAN-003 8:35 artifacts[0].version ("${version}") is a reserved version, name an exact one`,
    ]);
  });

  it.each(['latest', 'stable', 'edge'])(
    'refuses the reserved version %s of the capsule itself [D1-VER-02]',
    (version) => {
      const [problem = ''] = refusal(smallest.replace(/^version: .*$/m, `version: ${version}`));
      expect(problem).toMatch(/^E-MAN-003 /);
      expect(problem).toContain(`version ("${version}") is a reserved version, name an exact one`);
    },
  );

  it('reaches the model by http or by a process, and by nothing else [D1-MAN-04]', () => {
    expect(
      load('{name: a, version: "1", inference: {transport: process, command: run}}').manifest.inference,
    ).toMatchObject({ transport: 'process', command: 'run' });
    expect(load(smallest).manifest.inference.transport).toBe('http');
    expect(refusal(smallest.replace('model: large', 'model: large\n  transport: ftp'))).toEqual([
      'E-MAN-003 7:14 inference.transport must be one of http, process, not "ftp"',
    ]);
  });

  it('needs a command for a process, a driver and a model for http', () => {
    expect(refusal('{name: a, version: "1", inference: {transport: process}}')).toEqual([
      'E-MAN-001 1:25 inference.command is missing',
    ]);
    expect(refusal('{name: a, version: "1", inference: {endpoint: "https://a.example"}}')).toEqual([
      'E-MAN-001 1:25 inference.driver.artifact is missing',
      'E-MAN-001 1:25 inference.model is missing',
    ]);
  });

  it('plays a script without a model and without an endpoint', () => {
    const text =
      '{name: a, version: "1", inference: {driver: {artifact: svc-driver-script, config: {script: s.yaml}}}}';
    expect(load(text).manifest.inference).toMatchObject({ model: '', driver: { config: { script: 's.yaml' } } });
  });

  it('names the address and the model of the provider as text', () => {
    expect(load(smallest).manifest.inference).toMatchObject({ endpoint: 'https://provider.example', model: 'large' });
    expect(refusal(smallest.replace('model: large', 'model: [large]'))).toEqual([
      'E-MAN-003 6:10 inference.model must be text, not a list',
    ]);
  });

  it('names the driver artifact: an entry of runtime driver, or a bundled one', () => {
    expect(load(smallest).manifest.inference.driver?.artifact).toBe('svc-driver-openai');
    const own = `${smallest.replace('svc-driver-openai', 'mine')}artifacts:\n  - { name: mine, version: 1.0.0, runtime: `;
    expect(load(`${own}driver }\n`).manifest.inference.driver?.artifact).toBe('mine');
    expect(refusal(`${own}tool }\n`)).toEqual([
      'E-MAN-003 7:23 inference.driver.artifact names "mine", whose runtime is not driver',
    ]);
    expect(refusal(smallest.replace('svc-driver-openai', 'mine'))).toEqual([
      'E-MAN-003 7:23 inference.driver.artifact names "mine", which artifacts does not list',
    ]);
  });

  it('takes the three kinds of task acceptance and no other', () => {
    for (const acceptance of ['none', 'single', 'queue'] as const) {
      const { lifecycle } = load(`${smallest}lifecycle: { task_acceptance: ${acceptance} }\n`).manifest;
      expect(lifecycle.task_acceptance).toBe(acceptance);
    }
    expect(refusal(`${smallest}lifecycle: { task_acceptance: quue }\n`)).toEqual([
      'E-MAN-003 8:31 lifecycle.task_acceptance must be one of none, single, queue, not "quue"',
    ]);
  });

  it('counts queue slots and reopenings in whole numbers', () => {
    const { lifecycle } = load(`${smallest}lifecycle: { queue_depth: 0, max_task_reopens: 3 }\n`).manifest;
    expect(lifecycle).toMatchObject({ queue_depth: 0, max_task_reopens: 3 });
    expect(refusal(`${smallest}lifecycle: { queue_depth: -1, max_task_reopens: 1.5 }\n`)).toEqual([
      'E-MAN-003 8:27 lifecycle.queue_depth must be at least 0, not -1',
      'E-MAN-003 8:49 lifecycle.max_task_reopens must be a whole number, not 1.5',
    ]);
  });

  it('exits after its task unless it sleeps with a queue [D1-MAN-13]', () => {
    expect(load(smallest).manifest.lifecycle.after_task).toBe('exit');
    const queue = load(`${smallest}lifecycle: { task_acceptance: queue, after_task: sleep }\n`);
    expect(queue.manifest.lifecycle.after_task).toBe('sleep');
    const single = load(`${smallest}lifecycle: { after_task: sleep }\n`);
    expect(single.manifest.lifecycle.after_task).toBe('exit');
    expect(single.warnings.map(({ code }) => code)).toEqual(['W-MAN-001']);
    expect(refusal(`${smallest}lifecycle: { after_task: stay }\n`)).toEqual([
      'E-MAN-003 8:26 lifecycle.after_task must be one of exit, sleep, not "stay"',
    ]);
  });

  it('bounds a delegated child by a positive whole number of seconds, 600 by default', () => {
    expect(load(smallest).manifest.lifecycle.delegation_deadline_secs).toBe(600);
    expect(refusal(`${smallest}lifecycle: { delegation_deadline_secs: 0 }\n`)).toEqual([
      'E-MAN-003 8:40 lifecycle.delegation_deadline_secs must be at least 1, not 0',
    ]);
  });

  it('fixes the listener to a port number [D1-MAN-17]', () => {
    expect(load(`${smallest}network: { internal_port: 8080 }\n`).manifest.network.internal_port).toBe(8080);
    expect(refusal(`${smallest}network: { internal_port: 70000 }\n`)).toEqual([
      'E-MAN-003 8:27 network.internal_port must be at most 65535, not 70000',
    ]);
  });

  it('demands one of the three containment classes, or none [D1-MAN-18]', () => {
    for (const containment of ['advisory', 'scoped', 'sealed'] as const) {
      const { capabilities } = load(`${smallest}capabilities: { containment: ${containment} }\n`).manifest;
      expect(capabilities.containment).toBe(containment);
    }
    expect(refusal(`${smallest}capabilities: { containment: full }\n`)).toEqual([
      'E-MAN-003 8:30 capabilities.containment must be one of advisory, scoped, sealed, not "full"',
    ]);
  });

  it('narrows the filesystem to a path inside the workdir [D1-MAN-20] [D1-MAN-21]', () => {
    const { filesystem } = load(`${smallest}capabilities: { filesystem: { scope: out/data, workdir_exec: true } }\n`)
      .manifest.capabilities;
    expect(filesystem).toEqual({ scope: 'out/data', workdir_exec: true });
    expect(refusal(`${smallest}capabilities: { filesystem: { scope: ../up, workdir_exec: "yes" } }\n`)).toEqual([
      'E-CAP-002 8:38 capabilities.filesystem.scope must be a relative path inside the workdir, without "..", not "../up"',
      'E-MAN-003 8:59 capabilities.filesystem.workdir_exec must be true or false, not text',
    ]);
  });

  it('lists outbound destinations and grants unix sockets [D1-MAN-22] [D1-MAN-23]', () => {
    const text = `${smallest}capabilities:\n  network:\n    allow: [a.example, "b.example:8080", "https://c.example"]\n    unix_sockets: true\n`;
    expect(load(text).manifest.capabilities.network).toEqual({
      allow: ['a.example', 'b.example:8080', 'https://c.example'],
      unix_sockets: true,
    });
    expect(refusal(text.replace('a.example,', 'a.example/path,'))).toEqual([
      'E-CAP-001 10:13 capabilities.network.allow[0] ("a.example/path") has a path',
    ]);
    expect(refusal(text.replace('unix_sockets: true', 'unix_sockets: 1'))).toEqual([
      'E-MAN-003 11:19 capabilities.network.unix_sockets must be true or false, not 1',
    ]);
  });

  it('lists commands, capsules, variables and peers [D1-MAN-24] [D1-MAN-26]', () => {
    const text = `${smallest}lifecycle: { task_acceptance: queue, after_task: sleep }
capabilities:
  shell: { allow: [git, python3.12] }
  spawn: { allow: [helper] }
  env: { allow: [LANG, my_var] }
  peer_fetch: { allow: ["peer.example:8080"] }
`;
    expect(load(text).manifest.capabilities).toEqual({
      shell: { allow: ['git', 'python3.12'] },
      spawn: { allow: ['helper'] },
      env: { allow: ['LANG', 'my_var'] },
      peer_fetch: { allow: ['peer.example:8080'] },
    });
    expect(load(text).warnings).toEqual([]);
  });

  it('refuses commands, capsules, variables and peers that cannot be such', () => {
    const text = `${smallest}capabilities:
  shell: { allow: [/bin/sh] }
  spawn: { allow: [Helper] }
  env: { allow: [1ST] }
  peer_fetch: { allow: ["ftp://peer.example"] }
`;
    expect(refusal(text).filter((line) => line.startsWith('E-'))).toEqual([
      'E-MAN-003 9:20 capabilities.shell.allow[0] must be a bare command name, not "/bin/sh"',
      'E-MAN-003 10:20 capabilities.spawn.allow[0] must be lowercase letters, digits and inner hyphens, not "Helper"',
      'E-MAN-003 11:18 capabilities.env.allow[0] must be a variable name, not "1ST"',
      'E-CAP-001 12:25 capabilities.peer_fetch.allow[0] ("ftp://peer.example") has a scheme that is not http or https',
    ]);
    expect(refusal(`${smallest}capabilities: { shell: { allow: [] } }\n`)).toEqual([
      'E-MAN-003 8:33 capabilities.shell.allow must have at least one entry',
    ]);
  });

  it('declares state by store names, or without a name', () => {
    const stateOf = (state: string): unknown =>
      load(`${smallest}capabilities: { state: ${state} }\n`).manifest.capabilities.state;
    expect(stateOf('{ store: notes }')).toEqual({ store: 'notes' });
    expect(stateOf('{ store: [notes, cache] }')).toEqual({ store: ['notes', 'cache'] });
    expect(stateOf('{}')).toEqual({ store: null });
    expect(stateOf('')).toEqual({ store: null });
    expect(refusal(`${smallest}capabilities: { state: { store: 7 } }\n`)).toEqual([
      'E-MAN-003 8:33 capabilities.state.store must be a store name or a list of them, not 7',
    ]);
  });

  it('declares the two planes of exported files', () => {
    const text = `${smallest}exports:\n  files: { root: out, max_bytes: 64Ki }\n  peer_files: { root: share, max_bytes: 1024, max_ttl: 5m }\n`;
    expect(load(text).manifest.exports).toEqual({
      files: { root: 'out', max_bytes: 65_536 },
      peer_files: { root: 'share', max_bytes: 1024, max_ttl: 300 },
    });
  });

  it('serves files of at most 10 MiB, and handles of 1h while it exits after its task', () => {
    expect(load(`${smallest}exports: { files: { root: out }, peer_files: { root: out } }\n`).manifest.exports).toEqual({
      files: { root: 'out', max_bytes: 10_485_760 },
      peer_files: { root: 'out', max_bytes: 10_485_760, max_ttl: 3600 },
    });
  });

  it('refuses an export root that leaves the workdir by its spelling', () => {
    expect(refusal(`${smallest}exports: { files: { root: /etc }, peer_files: { root: a/../../b } }\n`)).toEqual([
      'E-CAP-007 8:27 exports.files.root must be a relative path inside the workdir, without "..", not "/etc"',
      'E-CAP-007 8:55 exports.peer_files.root must be a relative path inside the workdir, without "..", not "a/../../b"',
    ]);
  });

  it('bounds peer handles by 15m while it sleeps', () => {
    const sleeping = `${smallest}lifecycle: { task_acceptance: queue, after_task: sleep }\n`;
    expect(refusal(`${sleeping}exports: { peer_files: { root: out } }\n`)).toEqual([
      'E-CAP-008 9:12 exports.peer_files.max_ttl is required with lifecycle.after_task: sleep',
    ]);
    expect(refusal(`${sleeping}exports: { peer_files: { root: out, max_ttl: 16m } }\n`)).toEqual([
      'E-CAP-008 9:46 exports.peer_files.max_ttl is longer than 15m, the most with lifecycle.after_task: sleep',
    ]);
    expect(refusal(`${sleeping}exports: { peer_files: { root: out, max_ttl: 900h } }\n`)).toEqual([
      'E-CAP-008 9:46 exports.peer_files.max_ttl is longer than 15m, the most with lifecycle.after_task: sleep',
    ]);
    expect(refusal(`${sleeping}exports: { peer_files: { root: out, max_ttl: 15m } }\n`)).toEqual([]);
  });

  it('bounds peer handles by nothing while it exits after its task', () => {
    const text = `${smallest}exports: { peer_files: { root: out, max_ttl: 900h } }\n`;
    expect(load(text).manifest.exports.peer_files?.max_ttl).toBe(3_240_000);
  });

  it('warns when it delegates and cannot receive the outcome', () => {
    const spawning = `${smallest}capabilities: { spawn: { allow: [helper] } }\n`;
    const said = 'W-SEC-020 capabilities.spawn.allow is declared, but the lifecycle cannot receive outcomes';
    expect(warnings(spawning)).toEqual([said]);
    expect(warnings(`${spawning}lifecycle: { task_acceptance: queue }\n`)).toEqual([said]);
    expect(warnings(`${spawning}lifecycle: { task_acceptance: queue, after_task: sleep, queue_depth: 0 }\n`)).toEqual([
      said,
    ]);
    expect(warnings(`${spawning}lifecycle: { task_acceptance: queue, after_task: sleep }\n`)).toEqual([]);
  });

  it('keeps artifacts apart: one entry a name, no name of a runtime tool or of an allowed command', () => {
    const text = `${smallest}capabilities: { shell: { allow: [git] } }
artifacts:
  - { name: one, version: 1.0.0 }
  - { name: one, version: 2.0.0 }
  - { name: share-file, version: 1.0.0 }
  - { name: git, version: 1.0.0 }
  - { name: words, version: 1.0.0, runtime: skill, capabilities: {} }
`;
    expect(refusal(text)).toEqual([
      'E-MAN-003 11:13 artifacts[1].name repeats "one", a name names one artifact',
      'E-CAP-013 12:13 artifacts[2].name takes the name of the runtime tool share-file',
      'E-MAN-003 13:13 artifacts[3].name is also a command of capabilities.shell.allow: the model could not distinguish them',
      'E-MAN-003 14:52 artifacts[4].capabilities is not allowed: a skill is text and runs nothing',
    ]);
  });

  it('warns of an unknown key with its line and what was probably meant, and goes on', () => {
    const { manifest, warnings: found } = load(`${smallest}lifecyle: { after_task: exit }\nfoo: 1\n`);
    expect(manifest).not.toHaveProperty('lifecyle');
    expect(found.map(({ message, hint, location }) => ({ message, hint, line: location?.line }))).toEqual([
      { message: 'lifecyle in line 8 is not a known key and was ignored', hint: 'did you mean lifecycle?', line: 8 },
      {
        message: 'foo in line 9 is not a known key and was ignored',
        hint: 'known keys here: name, version, description, artifacts, skills, inference, lifecycle, trace, network, capabilities, approvals, notify, exports, doors',
        line: 9,
      },
    ]);
  });
});

describe('doors', () => {
  const doored = (doors: string): string => `${smallest}doors: ${doors}\n`;

  it('include all there are unless the manifest names them', () => {
    const served = (text: string): readonly string[] => servedDoors(load(text).manifest);
    expect(served(smallest)).toEqual(['a2a', 'mcp', 'openai']);
    expect(served(doored('{ serve: [] }'))).toEqual([]);
    expect(served(doored('{ serve: [mcp] }'))).toEqual(['mcp']);
    expect(served(`${smallest}lifecycle: { task_acceptance: none }\n`)).toEqual([]);
  });

  it('fail where a client would not find them', () => {
    expect(refusal(doored('{ serve: [a2a, a2a] }'))).toEqual(['E-MAN-003 8:23 doors.serve[1] repeats a2a']);
    expect(refusal(doored('{ serve: [gopher] }'))).toEqual([
      'E-MAN-003 8:18 doors.serve[0] must be one of a2a, mcp, openai, not "gopher"',
    ]);
    expect(refusal(`${doored('{ serve: [a2a] }')}lifecycle: { task_acceptance: none }\n`)).toEqual([
      'E-MAN-003 8:17 doors.serve names doors, but lifecycle.task_acceptance: none takes no tasks',
    ]);
  });
});

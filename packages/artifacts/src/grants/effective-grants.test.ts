import { describe, expect, it } from 'vitest';

import { loadCapsuleManifest } from '../manifest/load.ts';
import { strongest } from '@svc/protocol/containment-class.ts';
import { lower, type Lowered } from './effective-grants.ts';
import { encodeScope } from './scope-object.ts';

const base = `name: researcher
version: 1.0.0
inference:
  endpoint: https://provider.example/base
  model: large
  driver: { artifact: svc-driver-openai }
`;

function lowered(text: string): Lowered {
  return lower(loadCapsuleManifest({ file: 'svc.yaml', text: base + text, env: {} }));
}

const full = `
lifecycle: { task_acceptance: queue, after_task: sleep }
artifacts:
  - { name: editor, version: 1.0.0 }
  - { name: watcher, version: 2.0.0, runtime: hook }
  - { name: style, version: 3.0.0, runtime: skill }
capabilities:
  containment: scoped
  filesystem: { scope: out/, read_only: true, workdir_exec: true }
  network: { allow: [a.example, "https://b.example:443", A.example], unix_sockets: true }
  shell: { allow: [git, python3.12, git] }
  spawn: { allow: [helper] }
  env: { allow: [LANG, LANG] }
  peer_fetch: { allow: ["peer.example:80"] }
  plan: { submit: true }
  state: { store: notes }
  limits: { memory: 256Mi, deadline: 2m }
  resources: { processes: 5 }
`;

describe('effective grants', () => {
  it('hold only the workdir and the endpoint for a manifest that grants nothing', () => {
    const { grants, warnings } = lowered('');
    expect(warnings).toEqual([]);
    expect(grants).toEqual({
      containmentFloor: null,
      filesystemScope: null,
      workdirExec: false,
      readOnly: false,
      project: null,
      networkAllow: [],
      unixSockets: false,
      peerFetchAllow: [],
      shellAllow: [],
      spawnAllow: [],
      envAllow: [],
      hostRead: [],
      bindings: [],
      credentials: [],
      planSubmit: false,
      interpreterRuntime: [],
      processDriver: null,
      artifacts: [
        {
          name: 'svc-driver-openai',
          version: '1.0.0',
          runtime: 'driver',
          runs: [],
          preopen: { scope: '.', writable: true },
          seesProject: false,
          workdirExec: false,
          networkAllow: [],
          unixSockets: false,
          envAllow: [],
          hostRead: [],
          stateStores: [],
          maxMemoryBytes: 536_870_912,
          deadlineSecs: 600,
        },
      ],
      stagedRuntime: ['svc-driver-openai@1.0.0'],
      endpoint: { scheme: 'https', host: 'provider.example', port: 443 },
      remoteServers: [],
      resources: {
        processes: 128,
        open_files: 1024,
        file_size: 4_294_967_296,
        cpu: 3600,
        memory: 2_147_483_648,
        workdir_max_bytes: 10_737_418_240,
      },
    });
  });

  it('hold no containment floor of their own when none is declared, which makes it advisory [D1-MAN-19]', () => {
    const { containmentFloor } = lowered('').grants;
    expect(containmentFloor).toBeNull();
    expect(strongest([containmentFloor ?? undefined])).toBe('advisory');
  });

  it('hold what the manifest declares, once each', () => {
    const { grants } = lowered(full);
    expect(grants).toMatchObject({
      containmentFloor: 'scoped',
      filesystemScope: 'out',
      readOnly: true,
      workdirExec: true,
      unixSockets: true,
      networkAllow: [
        { scheme: null, host: 'a.example', port: null },
        { scheme: 'https', host: 'b.example', port: 443 },
      ],
      peerFetchAllow: [{ scheme: null, host: 'peer.example', port: 80 }],
      shellAllow: ['git', 'python3.12'],
      interpreterRuntime: ['python3.12'],
      envAllow: ['LANG'],
      hostRead: [],
      planSubmit: true,
      stagedRuntime: ['editor@1.0.0', 'watcher@2.0.0', 'style@3.0.0', 'svc-driver-openai@1.0.0'],
    });
    expect(grants.resources).toMatchObject({ processes: 5, open_files: 1024 });
  });

  it('give a tool or driver the whole accessible workdir and a hook nothing, when they declare no scope [D1-SCOPE-10]', () => {
    const { grants } = lowered('artifacts: [{ name: t, version: "1" }, { name: h, version: "1", runtime: hook }]\n');
    expect(grants.artifacts.map(({ name, preopen }) => [name, preopen])).toEqual([
      ['t', { scope: '.', writable: true }],
      ['h', null],
      ['svc-driver-openai', { scope: '.', writable: true }],
    ]);
  });

  it('give a hook nothing it does not declare', () => {
    const hook = lowered(full).grants.artifacts.find(({ runtime }) => runtime === 'hook');
    expect(hook).toEqual({
      name: 'watcher',
      version: '2.0.0',
      runtime: 'hook',
      runs: [],
      preopen: null,
      seesProject: false,
      workdirExec: false,
      networkAllow: [],
      unixSockets: false,
      envAllow: [],
      hostRead: [],
      stateStores: [],
      maxMemoryBytes: 268_435_456,
      deadlineSecs: 30,
    });
  });

  it('open the state store of the capsule to a component that declares none, and its own to one that does', () => {
    const stores = (text: string): unknown => lowered(text).grants.artifacts[0]?.stateStores;
    expect(stores('artifacts: [{ name: t, version: "1" }]\ncapabilities: { state: { store: notes } }\n')).toEqual([
      'notes',
    ]);
    expect(stores('artifacts: [{ name: t, version: "1" }]\ncapabilities: { state: {} }\n')).toEqual(['researcher']);
    expect(stores('artifacts: [{ name: t, version: "1", capabilities: { state: {} } }]\n')).toEqual(['researcher']);
    expect(stores('artifacts: [{ name: t, version: "1", capabilities: { state: { store: [a, b] } } }]\n')).toEqual([
      'a',
      'b',
    ]);
    expect(stores('artifacts: [{ name: t, version: "1" }]\n')).toEqual([]);
  });
});

describe('the scope object', () => {
  const containment = {
    declared: 'scoped',
    achieved: 'sealed',
    floorMet: true,
    mechanism: 'mountns+pivot_root+landlock+seccomp',
    usernsGrant: 'granted',
  } as const;

  it.each<[string, string]>([
    ['model --fast', 'model'],
    ['"  model  --fast"', 'model'],
    ['[./my model, --fast]', './my model'],
  ])('has a line for a driver that is a program, with the scope of the capsule: %s', (command, artifact) => {
    const text = `name: a\nversion: 1.0.0\ninference: { transport: process, command: ${command} }\n`;
    const scope = 'capabilities: { filesystem: { scope: src, read_only: true } }';
    const { grants } = lower(loadCapsuleManifest({ file: 'svc.yaml', text: `${text}${scope}\n`, env: {} }));
    expect(encodeScope(grants, containment, []).preopens).toEqual([
      { artifact, runtime: 'driver', path: 'src', writable: false },
    ]);
  });

  it('names the state stores of an artifact beside what it sees of the workdir', () => {
    const text =
      'name: a\nversion: 1.0.0\ninference: { driver: { artifact: svc-driver-script } }\ncapabilities: { state: {} }\n' +
      'artifacts:\n  - { name: t, version: "1", capabilities: { state: { store: [x, y] } } }\n  - { name: h, version: "1", runtime: hook }\n';
    const { grants } = lower(loadCapsuleManifest({ file: 'svc.yaml', text, env: {} }));
    expect(encodeScope(grants, containment, []).preopens).toEqual([
      { artifact: 't', runtime: 'tool', path: '.', writable: true, state: ['x', 'y'] },
      { artifact: 'h', runtime: 'hook', path: null, writable: false },
      { artifact: 'svc-driver-script', runtime: 'driver', path: '.', writable: true, state: ['a'] },
    ]);
  });

  const held = { resource: 'processes', of: 'session', max: 128, held_by: 'cgroup-v1' } as const;

  it('has the fields of the report and names destinations as they are declared [D1-SCOPE-08]', () => {
    expect(encodeScope(lowered(full).grants, containment, [held])).toEqual({
      containment: {
        declared: 'scoped',
        achieved: 'sealed',
        floor_met: true,
        mechanism: 'mountns+pivot_root+landlock+seccomp',
        userns_grant: 'granted',
      },
      filesystem_scope: 'out',
      workdir_exec: true,
      read_only: true,
      preopens: [
        { artifact: 'editor', runtime: 'tool', path: 'out', writable: false, state: ['notes'] },
        { artifact: 'watcher', runtime: 'hook', path: null, writable: false },
        { artifact: 'svc-driver-openai', runtime: 'driver', path: 'out', writable: false, state: ['notes'] },
      ],
      network_allow: ['a.example', 'https://b.example'],
      unix_sockets: true,
      shell_allow: ['git', 'python3.12'],
      spawn_allow: ['helper'],
      env_allow: ['LANG'],
      plan_submit: true,
      interpreter_runtime: ['python3.12'],
      staged_runtime: ['editor@1.0.0', 'watcher@2.0.0', 'style@3.0.0', 'svc-driver-openai@1.0.0'],
      limits: [held],
    });
  });
});

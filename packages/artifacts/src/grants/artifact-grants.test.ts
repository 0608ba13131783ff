import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  formatDestination,
  parseDestination,
  type NetworkDestination,
  isCovered,
} from '@svc/kit/net/network-destination.ts';
import { noFlags } from './flag-grants.ts';
import type { ArtifactCapabilities } from '../manifest/schema.ts';
import { narrowGrants, type ArtifactGrants, type CapsuleGrants, type Narrowed } from './artifact-grants.ts';
import { isWithin } from '../manifest/workdir-path.ts';

function destination(text: string): NetworkDestination {
  const reading = parseDestination(text);
  if (reading.kind === 'malformed') throw new Error(`${text} ${reading.reason}`);
  return reading.destination;
}

const capsule: CapsuleGrants = {
  capsuleName: 'researcher',
  scope: 'out',
  readOnly: false,
  hasProject: false,
  ...noFlags,
  networkAllow: ['a.example', 'b.example:8080'].map(destination),
  envAllow: ['LANG', 'TERM'],
  hostRead: [],
  stateStores: [],
  maxMemoryBytes: 1000,
  deadlineSecs: 100,
};

function narrow(
  runtime: ArtifactGrants['runtime'],
  capabilities?: ArtifactCapabilities,
  granted: CapsuleGrants = capsule,
): Narrowed {
  return narrowGrants({
    entry: { name: 'part', version: '1', runtime, ...(capabilities === undefined ? {} : { capabilities }) },
    capsule: granted,
    path: ['artifacts', 3],
    // The value of a key stands behind the key.
    locate: (_path, part) => ({ file: 'svc.yaml', line: 7, column: part === 'value' ? 9 : 1 }),
  });
}

describe('the grants of an artifact', () => {
  it.each(['tool', 'driver'] as const)('equal those of the capsule when a %s declares nothing', (runtime) => {
    const { grants, warnings } = narrow(runtime);
    expect(warnings).toEqual([]);
    expect(grants).toMatchObject({
      preopen: { scope: 'out', writable: true },
      networkAllow: capsule.networkAllow,
      envAllow: ['LANG', 'TERM'],
      maxMemoryBytes: 1000,
      deadlineSecs: 100,
    });
  });

  it.each(['tool', 'driver', 'hook'] as const)('equal what a %s declares, where the capsule grants it', (runtime) => {
    const { grants, warnings } = narrow(runtime, {
      filesystem: { scope: 'out/data', read_only: true },
      network: { allow: ['https://a.example', 'b.example:8080'] },
      env: { allow: ['LANG'] },
      limits: { memory: 10, deadline: 5 },
    });
    expect(warnings).toEqual([]);
    expect(grants).toMatchObject({
      preopen: { scope: 'out/data', writable: false },
      envAllow: ['LANG'],
      maxMemoryBytes: 10,
      deadlineSecs: 5,
    });
    expect(grants.networkAllow.map(formatDestination)).toEqual(['https://a.example', 'b.example:8080']);
  });

  it('have the paths of the host that lie within those of the capsule', () => {
    const granted = { ...capsule, hostRead: ['/opt/sdk', '/srv/data'] };
    expect(narrow('tool', undefined, granted).grants.hostRead).toEqual(['/opt/sdk', '/srv/data']);
    expect(narrow('hook', undefined, granted).grants.hostRead).toEqual([]);
    const asked = { filesystem: { host_read: ['/opt/sdk/lib/', '/opt/sdk-2', '/srv/data'] } };
    const { grants, warnings } = narrow('tool', asked, granted);
    expect(grants.hostRead).toEqual(['/opt/sdk/lib', '/srv/data']);
    expect(warnings.map(({ message }) => message)).toEqual([
      'artifacts[3].capabilities.filesystem.host_read[1] of part: /opt/sdk-2 is wider than the capsule grants and was dropped',
    ]);
  });

  it('lose what is wider than the capsule, with a warning that names each', () => {
    const { grants, warnings } = narrow('tool', {
      filesystem: { scope: '.', workdir_exec: true },
      network: { allow: ['a.example', 'c.example', 'b.example'], unix_sockets: true },
      env: { allow: ['HOME', 'LANG'] },
      limits: { memory: 2000, deadline: 200 },
    });
    expect(grants).toMatchObject({
      preopen: { scope: 'out', writable: true },
      workdirExec: false,
      unixSockets: false,
      envAllow: ['LANG'],
      maxMemoryBytes: 1000,
      deadlineSecs: 100,
    });
    expect(grants.networkAllow.map(formatDestination)).toEqual(['a.example']);
    expect(warnings.map(({ code, message, location }) => `${code} ${location?.line} ${message}`)).toEqual([
      'W-SEC-007 7 artifacts[3].capabilities.filesystem.scope of part: . is wider than the capsule grants and was dropped',
      'W-SEC-007 7 artifacts[3].capabilities.filesystem.workdir_exec of part: true is wider than the capsule grants and was dropped',
      'W-SEC-007 7 artifacts[3].capabilities.network.allow[1] of part: c.example is wider than the capsule grants and was dropped',
      'W-SEC-007 7 artifacts[3].capabilities.network.allow[2] of part: b.example is wider than the capsule grants and was dropped',
      'W-SEC-007 7 artifacts[3].capabilities.network.unix_sockets of part: true is wider than the capsule grants and was dropped',
      'W-SEC-007 7 artifacts[3].capabilities.env.allow[0] of part: HOME is wider than the capsule grants and was dropped',
      'W-SEC-007 7 artifacts[3].capabilities.limits.memory of part: 2000 bytes is wider than the capsule grants and was dropped',
      'W-SEC-007 7 artifacts[3].capabilities.limits.deadline of part: 200 seconds is wider than the capsule grants and was dropped',
    ]);
  });

  it('hold no file when the declared scope lies beside the capsule’s', () => {
    const { grants, warnings } = narrow('tool', { filesystem: { scope: 'src' } });
    expect(grants.preopen).toBeNull();
    expect(warnings).toHaveLength(1);
  });

  it('cannot make writable what the capsule makes read-only', () => {
    const { grants, warnings } = narrow('tool', { filesystem: { read_only: false } }, { ...capsule, readOnly: true });
    expect(grants.preopen).toEqual({ scope: 'out', writable: false });
    expect(warnings.map(({ message }) => message)).toEqual([
      'artifacts[3].capabilities.filesystem.read_only of part: false is wider than the capsule grants and was dropped',
    ]);
  });

  it('come with the place of what was dropped, and with where it can be granted', () => {
    const { warnings } = narrow('tool', { network: { allow: ['c.example'] }, limits: { memory: 2000 } });
    expect(warnings.map(({ hint, location }) => `${location?.column} ${hint}`)).toEqual([
      '9 grant it in capabilities.network.allow, or remove it here',
      '9 grant it in capabilities.limits.memory, or remove it here',
    ]);
  });

  it('stay within those of the capsule when a tool or a driver asks for none, and empty for a hook', () => {
    const granted = { ...capsule, workdirExec: true, unixSockets: true };
    for (const runtime of ['tool', 'driver'] as const) {
      expect(narrow(runtime, undefined, granted).grants).toMatchObject({ workdirExec: true, unixSockets: true });
      expect(narrow(runtime).grants).toMatchObject({ workdirExec: false, unixSockets: false });
    }
    expect(narrow('hook', undefined, granted).grants).toMatchObject({ workdirExec: false, unixSockets: false });
  });

  it('bound a hook by 30 seconds unless it asks for more and the capsule has it', () => {
    expect(narrow('hook').grants.deadlineSecs).toBe(30);
    expect(narrow('hook', { limits: { deadline: 60 } }).grants.deadlineSecs).toBe(60);
    expect(narrow('hook', undefined, { ...capsule, deadlineSecs: 10 }).grants.deadlineSecs).toBe(10);
  });
});

const anyPath = fc.constantFrom('.', 'out', 'out/data', 'output', 'src', 'src/lib');
const anyNetwork = fc.subarray([
  'a.example',
  'a.example:80',
  'http://a.example',
  'https://a.example',
  'b.example',
  '[::1]:80',
]);
const anyEnv = fc.subarray(['LANG', 'TERM', 'HOME']);
const maybe = <Value>(arbitrary: fc.Arbitrary<Value>): fc.Arbitrary<Value | undefined> =>
  fc.option(arbitrary, { nil: undefined });

const anyCapsule = fc
  .record({
    scope: anyPath,
    readOnly: fc.boolean(),
    workdirExec: fc.boolean(),
    networkAllow: anyNetwork.map((allow) => allow.map(destination)),
    unixSockets: fc.boolean(),
    envAllow: anyEnv,
    maxMemoryBytes: fc.integer({ min: 1, max: 9 }),
    deadlineSecs: fc.integer({ min: 1, max: 99 }),
  })
  .map((granted): CapsuleGrants => Object.assign({}, capsule, granted));

const anyCapabilities = fc.record({
  filesystem: maybe(
    fc.record({ scope: maybe(anyPath), read_only: maybe(fc.boolean()), workdir_exec: maybe(fc.boolean()) }),
  ),
  network: maybe(fc.record({ allow: anyNetwork, unix_sockets: maybe(fc.boolean()) })),
  env: maybe(fc.record({ allow: anyEnv })),
  limits: maybe(
    fc.record({ memory: maybe(fc.integer({ min: 1, max: 9 })), deadline: maybe(fc.integer({ min: 1, max: 99 })) }),
  ),
}) as fc.Arbitrary<ArtifactCapabilities>;

describe('narrowing', () => {
  it('never widens, and warns exactly when something asked for is not there', () => {
    fc.assert(
      fc.property(fc.constantFrom('tool', 'driver', 'hook'), anyCapsule, anyCapabilities, (runtime, granted, asked) => {
        const { grants, warnings } = narrow(runtime, asked, granted);
        if (grants.preopen !== null) {
          expect(isWithin(granted.scope, grants.preopen.scope)).toBe(true);
          expect(grants.preopen.writable && granted.readOnly).toBe(false);
        }
        expect(grants.workdirExec && !granted.workdirExec).toBe(false);
        expect(grants.unixSockets && !granted.unixSockets).toBe(false);
        expect(grants.networkAllow.every((inner) => isCovered(granted.networkAllow, inner))).toBe(true);
        expect(grants.envAllow.every((name) => granted.envAllow.includes(name))).toBe(true);
        expect(grants.maxMemoryBytes).toBeLessThanOrEqual(granted.maxMemoryBytes);
        expect(grants.deadlineSecs).toBeLessThanOrEqual(granted.deadlineSecs);
        const lost =
          (asked.network !== undefined && grants.networkAllow.length < asked.network.allow.length) ||
          (asked.env !== undefined && grants.envAllow.length < asked.env.allow.length) ||
          (asked.filesystem?.scope !== undefined && grants.preopen?.scope !== asked.filesystem.scope) ||
          (asked.filesystem?.read_only === false && granted.readOnly) ||
          (asked.filesystem?.workdir_exec === true && !grants.workdirExec) ||
          (asked.network?.unix_sockets === true && !grants.unixSockets) ||
          (asked.limits?.memory ?? 0) > grants.maxMemoryBytes ||
          (asked.limits?.deadline ?? 0) > grants.deadlineSecs;
        expect(warnings.length > 0).toBe(lost);
      }),
      { numRuns: 1000 },
    );
  });
});

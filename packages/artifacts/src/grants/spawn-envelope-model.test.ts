import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { loadCapsuleManifest } from '../manifest/load.ts';
import { lower } from './effective-grants.ts';
import { envelopeOf, firstExcess, type SpawnEnvelope } from './spawn-envelope.ts';

/** What one manifest says of the axes; null where it says nothing. */
interface Declaration {
  readonly network: readonly string[];
  readonly unixSockets: boolean;
  readonly peerFetch: readonly string[];
  readonly shell: readonly string[];
  readonly spawn: readonly string[];
  readonly env: readonly string[];
  readonly hostRead: readonly string[];
  readonly scope: string | null;
  readonly project: 'read' | 'write' | null;
  readonly workdirExec: boolean;
  readonly state: State;
  readonly containment: string | null;
}

/** A store that is null is one without a name. */
interface State {
  readonly ofCapsule: { readonly store: string | null } | null;
  readonly artifacts: readonly { readonly runtime: string; readonly state: { readonly store: string | null } | null }[];
}

function manifestOf(name: string, declaration: Declaration): string {
  const { network, peerFetch, shell, spawn, env, hostRead, scope, project, state, containment } = declaration;
  const block = (allow: readonly string[]): object | undefined => (allow.length === 0 ? undefined : { allow });
  return JSON.stringify({
    name,
    version: '1.0.0',
    inference: { transport: 'process', command: 'agent' },
    artifacts: state.artifacts.map((artifact, index) => ({
      name: `artifact-${index}`,
      version: '1.0.0',
      runtime: artifact.runtime,
      ...(artifact.state === null ? {} : { capabilities: { state: artifact.state } }),
    })),
    capabilities: {
      network: { allow: network, unix_sockets: declaration.unixSockets },
      peer_fetch: { allow: peerFetch },
      shell: block(shell),
      spawn: block(spawn),
      env: block(env),
      filesystem: { workdir_exec: declaration.workdirExec, host_read: hostRead, ...(scope === null ? {} : { scope }) },
      ...(project === null ? {} : { project: { write: project === 'write' } }),
      ...(state.ofCapsule === null ? {} : { state: state.ofCapsule }),
      ...(containment === null ? {} : { containment }),
    },
  });
}

function envelope(name: string, declaration: Declaration): SpawnEnvelope {
  const text = manifestOf(name, declaration);
  const loaded = loadCapsuleManifest({ file: 'svc.yaml', text, env: {}, purpose: 'inspect' });
  return envelopeOf(lower(loaded).grants, loaded.references);
}

// The model: what a declaration lets happen, out of a small world, read from its text and from nothing of the product's.

const hosts = ['a.example', 'b.example'];
/** The last is named by no entry: it stands for all the others. */
const ports = ['80', '443', '8080', '9'];

function requestsThrough(entry: string): Set<string> {
  const text = entry.toLowerCase();
  const through = new Set<string>();
  for (const host of hosts) {
    for (const port of ports) {
      for (const scheme of ['http', 'https']) {
        const isUsual = (scheme === 'http' ? '80' : '443') === port;
        const spellings = [host, `${host}:${port}`, `${scheme}://${host}:${port}`];
        if (isUsual) spellings.push(`${scheme}://${host}`);
        if (spellings.includes(text)) through.add(`${scheme} ${host} ${port}`);
      }
    }
  }
  return through;
}

/** Every place of a workdir that the scopes of the world keep apart. */
const places = ['', 'x', 'x/y', 'x/y/z', 'xy', 'q'];

function placesIn(scope: string | null): Set<string> {
  const all = scope === null || scope === '.';
  return new Set(places.filter((place) => all || place === scope || place.startsWith(`${scope}/`)));
}

/** Every place of the host that its paths keep apart. */
const hostPlaces = ['/opt', '/opt/sdk', '/opt/sdk/lib', '/opt/sdk-2', '/srv'];

function hostPlacesIn(paths: readonly string[]): Set<string> {
  const plain = paths.map((path) => path.replaceAll(/\/\.?(?=\/|$)/g, ''));
  return new Set(hostPlaces.filter((place) => plain.some((path) => `${place}/`.startsWith(`${path}/`))));
}

function storesOf(name: string, { ofCapsule, artifacts }: State): Set<string> {
  const opened = new Set<string>();
  for (const { runtime, state } of artifacts) {
    const own = state ?? (runtime === 'hook' ? null : ofCapsule);
    if (own !== null) opened.add(own.store ?? name);
  }
  return opened;
}

/** What may be done with the folder of the person. */
function doneWith(project: Declaration['project']): Set<string> {
  return new Set(project === null ? [] : project === 'read' ? ['read'] : ['read', 'write']);
}

const strengths = ['advisory', 'scoped', 'sealed'];

/** The containment it may run under. */
function runsUnder(floor: string | null): Set<string> {
  return new Set(strengths.slice(strengths.indexOf(floor ?? 'advisory')));
}

function isSubset(inner: Iterable<string>, outer: ReadonlySet<string>): boolean {
  return [...inner].every((one) => outer.has(one));
}

function union(sets: readonly ReadonlySet<string>[]): Set<string> {
  return new Set(sets.flatMap((set) => [...set]));
}

const throughAny = (entries: readonly string[]): Set<string> => union(entries.map(requestsThrough));

/** Whether the rule of each axis holds, in the order of the table. */
function rulesThatHold(parent: Declaration, child: Declaration): Readonly<Record<string, boolean>> {
  const isCovered = (entry: string, by: readonly string[]): boolean =>
    by.some((other) => isSubset(requestsThrough(entry), requestsThrough(other)));
  return {
    'capabilities.network.allow': child.network.every((entry) => isCovered(entry, parent.network)),
    'capabilities.network.unix_sockets': parent.unixSockets || !child.unixSockets,
    'capabilities.peer_fetch.allow': child.peerFetch.every((entry) => isCovered(entry, parent.peerFetch)),
    'capabilities.shell.allow': isSubset(child.shell, new Set(parent.shell)),
    'capabilities.spawn.allow': isSubset(child.spawn, new Set(parent.spawn)),
    'capabilities.env.allow': isSubset(child.env, new Set(parent.env)),
    'capabilities.filesystem.host_read': isSubset(hostPlacesIn(child.hostRead), hostPlacesIn(parent.hostRead)),
    'capabilities.filesystem.scope':
      parent.scope === null || (child.scope !== null && isSubset(placesIn(child.scope), placesIn(parent.scope))),
    'capabilities.filesystem.workdir_exec': parent.workdirExec || !child.workdirExec,
    'capabilities.project': isSubset(doneWith(child.project), doneWith(parent.project)),
    'capabilities.state.store': isSubset(storesOf('child', child.state), storesOf('parent', parent.state)),
    'capabilities.containment': isSubset(runsUnder(child.containment), runsUnder(parent.containment)),
  };
}

/** Everything of the world that a capsule can do. */
function powers(name: string, declaration: Declaration): Set<string> {
  const { network, unixSockets, peerFetch, shell, spawn, env, scope, workdirExec, state, containment } = declaration;
  const { hostRead } = declaration;
  const tagged = (tag: string, all: Iterable<string>): string[] => [...all].map((one) => `${tag} ${one}`);
  return new Set([
    ...tagged('request', throughAny(network)),
    ...tagged('fetch', throughAny(peerFetch)),
    ...tagged('run', shell),
    ...tagged('spawn', spawn),
    ...tagged('read variable', env),
    ...tagged('read', hostPlacesIn(hostRead)),
    ...tagged('see', placesIn(scope)),
    ...tagged('folder', doneWith(declaration.project)),
    ...tagged('open', storesOf(name, state)),
    ...tagged('run under', runsUnder(containment)),
    ...(unixSockets ? ['unix sockets'] : []),
    ...(workdirExec ? ['execute in the workdir'] : []),
  ]);
}

const destination = fc
  .tuple(
    fc.constantFrom('', 'http://', 'HTTPS://'),
    fc.constantFrom('a.example', 'B.example'),
    fc.constantFrom('', ':80', ':443', ':8080'),
  )
  .map((parts) => parts.join(''));
const someOf = (...all: string[]): fc.Arbitrary<string[]> => fc.subarray(all);
const storeName = fc.constantFrom(null, 'parent', 'child', 'notes');
const maybeState = fc.option(fc.record({ store: storeName }));

const axes: { readonly [Axis in keyof Declaration]: fc.Arbitrary<Declaration[Axis]> } = {
  network: fc.array(destination, { maxLength: 3 }),
  unixSockets: fc.boolean(),
  peerFetch: fc.array(destination, { maxLength: 3 }),
  shell: someOf('git', 'curl', 'Git'),
  spawn: someOf('helper', 'other'),
  env: someOf('LANG', 'lang', 'TERM'),
  hostRead: someOf(...hostPlaces, '/opt/./sdk//', '/opt/sdk/'),
  scope: fc.option(fc.constantFrom('.', ...places.slice(1))),
  project: fc.option(fc.constantFrom('read', 'write')),
  workdirExec: fc.boolean(),
  state: fc.record({
    ofCapsule: maybeState,
    artifacts: fc.array(fc.record({ runtime: fc.constantFrom('tool', 'driver', 'hook'), state: maybeState }), {
      maxLength: 3,
    }),
  }),
  containment: fc.option(fc.constantFrom(...strengths)),
};

const declaration: fc.Arbitrary<Declaration> = fc.record(axes);
const nothing: Declaration = {
  network: [],
  unixSockets: false,
  peerFetch: [],
  shell: [],
  spawn: [],
  env: [],
  hostRead: [],
  scope: null,
  project: null,
  workdirExec: false,
  state: { ofCapsule: null, artifacts: [] },
  containment: null,
};

/** What the comparison says, and whether the child it admits can do anything that the parent cannot. */
function compared(
  parent: Declaration,
  child: Declaration,
): { readonly refusedAt: string | null; readonly isWider: boolean } {
  const excess = firstExcess(envelope('parent', parent), envelope('child', child));
  const isWithin = isSubset(powers('child', child), powers('parent', parent));
  return { refusedAt: excess?.key ?? null, isWider: excess === null && !isWithin };
}

function modelled(
  parent: Declaration,
  child: Declaration,
): { readonly refusedAt: string | null; readonly isWider: false } {
  const [broken] = Object.entries(rulesThatHold(parent, child)).find(([, holds]) => !holds) ?? [];
  return { refusedAt: broken ?? null, isWider: false };
}

describe('the comparison of envelopes', () => {
  it.each([
    ['D2-ENVEL-02', 'network'],
    ['D2-ENVEL-05', 'unixSockets'],
    ['D2-ENVEL-06', 'peerFetch'],
    ['D2-ENVEL-07', 'shell'],
    ['D2-ENVEL-08', 'spawn'],
    ['D2-ENVEL-09', 'env'],
    ['D2-ENVEL-11', 'scope'],
    ['D2-ENVEL-12', 'workdirExec'],
    ['D2-ENVEL-13', 'state'],
    ['D2-ENVEL-15', 'containment'],
    ['not of D2', 'hostRead'],
    ['not of D2', 'project'],
  ] as const)('[%s] agrees with the model on %s, and admits nothing wider', (_, axis) => {
    fc.assert(
      fc.property(axes[axis], axes[axis], (held, declared) => {
        const [parent, child] = [
          { ...nothing, [axis]: held },
          { ...nothing, [axis]: declared },
        ];
        expect(compared(parent, child)).toEqual(modelled(parent, child));
      }),
      { numRuns: 200 },
    );
  });

  it('agrees with the model where the child differs from its parent in a few axes, and names the first that is more', () => {
    const mixed = fc.tuple(
      declaration,
      declaration,
      fc.subarray(Object.keys(axes) as (keyof Declaration)[], { maxLength: 3 }),
    );
    fc.assert(
      fc.property(mixed, ([parent, other, changed]) => {
        const child: Declaration = { ...parent, ...Object.fromEntries(changed.map((axis) => [axis, other[axis]])) };
        expect(compared(parent, child)).toEqual(modelled(parent, child));
      }),
      { numRuns: 300 },
    );
  });

  it('never refuses a capsule itself, nor one that declares less in each list', () => {
    const fewer = <T>(list: readonly T[]): fc.Arbitrary<T[]> => fc.subarray([...list]);
    const narrowed = declaration.chain((parent) =>
      fc.tuple(
        fc.constant(parent),
        fc.record({
          ...Object.fromEntries(Object.entries(parent).map(([axis, value]) => [axis, fc.constant(value)])),
          network: fewer(parent.network),
          peerFetch: fewer(parent.peerFetch),
          shell: fewer(parent.shell),
          spawn: fewer(parent.spawn),
          env: fewer(parent.env),
          hostRead: fewer(parent.hostRead),
        }),
      ),
    );
    fc.assert(
      fc.property(narrowed, ([parent, less]) => {
        const held = envelope('parent', parent);
        expect(firstExcess(held, held)).toBeNull();
        expect(firstExcess(held, envelope('parent', { ...parent, ...less }))).toBeNull();
      }),
    );
  });

  it('stays transitive: what a grandchild is admitted with, its grandparent holds', () => {
    const held = (axis: keyof Declaration): fc.Arbitrary<Declaration> =>
      axes[axis].map((value) => ({ ...nothing, [axis]: value }));
    const generations = fc
      .constantFrom(...(Object.keys(axes) as (keyof Declaration)[]))
      .chain((axis) => fc.tuple(held(axis), held(axis), held(axis)));
    fc.assert(
      fc.property(generations, ([first, second, third]) => {
        const one = envelope('child', first);
        const two = envelope('child', second);
        const three = envelope('child', third);
        fc.pre(firstExcess(one, two) === null && firstExcess(two, three) === null);
        expect(firstExcess(one, three)).toBeNull();
      }),
      { numRuns: 100, maxSkipsPerRun: 100 },
    );
  });
});

import { chmodSync, existsSync, mkdirSync, readdirSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';

import { noFlags } from '@svc/artifacts/grants/flag-grants.ts';
import type { ComponentHost } from '@svc/components/component-host.ts';
import type { ComponentGrants } from '@svc/components/component.ts';
import type { ArtifactGrants } from '@svc/artifacts/grants/artifact-grants.ts';
import type { InstalledArtifact } from '@svc/artifacts/store/installed-artifact.ts';
import { openStateStore } from '@svc/record/sessions/session-directories.ts';
import { systemClock } from '@svc/kit/system-clock.ts';
import { LateGrantUsage } from '../stage/late-grant-usage.ts';
import { SessionComponents } from '../stage/session-components.ts';
import { eachFolder } from '../../../../test/support/each-folder.ts';

let root: string;
let home: string;
let workdir: string;

eachFolder('svc-state-', (made) => {
  root = made;
  home = join(root, 'home');
  workdir = join(root, 'workdir');
  mkdirSync(home);
  mkdirSync(workdir);
});

describe('a state store', () => {
  it('appears below ~/.svc/state, for its owner alone, and stays as it is later', () => {
    openStateStore(home, 'notes').close();
    for (const made of ['.svc', '.svc/state', '.svc/state/notes']) {
      expect(statSync(join(home, made)).mode & 0o777).toBe(0o700);
    }
    writeFileSync(join(home, '.svc/state/notes/a.txt'), 'kept');
    chmodSync(join(home, '.svc/state/notes'), 0o750);
    const store = openStateStore(home, 'notes');
    expect(readdirSync(store.path)).toEqual(['a.txt']);
    expect(statSync(store.path).mode & 0o777).toBe(0o750);
    store.close();
  });

  it.each<[string, () => void]>([
    ['a link in its place', () => symlinkSync(workdir, join(state(), 'notes'))],
    ['a link to nowhere', () => symlinkSync('nowhere', join(state(), 'notes'))],
    ['a file in its place', () => writeFileSync(join(state(), 'notes'), '')],
    ['a link in the place of all stores', () => symlinkSync(workdir, join(svc(), 'state'))],
  ])('fails with %s, and nothing is made', (_, plant) => {
    plant();
    expect(() => openStateStore(home, 'notes')).toThrow(
      expect.objectContaining({
        code: 'E-CAP-017',
        message: `the state store notes is not a directory of ${join(home, '.svc/state')}`,
      }),
    );
    expect(readdirSync(workdir)).toEqual([]);
  });

  it('follows the user’s own link to another place of .svc', () => {
    symlinkSync(workdir, join(home, '.svc'));
    openStateStore(home, 'notes').close();
    expect(existsSync(join(workdir, 'state/notes'))).toBe(true);
  });

  it('fails with E-IO-001 when it cannot be made', () => {
    writeFileSync(join(home, '.svc'), '');
    expect(() => openStateStore(home, 'notes')).toThrow(expect.objectContaining({ code: 'E-IO-001' }));
  });
});

function svc(): string {
  mkdirSync(join(home, '.svc'), { recursive: true });
  return join(home, '.svc');
}

function state(): string {
  mkdirSync(join(svc(), 'state'));
  return join(home, '.svc/state');
}

describe('a component', () => {
  it.each(['tool', 'driver', 'hook'] as const)(
    'runs as a %s and sees its own stores, each writable, and no other',
    async (runtime) => {
      const granted: ComponentGrants[] = [];
      const components = new SessionComponents({
        host: hostThatNotes(granted),
        workdir,
        home,
        env: {},
        project: null,
        proxyFor: null,
        keys: null,
        imports: { kind: 'live' },
        decided: new Set(),
        grantUsage: new LateGrantUsage(systemClock, () => {}),
      });
      const scope = { scope: '.', writable: false } as const;
      components.open(artifact('a'), grants({ runtime, preopen: scope, stateStores: ['notes', 'tasks'] }));
      components.open(artifact('b'), grants({ runtime, preopen: null, stateStores: ['notes'] }));
      components.open(artifact('c'), grants({ runtime, preopen: null, stateStores: [] }));
      const seen = granted.map(({ preopens }) =>
        preopens.map(({ guestPath, hostPath, writable }) => [guestPath, statSync(hostPath).ino, writable]),
      );
      const notes = ['/state/notes', statSync(join(home, '.svc/state/notes')).ino, true];
      const tasks = ['/state/tasks', statSync(join(home, '.svc/state/tasks')).ino, true];
      expect(seen).toEqual([[['/', statSync(workdir).ino, false], notes, tasks], [notes], []]);
      await components.close();
      expect(granted.flatMap(({ preopens }) => preopens.filter(({ hostPath }) => existsSync(hostPath)))).toEqual([]);
    },
  );
});

function hostThatNotes(granted: ComponentGrants[]): ComponentHost {
  return {
    open: (_, given) => {
      granted.push(given);
      return { call: () => Promise.reject(new Error('nothing is called')), warm: () => {}, close: async () => {} };
    },
    close: async () => {},
  };
}

function artifact(name: string): InstalledArtifact {
  return {
    entry: { name, version: '1.0.0', runtime: 'tool' },
    manifest: { name, version: '1.0.0', runtime: 'tool', implementation: 'wasm', description: '', tags: [] },
    origin: 'source',
    location: '/nowhere',
    platform: null,
    sha256: '',
    compiledDir: null,
    skillText: null,
    read: () => Promise.reject(new Error('nothing is read')),
    archive: () => [],
  };
}

function grants(own: Pick<ArtifactGrants, 'runtime' | 'preopen' | 'stateStores'>): ArtifactGrants {
  return {
    name: 'a',
    version: '1.0.0',
    ...noFlags,
    networkAllow: [],
    envAllow: [],
    hostRead: [],
    runs: [],
    seesProject: false,
    maxMemoryBytes: 1,
    deadlineSecs: 1,
    ...own,
  };
}

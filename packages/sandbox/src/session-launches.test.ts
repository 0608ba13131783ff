import { EventEmitter, once } from 'node:events';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { lateSession } from './containment.ts';
import type { SessionContainment } from './session-containment.ts';
import { type LaunchMachinery, openSession } from './session-launches.ts';
import { unheld } from './limits/held-limits.ts';
import { minimalGrants, type ProcessGrants } from './launch/process-grants.ts';
import { eachFolder } from '../../../test/support/each-folder.ts';

const grants: ProcessGrants = {
  ...minimalGrants,
  limits: { processes: 1, open_files: 1, file_size: 1, cpu: 1, memory: 1 },
};
const shell = { command: '/bin/sh', env: { PATH: '/bin' } };

let directory: string;
eachFolder('svc-kernel-', (made) => {
  directory = made;
});

/** A session whose helper is missing, so that nothing starts; `filesOf` answers what programs need. */
function openedSession(filesOf: LaunchMachinery['filesOf']): SessionContainment {
  const place = { workdir: directory, privateDirectory: directory, hold: unheld(grants.limits) };
  const machinery: LaunchMachinery = {
    helper: join(directory, 'missing'),
    filterFor: () => Buffer.from('filter'),
    filesOf,
    countProcesses: () => 0,
    enterGroups: () => ({ kind: 'none', obstacle: 'none here' }),
    keepUsers: async () => null,
    openEgress: async () => ({ serve: () => {}, close: async () => {} }),
  };
  return lateSession(() => openSession(place, { class: 'scoped', landlockAbi: 6 }, machinery));
}

const nothing = { read: [], execute: [], links: [], problems: [] };

describe('a prepared launch', () => {
  it('finds the files of its programs there already', async () => {
    let searches = 0;
    const search = new EventEmitter();
    const searched = once(search, 'done');
    const session = openedSession(() => {
      searches += 1;
      search.emit('done');
      return nothing;
    });
    const launcher = session.launcher(grants);
    launcher.prepare?.(shell);
    await searched;
    expect(await launcher.launch({ ...shell, args: [], stdin: 'null' })).toEqual({
      kind: 'refused',
      reason: 'no such command',
    });
    expect(searches).toBe(1);
    await session.close();
  });

  it('leaves it to the launch to report what went wrong', async () => {
    const search = new EventEmitter();
    const searched = once(search, 'done');
    const session = openedSession(() => {
      search.emit('done');
      throw new Error('the disk is gone');
    });
    const launcher = session.launcher(grants);
    launcher.prepare?.(shell);
    await searched;
    await expect(launcher.launch({ ...shell, args: [], stdin: 'null' })).rejects.toThrow('the disk is gone');
    await session.close();
  });

  it('does not begin once the session is closed', async () => {
    const searches: string[] = [];
    const search = new EventEmitter();
    const searched = once(search, 'done');
    const [first, second] = ['first', 'second'].map((name) =>
      openedSession(() => {
        searches.push(name);
        search.emit('done');
        return nothing;
      }),
    );
    first?.launcher(grants).prepare?.(shell);
    await first?.close();
    // Its turn comes after that of the first would have come.
    second?.launcher(grants).prepare?.(shell);
    await searched;
    expect(searches).toEqual(['second']);
    await second?.close();
  });
});

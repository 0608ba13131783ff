import { describe, expect, it } from 'vitest';

import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import type { Launcher, LaunchRequest, NarrowedLaunch } from '@svc/sandbox/launcher.ts';
import { LaterCommands } from './later-commands.ts';

/** Starts nothing, and remembers what was to be started. */
function notedBy(name: string, launches: string[]): Launcher {
  return {
    launch: (request) => {
      launches.push(`${name}${request.narrowed?.readOnly === true ? ' narrowed' : ''}`);
      return Promise.resolve({ kind: 'refused', reason: 'it is not started' });
    },
  };
}

function launch(narrowed: NarrowedLaunch | null = null): LaunchRequest {
  return { command: 'sh', args: [], env: {}, stdin: 'null', narrowed };
}

const write = { write: '/home/me/shop' };

describe('writing that a person grants to a session', () => {
  it('holds for one launch, for those of one task, or for all, whatever a skill in use narrows', async () => {
    const launches: string[] = [];
    const later = new LaterCommands();
    const launcher = later.launcher(notedBy('reads', launches), ({ names, writes }) =>
      notedBy([...names, ...(writes ? ['writes'] : [])].join(' '), launches),
    );
    const narrowed = { without: [], readOnly: true };
    await launcher.launch(launch(narrowed));
    later.grant(write, 'once');
    later.grant({ name: 'tr', program: '/usr/bin/tr' }, 'session');
    await launcher.launch(launch(narrowed));
    await launcher.launch(launch(narrowed));
    later.grant(write, 'once');
    later.taskEnded();
    await launcher.launch(launch());
    later.grant(write, 'session');
    later.taskEnded();
    for (const _ of [1, 2]) await launcher.launch(launch(narrowed));
    expect(launches).toEqual(['reads narrowed', 'tr writes', 'tr narrowed', 'tr', 'tr writes', 'tr writes']);
  });

  it('starts no command where it cannot be held, and a further one once it can', async () => {
    const launches: string[] = [];
    const later = new LaterCommands();
    let isHeld = false;
    const launcher = later.launcher(notedBy('reads', launches), () => {
      if (!isHeld) throw new Diagnostic('E-CAP-023', 'there is a .env');
      return notedBy('writes', launches);
    });
    later.grant(write, 'session');
    expect(await launcher.launch(launch())).toEqual({ kind: 'refused', reason: 'there is a .env' });
    isHeld = true;
    await launcher.launch(launch());
    expect(launches).toEqual(['writes']);
  });
});

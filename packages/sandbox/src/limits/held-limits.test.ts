import { expect, it } from 'vitest';

import { minimalGrants } from '../launch/process-grants.ts';
import { climb } from './held-limits.ts';

it.each([
  [true, { session: 'user', program: undefined }],
  [false, { session: 'none', program: 'user' }],
])(
  "an ordinary user's session is held in sealed only where a namespace can be kept (%s), for alone each launch is counted without the others",
  (users, held) => {
    const resources = { ...minimalGrants.limits, processes: 64, session_processes: 64 };
    const { limits } = climb(
      { resources, directories: [] },
      {
        enforcement: { class: 'sealed', landlockAbi: 6, root: { userNamespace: true, proc: true } },
        ability: { users },
        isSuperuser: false,
        own: { pid: process.pid, membership: '', mounts: '' },
      },
    );
    const by = (of: string): string | undefined =>
      limits.find((each) => each.resource === 'processes' && each.of === of)?.held_by;
    expect({ session: by('session'), program: by('program') }).toEqual(held);
  },
);

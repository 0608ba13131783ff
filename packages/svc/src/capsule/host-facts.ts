import { release, tmpdir } from 'node:os';
import { join } from 'node:path';
import { arch, getuid, platform } from 'node:process';

import type { HostFacts } from '@svc/sandbox/host-containment.ts';

export interface HostQuestion extends Pick<HostFacts, 'packageRoot' | 'ceiling'> {
  /** The home directory of the user. */
  readonly home: string;
}

/** What of this process and its machine decides how processes can be contained. */
export function hostFacts({ home, packageRoot, ceiling }: HostQuestion): HostFacts {
  return {
    packageRoot,
    platform,
    architecture: arch,
    uid: getuid?.() ?? 0,
    kernel: release(),
    cacheDirectory: join(home, '.svc', 'cache'),
    temporaryDirectory: tmpdir(),
    ceiling,
  };
}

// Finds the containment helper of this machine in the package.
import { accessSync, constants, statSync } from 'node:fs';
import { join } from 'node:path';

import { unlessRefused } from '@svc/kit/files/unless-refused.ts';
import type { Architecture } from '../seccomp/architecture.ts';

export interface HelperSearch {
  /** The folder of this package, installed or a checkout. */
  readonly packageRoot: string;
  /** As `process.platform` and `process.arch` have them. */
  readonly platform: string;
  readonly architecture: string;
}

const architectures: Readonly<Record<string, Architecture>> = { x64: 'x86_64', arm64: 'aarch64' };

/** An architecture by the name that Node has for it; undefined for one whose system calls cannot be filtered. */
export function architectureOf(nodeName: string): Architecture | undefined {
  return architectures[nodeName];
}

/** Where `svc-launch` is. Null where there is none: off Linux, on other architectures, and in a checkout whose build said why. */
export function findHelper({ packageRoot, platform, architecture }: HelperSearch): string | null {
  if (platform !== 'linux') return null;
  const path = join(packageRoot, 'dist', 'native', `linux-${architecture}`, 'svc-launch');
  return isProgram(path) ? path : null;
}

function isProgram(path: string): boolean {
  // Whatever keeps us from looking at it keeps us from starting it.
  return unlessRefused(() => {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  }, false);
}

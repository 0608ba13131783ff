import { accessSync, constants, statSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';

export interface HelperSearch {
  /** The folder of this package, installed or a checkout. */
  readonly packageRoot: string;
  /** As `process.platform` and `process.arch` have them. */
  readonly platform: string;
  readonly architecture: string;
}

/**
 * Where `svc-launch` is: in the optional package for this platform when that is installed, else where a checkout builds it.
 * Null where there is none: off Linux, on an architecture without a package in a checkout without a C compiler.
 */
export function findHelper({ packageRoot, platform, architecture }: HelperSearch): string | null {
  if (platform !== 'linux') return null;
  const platformName = `linux-${architecture}`;
  const packageName = join('@svc', `launch-${platformName}`, 'svc-launch');
  const beside = dirname(packageRoot);
  const candidates = [
    join(packageRoot, 'node_modules', packageName),
    // Installers put the packages of a package beside it.
    ...(basename(beside) === 'node_modules' ? [join(beside, packageName)] : []),
    join(packageRoot, 'dist', 'native', platformName, 'svc-launch'),
  ];
  return candidates.find(isProgram) ?? null;
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch (error) {
    // Whatever keeps us from looking at it keeps us from starting it.
    if ((error as NodeJS.ErrnoException).code === undefined) throw error;
    return false;
  }
}

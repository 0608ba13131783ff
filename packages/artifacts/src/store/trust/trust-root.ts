/** Finds the list of authorities and logs that svc checks signatures against. */

import { join } from 'node:path';

import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import { readTextIfThere } from '@svc/kit/files/read-text.ts';
import { sha256Hex } from '@svc/kit/sha256.ts';
import type { TrustPolicy } from '../../manifest/trust-policy.ts';

export interface TrustRoot {
  readonly file: string;
  /** Not checked yet. */
  readonly text: string;
  readonly sha256: string;
}

interface RootPlaces {
  readonly userHome: string;
  readonly packageRoot: string;
}

/** What `svc trust update` writes below the home of a user. */
export function updatedRootFile(userHome: string): string {
  return join(userHome, '.svc', 'trust', 'trusted_root.json');
}

/** The list that comes with `svc`: the one of the public instance when it was built. */
function shippedRootFile(packageRoot: string): string {
  return join(packageRoot, 'dist', 'trust', 'trusted_root.json');
}

/** The file that the policy names, else what `svc trust update` has fetched, else what comes with `svc`. `E-REG-013` if it cannot be read. */
export function readTrustRoot({ root }: Pick<TrustPolicy, 'root'>, { userHome, packageRoot }: RootPlaces): TrustRoot {
  if (root !== null) return readRoot(root) ?? missing(root, 'correct trust.root in ~/.svc/config.yaml');
  const shipped = shippedRootFile(packageRoot);
  return readRoot(updatedRootFile(userHome)) ?? readRoot(shipped) ?? missing(shipped, 'install svc again');
}

function readRoot(file: string): TrustRoot | null {
  const text = readTextIfThere(file);
  return text === null ? null : { file, text, sha256: sha256Hex(text) };
}

function missing(file: string, hint: string): never {
  throw new Diagnostic('E-REG-013', `the list of trusted authorities ${file} is not there`, { hint });
}

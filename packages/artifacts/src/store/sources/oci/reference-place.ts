/** Finds the tag or digest in a repository that a reference stands for. */

import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import { type OciReference, spellOci } from '../../../manifest/oci-reference.ts';
import type { OciRepository } from './repository.ts';

/** The digest of a reference, else its tag. `E-REG-002` when its tag leads to another document than its digest. */
export async function placeIn(repository: OciRepository, { tag, digest }: OciReference): Promise<string> {
  if (tag !== null && digest !== null) {
    const tagged = await repository.document(tag);
    if (tagged !== null && tagged.digest !== digest) {
      throw new Diagnostic('E-REG-002', `${repository.label}:${tag} is ${tagged.digest} now, not ${digest}`, {
        hint: 'tags of such a registry can be moved: find out why this one was',
      });
    }
  }
  return digest ?? tag ?? '';
}

/** `E-REG-001` for a reference that leads to nothing; `forWhom` says for whom, as ` for linux-x86_64`. */
export function nothingAt(reference: OciReference, forWhom = ''): Diagnostic {
  return new Diagnostic('E-REG-001', `there is no ${spellOci(reference)}${forWhom}`, {
    hint: 'check the reference, and that the login of docker or podman may read it',
  });
}

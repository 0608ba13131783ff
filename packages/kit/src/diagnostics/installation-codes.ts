/** The codes of how `svc` itself is installed. */

import type { CatalogueEntry } from './catalogue-entry.ts';

/** Codes of a program whose own files are not as it needs them; a part of the catalogue. */
export const installationCodes = {
  'E-RUN-170': {
    title: 'svc was replaced or removed while it ran',
    explanation:
      'svc reads parts of itself when they are first needed. A package manager or a build put another version in the place of the one that was running, or removed it, and the next part was not to be had. Run the command again. A capsule that was running has ended: start it again, its trace and journal are kept. To upgrade without that, end the capsules that svc ps lists first.',
  },
} as const satisfies Record<string, CatalogueEntry>;

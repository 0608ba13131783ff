/** Every error and warning code, with what it means and what to do: a file for each family. */

import { approvalCodes } from './approval-codes.ts';
import { artifactCodes } from './artifact-codes.ts';
import type { CatalogueEntry } from './catalogue-entry.ts';
import { commandCodes } from './command-codes.ts';
import { containmentCodes } from './containment-codes.ts';
import { doorCodes } from './door-codes.ts';
import { firstMinuteCodes } from './first-minute-codes.ts';
import { journalCodes } from './journal-codes.ts';
import { manifestCodes } from './manifest-codes.ts';
import { runCodes } from './run-codes.ts';
import { serverCodes } from './server-codes.ts';
import { telemetryCodes } from './telemetry-codes.ts';

/**
 * Every code that `svc` and its servers print. `E-` stops the work, `W-` does not.
 * A code is never reused for another condition.
 */
export const catalogue = {
  ...approvalCodes,
  ...artifactCodes,
  ...commandCodes,
  ...containmentCodes,
  ...doorCodes,
  ...firstMinuteCodes,
  ...journalCodes,
  ...manifestCodes,
  ...runCodes,
  ...serverCodes,
  ...telemetryCodes,
} as const satisfies Record<string, CatalogueEntry>;

export type DiagnosticCode = keyof typeof catalogue;

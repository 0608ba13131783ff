/** Opens the recording of a test, which may come from a stranger. */

import { tmpdir } from 'node:os';
import * as z from 'zod/mini';
import { $ZodError } from 'zod/v4/core';

import type { ScopeObject } from '@svc/artifacts/grants/scope-object.ts';
import { orRefused } from '@svc/capsule/replay/replay-session.ts';
import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import { HeldDirectory } from '@svc/kit/files/held-directory.ts';
import { makeScratch, removeScratch } from '@svc/kit/files/scratch-folder.ts';
import { damaged, JournalReader } from '@svc/record/journal/journal-reader.ts';
import type { JournalRecord } from '@svc/record/journal/records.ts';
import { unpackExport } from '@svc/record/sessions/unpack-export.ts';
import { thisUser } from '@svc/record/sessions/recorded-process.ts';
import { readRecording, type Recording, type Setup } from '@svc/session/replay/recorded-history.ts';

/** A recording that a test can be run over: whole, with every text and an end. */
export interface WholeRecording {
  readonly open: JournalRecord<'open'>;
  readonly setup: Setup;
  readonly recording: Recording;
  /** What the session was granted. */
  readonly scope: ScopeObject;
}

/**
 * Reads the archive at a path, which messages call by its label, by way of a folder of its own that is gone again when this returns. Throws the codes of archives, `E-RUN-073` for a
 * damaged journal, `E-RUN-074` for what is no export, and `E-RUN-078` for what cannot be run again.
 */
export async function openRecording(path: string, label: string): Promise<WholeRecording> {
  const scratch = makeScratch(tmpdir(), 'svc-test-');
  try {
    await unpackExport(path, scratch, label);
    const directory = HeldDirectory.at(scratch);
    try {
      return await orRefused(
        async () => readWhole(directory, label),
        (why) => notRunnable(label, why),
      );
    } finally {
      directory.close();
    }
  } finally {
    removeScratch(scratch);
  }
}

function readWhole(directory: HeldDirectory, label: string): WholeRecording {
  const reader = JournalReader.open(directory, thisUser());
  const opening = reader?.opening() ?? null;
  if (reader === null) throw notRunnable(label, 'it has no journal');
  try {
    if (opening?.open.capture === 'meta') throw notRunnable(label, 'its journal keeps hashes alone (capture meta)');
    const recording = readRecording(reader);
    const { damage, missing, setup, close } = recording;
    if (damage !== null) throw damaged(damage);
    if (missing !== null) throw notRunnable(label, `${missing.place}: ${missing.why}`);
    if (opening === null || setup === null) throw notRunnable(label, 'its journal does not say what it began with');
    if (close === null) throw notRunnable(label, 'it was killed or still ran: its recording has no end');
    return { open: opening.open, setup, recording, scope: scopeOf(setup, label) };
  } finally {
    reader.close();
  }
}

const names = z.array(z.string());
const limits = z.array(z.looseObject({ resource: z.string(), of: z.string(), max: z.nullable(z.number()) }));
const preopens = z.array(
  z.looseObject({ artifact: z.string(), path: z.nullable(z.string()), state: z.optional(names) }),
);
const scopeShape = z.looseObject({ containment: z.looseObject({ declared: z.string() }), preopens, limits });
const toolsShape = z.array(z.looseObject({ name: z.string(), artifact: z.optional(z.string()) }));
const settingsShape = z.looseObject({
  conversations: z.enum(['nowhere', 'in the session', 'between sessions', 'continued']),
});

/** The grants of a recording; what its first lines say has the shapes that are relied on. */
function scopeOf({ grants, tools, settings }: Setup, label: string): ScopeObject {
  try {
    toolsShape.parse(JSON.parse(tools));
    settingsShape.parse(JSON.parse(settings));
    return scopeShape.parse(JSON.parse(grants)) as unknown as ScopeObject;
  } catch (error) {
    if (!(error instanceof SyntaxError) && !(error instanceof $ZodError)) throw error;
    throw notRunnable(label, 'its journal does not say what it began with in the way of svc');
  }
}

/** `E-RUN-078` */
export function notRunnable(label: string, why: string): Diagnostic {
  return new Diagnostic('E-RUN-078', `the recording ${label} cannot be run again: ${why}`, {
    hint: 'a test needs a session that was recorded to its end: svc run --capture content, then svc test --record <name>',
  });
}

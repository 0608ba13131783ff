/** What the doors of a session do around it: lines of its trace, files of its workdir, and what has to end with it. */

import type { CapsuleManifest } from '@svc/artifacts/manifest/schema.ts';
import { Diagnostic, diagnosticOf } from '@svc/kit/diagnostics/diagnostic.ts';
import type { ContainmentClass } from '@svc/protocol/containment-class.ts';
import type { DoorOutside } from '@svc/doors/core/door-core.ts';
import { changedFiles } from '@svc/session/files/changed-files.ts';
import { ExportRoot, type Hides, normalizedRoot } from '@svc/session/files/export-root.ts';
import { writeWorkdirFile } from '@svc/session/workdir/workdir-file.ts';
import type { RequestSpans } from '@svc/telemetry/request-spans.ts';
import type { TraceEvent } from '@svc/record/trace/events.ts';
import type { SessionTelemetry } from './telemetry/session-telemetry.ts';

/** What a session has for its doors. */
export interface DoorsAround {
  /** The accessible workdir, canonical. */
  readonly workdir: string;
  readonly hides?: Hides | undefined;
  readonly record: (event: TraceEvent) => void;
  /** Called with each line that could not be written. */
  readonly onLost: (lost: Diagnostic) => void;
  /** It is null where no telemetry is sent. */
  readonly telemetry: SessionTelemetry | null;
  /** What is to be called, and waited for, at the end of the session. */
  readonly ends: (() => Promise<void>)[];
}

export interface DoorsOutsideOptions extends DoorsAround {
  /** `exports.files` of the manifest. */
  readonly files: CapsuleManifest['exports']['files'];
  readonly achieved: ContainmentClass;
  /** Called with each file of a client that could not be written. */
  readonly onWarning: (warning: Diagnostic) => void;
}

/** The outside of the doors of one session, made for its first door. */
export class DoorsOutside implements DoorOutside {
  readonly #options: DoorsOutsideOptions;

  constructor(options: DoorsOutsideOptions) {
    this.#options = options;
  }

  record(event: TraceEvent): void {
    const lost = diagnosticOf(() => this.#options.record(event));
    if (lost !== null) this.#options.onLost(lost);
  }

  onClose(close: () => Promise<void>): void {
    this.#options.ends.push(close);
  }

  requests(): RequestSpans | null {
    return this.#options.telemetry?.requests ?? null;
  }

  saveInput(name: string, bytes: Uint8Array): boolean {
    const { workdir, onWarning } = this.#options;
    const refused = diagnosticOf(() => writeWorkdirFile({ workdir, directory: 'in', name, content: bytes }));
    if (refused !== null) onWarning(refused);
    return refused === null;
  }

  filesSince(sinceMs: number): readonly string[] {
    const { files } = this.#options;
    if (files === undefined) return [];
    return changedFiles(new ExportRoot({ ...this.#options, root: normalizedRoot(files.root) }), sinceMs);
  }
}

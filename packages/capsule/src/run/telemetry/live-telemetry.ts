/** Sends the telemetry of a session while it lasts. */

import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import { systemClock } from '@svc/kit/system-clock.ts';
import { recordRedaction } from '@svc/kit/diagnostics/handle-id.ts';
import { isErrno } from '@svc/kit/diagnostics/system-reason.ts';
import { sha256Hex } from '@svc/kit/sha256.ts';
import type { Activity } from '@svc/session/task/activity.ts';
import { callContent, inferenceContent } from '@svc/telemetry/content.ts';
import { type DeliveredSignals, Exporter } from '@svc/telemetry/exporter.ts';
import { lossOf } from '@svc/telemetry/losses.ts';
import type { Attribute } from '@svc/telemetry/otlp-records.ts';
import type { RequestSpans } from '@svc/telemetry/request-spans.ts';
import { readSettings, type TelemetrySettings } from '@svc/telemetry/telemetry-settings.ts';
import type { TraceLine } from '@svc/record/trace/events.ts';
import type { OpenSessionRequest } from '../../launch/open-session-request.ts';

/** What the environment asks for, from the first line of the session to the end of it. */
export class LiveTelemetry {
  readonly #settings: TelemetrySettings;
  readonly #redact: (text: string) => string;
  readonly #withContent: boolean;
  readonly #onWarning: (warning: Diagnostic) => void;
  readonly #saidFolder: string;
  #exporter: Exporter | null = null;

  /** Content is sent of a session that keeps a journal with it, and of no other. */
  constructor({ request, launch, onWarning }: OpenSessionRequest) {
    const { settings, problems } = readSettings(request.telemetryEnv, request.env);
    for (const problem of problems) onWarning(problem);
    this.#settings = settings;
    this.#redact = recordRedaction(launch.redactor);
    this.#withContent = settings.withContent && launch.capture === 'content';
    this.#onWarning = onWarning;
    this.#saidFolder = join(request.home, '.svc', 'cache', 'telemetry');
  }

  start(start: Extract<TraceLine, { event_type: 'session_start' }>): void {
    if (Object.keys(this.#settings.signals).length === 0) return;
    const [settings, redact] = [this.#settings, this.#redact];
    this.#exporter = new Exporter({ settings, start, redact, clock: systemClock, isLive: true });
  }

  /** `activity` is what the line was written of. */
  take(line: TraceLine, activity: Activity): void {
    this.#exporter?.take(line, this.#withContent ? this.#contentOf(line, activity) : undefined);
  }

  /** Returns null where nothing is sent. */
  get requests(): RequestSpans | null {
    return this.#exporter?.requests ?? null;
  }

  settled(taskId: string): void {
    this.#exporter?.settled(taskId);
  }

  /** Returns null where every signal is off. Warns with `W-OTL-003` of what was lost. */
  async end(withinMs: number): Promise<DeliveredSignals | null> {
    const exporter = this.#exporter;
    if (exporter === null) return null;
    const delivered = await exporter.close(withinMs, systemClock.now());
    const loss = lossOf(delivered, exporter.why);
    const address = exporter.withoutMeasures;
    if (loss === null || (address !== null && !this.#isNew(address))) return delivered;
    const hint =
      address === null
        ? undefined
        : 'the collector takes no measures: OTEL_METRICS_EXPORTER=none sends none; this is said once for each address';
    this.#onWarning(new Diagnostic('W-OTL-003', loss, hint === undefined ? {} : { hint }));
    return delivered;
  }

  /** Whether no run of this user has warned of the address before. Where that cannot be kept, it is said again. */
  #isNew(address: string): boolean {
    try {
      mkdirSync(this.#saidFolder, { recursive: true, mode: 0o700 });
      writeFileSync(join(this.#saidFolder, sha256Hex(address).slice(0, 32)), '', { flag: 'wx', mode: 0o600 });
      return true;
    } catch (error) {
      return !isErrno(error, 'EEXIST');
    }
  }

  #contentOf(line: TraceLine, activity: Activity): readonly Attribute[] {
    if (activity.kind === 'inference-ended') {
      const { request, outcome } = activity;
      return inferenceContent(request, outcome.kind === 'response' ? outcome.response : null, this.#redact);
    }
    if (activity.kind === 'call-ended') return callContent(activity.input, activity.call.unfenced, this.#redact);
    if (line.event_type === 'plan_step') return callContent(line.arguments, null, this.#redact);
    return [];
  }
}

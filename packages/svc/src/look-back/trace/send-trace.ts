/** Sends the trace of a session to a collector, as the session would have done while it ran. */

import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import { systemClock } from '@svc/kit/system-clock.ts';
import { LineFile, openOwn } from '@svc/record/journal/line-file.ts';
import { traceEventSchemas, type TraceLine, traceLine } from '@svc/record/trace/events.ts';
import { openFolder, traceFile, type WorkspaceOption } from '@svc/record/sessions/recorded-sessions.ts';
import { thisUser } from '@svc/record/sessions/recorded-process.ts';
import { linesLeftOut, receivedIn } from '@svc/record/sessions/trace-events.ts';
import { callContent } from '@svc/telemetry/content.ts';
import { Exporter } from '@svc/telemetry/exporter.ts';
import { lossOf } from '@svc/telemetry/losses.ts';
import type { Attribute } from '@svc/telemetry/otlp-records.ts';
import { readSettings, type TelemetrySettings } from '@svc/telemetry/telemetry-settings.ts';
import type { CommandContext } from '@svc/terminal/screen/command-context.ts';
import { render } from '@svc/terminal/screen/render-failure.ts';
import { jsonLine, say } from '@svc/terminal/screen/shown.ts';

const whyUnread = 'that cannot be read, or of no event that this version of svc knows';
/** Time limit for a whole trace. */
const patienceMs = 60_000;
/** The collector is checked after so many lines: fewer than fit into its queue. */
const linesAtOnce = 256;

interface SendOptions extends WorkspaceOption {
  readonly json?: boolean;
}

/**
 * `svc trace export <session> --otlp`. `E-OTL-004` where the environment names no collector, `E-RUN-071` for a session without a trace,
 * `E-OTL-005` where the collector has not taken everything within a minute.
 */
export async function sendTrace(
  context: CommandContext,
  wanted: string | undefined,
  options: SendOptions,
): Promise<void> {
  const settings = settingsOf(context);
  const found = await openFolder(context, wanted, options);
  try {
    const fd = openOwn(found.directory, traceFile, thisUser());
    if (fd === null) throw new Diagnostic('E-RUN-071', `the session ${found.name} has no ${traceFile}`);
    const file = new LineFile(fd);
    try {
      await send(file, settings, { context, options, name: found.name });
    } finally {
      file.close();
    }
  } finally {
    found.close();
  }
}

/** Metrics belong to the moment in which they were made, so they are not sent again. */
function settingsOf(context: CommandContext): TelemetrySettings {
  const { settings, problems } = readSettings(context.env);
  for (const problem of problems) context.stderr.write(render([problem], context));
  const { metrics: _, ...signals } = settings.signals;
  if (signals.traces !== undefined || signals.logs !== undefined) return { ...settings, signals };
  throw new Diagnostic('E-OTL-004', 'no collector is named that takes spans or logs', {
    hint: 'set OTEL_EXPORTER_OTLP_ENDPOINT, such as to http://127.0.0.1:4318',
  });
}

interface Sending {
  readonly context: CommandContext;
  readonly options: SendOptions;
  readonly name: string;
}

async function send(file: LineFile, settings: TelemetrySettings, { context, options, name }: Sending): Promise<void> {
  const lateMs = systemClock.monotonicMs() + patienceMs;
  const leftMs = (): number => Math.max(0, lateMs - systemClock.monotonicMs());
  let exporter: Exporter | null = null;
  let session = name;
  let [lines, unread] = [0, 0];
  for (const { line: text, isWhole } of file.everyLine()) {
    const line = lineOf(isWhole ? parsed(text.toString('utf8')) : receivedIn(text.toString('utf8')));
    if (line === null) unread += 1;
    else if (line.event_type === 'session_start') {
      session = line.session_id;
      exporter ??= new Exporter({ settings, start: line, redact: asItIs, clock: systemClock, isLive: false });
    } else exporter?.take(line, settings.withContent ? contentOf(line) : undefined);
    lines += 1;
    if (lines % linesAtOnce === 0) await exporter?.caughtUp(leftMs());
  }
  if (exporter === null) throw new Diagnostic('E-RUN-071', `the trace of ${name} does not say what was started`);
  const delivered = await exporter.close(leftMs(), null);
  const spans = delivered.traces?.sent ?? 0;
  const logs = delivered.logs?.sent ?? 0;
  context.stdout.write(
    options.json === true
      ? jsonLine({ session, ...delivered, unread_lines: unread })
      : say`sent ${spans} spans and ${logs} logs of ${session}\n`,
  );
  if (unread > 0) context.stderr.write(render([linesLeftOut(session, unread, whyUnread)], context));
  const loss = lossOf(delivered, exporter.why);
  if (loss === null) return;
  const hint = 'run it again when the collector is there: what arrived already has the same ids';
  throw new Diagnostic('E-OTL-005', loss, { hint });
}

/** Secrets were taken out of a trace when it was written. */
function asItIs(text: string): string {
  return text;
}

/** Returns null for a line that this version does not know. */
function lineOf(value: unknown): TraceLine | null {
  const common = traceLine.safeParse(value);
  if (!common.success) return null;
  const { event_type } = common.data;
  const own = traceEventSchemas[event_type].safeParse(value);
  if (!own.success) return null;
  const line = { ...common.data, ...own.data } as unknown as TraceLine;
  return hasIds(line) ? line : null;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    return null;
  }
}

const isUuid = /_[0-9a-f]{32}$/;

/** Ids become those of spans: the collector would refuse a whole batch for an invalid one. */
function hasIds(line: TraceLine): boolean {
  const task = 'task_id' in line ? (line.task_id ?? null) : null;
  const delegation = 'delegation_id' in line ? line.delegation_id : null;
  return [line.event_id, line.session_id, task, delegation].every((id) => id === null || isUuid.test(id));
}

/** The content of calls that is in the trace itself. */
function contentOf(line: TraceLine): readonly Attribute[] {
  return 'arguments' in line ? callContent(line.arguments, null, asItIs) : [];
}

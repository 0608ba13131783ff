import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

import { describe, expect, it } from 'vitest';

/**
 * What does not follow from the input of a session: every reader must say how a replay meets the same (docs/adr/journal-and-replay.md "One recorder to the
 * outside").
 */
const readers = {
  clock: /\bDate\.now\b|\bnew Date\(\)|\bperformance\.now\b|\bprocess\.hrtime\b|\bclock\.now\(/,
  duration: /\bmonotonicMs\(\)|\belapsedMs\(/,
  chance: /\brandomBytes\b|\brandomUUID\b|\brandomInt\b|\brandomBelow\b|\bgetRandomValues\b|\bMath\.random\b/,
  timer: /\bset(?:Timeout|Interval|Immediate)\(|'node:timers\/promises'|[cC]lock\.after\(/,
  environment: /\bprocess\.env\b/,
  race: /\bPromise\.(?:race|any)\(/,
} as const;

type Reader = keyof typeof readers;

type Way =
  /** Ids and times of records: those of the recording are given out again, or left out of the comparison. */
  | 'ids and times'
  /** How long something took: left out of the comparison. */
  | 'durations'
  /** Within an effect or a look, whose outcome is recorded: a replay is given that and runs nothing of it. */
  | 'effect'
  /** The recorder itself, and what it lets in one at a time. */
  | 'recorder'
  /** Only what no wait of the session's own depends on: when others get their turn of the event loop, which the recorder makes up for. */
  | 'turns'
  /** Secrets, names and seeds, which are in no request, result or line. */
  | 'unseen'
  /** Doors, files and processes around a session, which a replay has none of. */
  | 'around';

/** Every file of what a session runs that reads one of these, and how a replay meets it. */
const known: Readonly<Record<string, Readonly<Partial<Record<Reader, Way>>>>> = {
  'artifacts/store/open-stored.ts': { timer: 'around' },
  'artifacts/store/sources/oci/transfers.ts': { timer: 'around' },
  'components/call-deadline.ts': { duration: 'effect', timer: 'effect' },
  'components/compiler/compiler.ts': { timer: 'effect' },
  'components/component-host.ts': { chance: 'unseen' },
  'components/component-instance.ts': { timer: 'effect' },
  'components/guest/clocks.ts': { clock: 'effect' },
  'components/guest/filesystem/descriptor.ts': { clock: 'effect' },
  'components/guest/offered-imports.ts': { clock: 'effect', chance: 'effect' },
  'components/node-process.ts': { clock: 'effect', timer: 'effect', environment: 'effect' },
  'components/outbound/outbound-exchange.ts': { timer: 'effect' },
  'components/outbound/outbound-http.ts': { timer: 'effect' },
  'kit/clock.ts': { duration: 'durations', chance: 'unseen', timer: 'effect', race: 'effect' },
  'kit/files/file-guard.ts': { timer: 'around' },
  'kit/files/remove-tree.ts': { timer: 'around' },
  'kit/files/temporary-name.ts': { chance: 'unseen' },
  'kit/http/byte-queue.ts': { timer: 'around' },
  'kit/http/open-body.ts': { timer: 'around' },
  'kit/http/half-closed.ts': { timer: 'around' },
  'kit/http/kit-request.ts': { timer: 'around' },
  'kit/http/send-reply.ts': { timer: 'around' },
  'kit/http/server.ts': { duration: 'around', timer: 'around' },
  'kit/net/http-client.ts': { timer: 'effect' },
  'kit/net/proxy.ts': { timer: 'effect' },
  'kit/net/request-run.ts': { timer: 'effect', race: 'effect' },
  'kit/net/resolver.ts': { race: 'effect' },
  'kit/yield-to-loop.ts': { timer: 'around' },
  'kit/when-gone.ts': { timer: 'around' },
  // The clock and the chance that all others are given.
  'kit/system-clock.ts': { clock: 'ids and times', chance: 'ids and times', timer: 'recorder' },
  'sandbox/child-group.ts': { timer: 'effect' },
  'sandbox/contained-launcher.ts': { timer: 'effect', race: 'effect' },
  'sandbox/egress/open-upstream.ts': { timer: 'effect', race: 'effect' },
  'sandbox/egress/egress-proxy.ts': { timer: 'effect' },
  'sandbox/egress/bound-request.ts': { timer: 'effect' },
  'sandbox/egress/held-body.ts': { timer: 'effect' },
  'sandbox/egress/bound-tls.ts': { timer: 'effect' },
  'sandbox/egress/session-authority.ts': { chance: 'unseen' },
  'sandbox/folder-changes.ts': { clock: 'around', duration: 'around' },
  'sandbox/launched-process.ts': { timer: 'effect' },
  'sandbox/library/launch.ts': { timer: 'around' },
  'sandbox/limits/control-group.ts': { timer: 'effect' },
  'sandbox/limits/session-limits.ts': { chance: 'unseen', timer: 'effect' },
  'sandbox/made-repositories.ts': { duration: 'around' },
  'sandbox/pipe-pool.ts': { timer: 'around' },
  'sandbox/program/main.ts': { environment: 'around' },
  'sandbox/project-folder.ts': { clock: 'effect' },
  'sandbox/containment.ts': { timer: 'effect' },
  'capsule/index.ts': { environment: 'around' },
  'capsule/library/provided-driver.ts': { race: 'effect' },
  'capsule/run/conversation-place.ts': { clock: 'around' },
  'capsule/run/journal-keeper.ts': { timer: 'around' },
  'capsule/run/operator-command.ts': { timer: 'around' },
  'record/index.ts': { environment: 'around' },
  'record/sessions/journal-retention.ts': { clock: 'around', duration: 'around', chance: 'unseen', timer: 'around' },
  'record/sessions/recorded-process.ts': { clock: 'around', timer: 'around' },
  'capsule/replay/replay-session.ts': { chance: 'unseen' },
  // The key for answers, which nothing of a session depends on.
  'capsule/run/person-key.ts': { chance: 'unseen' },
  'capsule/run/run-capsule.ts': { duration: 'durations' },
  'capsule/run/session-journal.ts': { clock: 'ids and times' },
  'capsule/run/session-record.ts': { duration: 'durations' },
  'capsule/stage/installed-server.ts': { timer: 'around' },
  'capsule/stage/bound-programs.ts': { clock: 'unseen', chance: 'unseen', timer: 'unseen' },
  'capsule/stage/session-keys.ts': { clock: 'unseen', chance: 'unseen' },
  'capsule/stage/stage-driver.ts': { chance: 'unseen' },
  'capsule/stage/stage-peer-files.ts': { clock: 'effect', chance: 'effect' },
  'session/delegation/capsule-call.ts': { duration: 'durations' },
  'session/delegation/child-key.ts': { chance: 'unseen' },
  'session/delegation/child-process.ts': { timer: 'effect' },
  'session/delegation/delegation.ts': { duration: 'durations', timer: 'effect' },
  'session/delegation/launch-child.ts': { duration: 'durations', chance: 'unseen', timer: 'effect' },
  'session/delegation/run-capsule-step.ts': { duration: 'durations' },
  'session/hooks/hook-completion.ts': { clock: 'ids and times', duration: 'durations' },
  'session/loop/passed-call.ts': { duration: 'durations' },
  'session/model/programs/program-run.ts': { timer: 'effect' },
  'session/model/process-driver.ts': { timer: 'effect' },
  'session/model/timed-driver.ts': { duration: 'effect', timer: 'effect' },
  'record/journal/journal-writer.ts': { clock: 'ids and times' },
  'doors/callers/callers.ts': { timer: 'around' },
  'doors/a2a/methods.ts': { clock: 'around' },
  'doors/a2a/push/push-configs.ts': { chance: 'unseen' },
  'doors/open-doors.ts': { clock: 'around' },
  'doors/mcp/client-sessions.ts': { duration: 'around', chance: 'around' },
  'doors/mcp/mcp-door.ts': { chance: 'around' },
  'doors/openai/openai-door.ts': { clock: 'around' },
  'doors/core/door-stream.ts': { timer: 'around' },
  'doors/a2a/push/operator-notifications.ts': { clock: 'around', duration: 'around' },
  'doors/a2a/push/post-notification.ts': { timer: 'around' },
  'doors/a2a/push/push-queue.ts': { clock: 'around', chance: 'unseen', timer: 'around' },
  'doors/own/event-connection.ts': { timer: 'around' },
  'doors/core/heartbeats.ts': { duration: 'around', timer: 'around' },
  'doors/callers/door-token.ts': { chance: 'unseen' },
  'doors/callers/known-tokens.ts': { clock: 'around', duration: 'around', timer: 'around' },
  'session/files/listings.ts': { race: 'around' },
  'session/files/peer-handles.ts': { chance: 'effect' },
  // The size of a workdir is looked at meanwhile; what came of it is asked of the recorder.
  'session/loop/agent-loop.ts': { clock: 'ids and times', duration: 'durations', timer: 'effect' },
  // Times of questions are found by the recorder; those of the log are written alone.
  'session/approvals/approvals.ts': { clock: 'recorder' },
  'session/approvals/passed-calls.ts': { clock: 'recorder' },
  'session/approvals/passed-questions.ts': { clock: 'around' },
  'session/approvals/waiting-approvals.ts': { clock: 'recorder' },
  'session/loop/compacted-context.ts': { duration: 'durations' },
  'session/recorder/recorder.ts': { duration: 'durations', timer: 'recorder' },
  'session/loop/input-wait.ts': { duration: 'durations' },
  'session/live-events.ts': { duration: 'around' },
  'session/stream/once-per-turn.ts': { timer: 'turns' },
  'session/stream/output-tails.ts': { timer: 'around' },
  'session/replay/replayer.ts': { timer: 'recorder' },
  // How long the answer to a cancel is held back.
  'session/loop/task-board.ts': { clock: 'unseen', timer: 'around', race: 'around' },
  'session/task-records.ts': { clock: 'around' },
  'session/loop/task-runner.ts': { duration: 'durations' },
  'session/loop/way-to-model.ts': { duration: 'durations' },
  'session/workdir/workdir-size.ts': { duration: 'effect', timer: 'effect', race: 'effect' },
  // What is sent to collectors, which a session never waits for and a replay has nothing of.
  'telemetry/batch-queue.ts': { duration: 'around', chance: 'around', timer: 'around' },
  'telemetry/exporter.ts': { clock: 'around', timer: 'around' },
  'telemetry/post-batch.ts': { clock: 'around', timer: 'around' },
  'telemetry/request-spans.ts': { clock: 'around', chance: 'unseen' },
  'session/tools/background/background-commands.ts': { duration: 'durations', timer: 'effect' },
  'session/tools/inventory.ts': { clock: 'ids and times', duration: 'durations' },
  'session/tools/mcp/launched-transport.ts': { timer: 'effect' },
  'session/tools/mcp/listed-tools.ts': { duration: 'effect' },
  'session/tools/mcp/tool-server.ts': { timer: 'effect' },
  'session/tools/mcp/http-transport.ts': { timer: 'effect' },
  'session/tools/mcp/server-requests.ts': { timer: 'effect' },
  'session/tools/mcp/login/login-fetch.ts': { timer: 'effect' },
  'session/tools/asked-requests.ts': { race: 'effect' },
  // Steps end one for each turn of the event loop, in the order of the record.
  'session/tools/plan/plan-run.ts': { clock: 'ids and times', duration: 'durations', race: 'recorder' },
  'session/tools/plan/submit-plan-tool.ts': { duration: 'durations' },
  'session/tools/schema-thread.ts': { timer: 'effect' },
  // The lines it bounds are those that a replay does not repeat.
  'record/trace/serious-refusals.ts': { duration: 'around' },
  'record/trace/bounded-lines.ts': { duration: 'around', timer: 'around' },
};

describe('what a session reads of the world', () => {
  it('appears in the list for every file, with the way in which a replay meets it', () => {
    const table = Object.entries(known).map(([file, kinds]) => [file, Object.keys(kinds).toSorted()]);
    expect(found()).toEqual(Object.fromEntries(table));
  });

  it.each([
    ['const at = Date.now();', ['clock']],
    ['const at = this.clock.now();', ['clock']],
    ['await new Promise((resolve) => setTimeout(resolve, 5));', ['timer']],
    ["import { setImmediate } from 'node:timers/promises';", ['timer']],
    ['this.#cancelTimer = deps.clock.after(5, end);', ['timer']],
    ["import { randomUUID } from 'node:crypto';", ['chance']],
    ['const { HOME } = process.env;', ['environment']],
    ['await Promise.race([work, late]);', ['race']],
    ['/* Date.now() */ // Math.random()', []],
    ['const date = new Date(ms);', []],
  ])('appears in %s', (source, kinds) => {
    expect(kindsIn(source)).toEqual(kinds);
  });
});

/** The commands of `svc` are left out: they start a session, and show what it has recorded. */
function found(): Record<string, string[]> {
  const files = [
    'artifacts',
    'capsule',
    'components',
    'doors',
    'kit',
    'record',
    'sandbox',
    'session',
    'telemetry',
  ].flatMap((name) => sourcesOf(name));
  return Object.fromEntries(
    files.map(([file, source]) => [file, kindsIn(source)] as const).filter(([, kinds]) => kinds.length > 0),
  );
}

function sourcesOf(name: string): [file: string, source: string][] {
  const folder = fileURLToPath(new URL(`../packages/${name}/src/`, import.meta.url));
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.ts') && !file.endsWith('.test.ts'))
    .map((file): [string, string] => [`${name}/${file}`, readFileSync(folder + file, 'utf8')])
    .filter(([file]) => !file.startsWith('record/running/'));
}

function kindsIn(source: string): string[] {
  const code = source.replaceAll(/\/\*[^]*?\*\//g, '').replaceAll(/(?<!:)\/\/.*$/gm, '');
  return Object.entries(readers)
    .filter(([, reads]) => reads.test(code))
    .map(([kind]) => kind)
    .toSorted();
}

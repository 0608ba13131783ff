/** Opens the hooks of a session. */

import { systemClock } from '@svc/kit/system-clock.ts';
import type { LogBudget } from '@svc/kit/log-budget.ts';
import { recordRedaction } from '@svc/kit/diagnostics/handle-id.ts';
import type { SessionId } from '@svc/protocol/ids.ts';
import type { TraceEvent } from '@svc/record/trace/events.ts';
import { type Hook, callHook } from '@svc/session/hooks/hook.ts';
import { type Recorder, hooksTimeOver } from '@svc/session/recorder/recorder.ts';
import { EndBudget } from '@svc/session/hooks/blocking-hooks.ts';
import { recordedHookCalls } from '@svc/session/recorder/recorded-effects.ts';
import { hookCompletion } from '@svc/session/hooks/hook-completion.ts';
import { HookLogs, ManifestFiles } from '@svc/session/hooks/hook-files.ts';
import { HookSet } from '@svc/session/hooks/hook-set.ts';
import type { Driver } from '@svc/session/model/driver.ts';
import type { SpendMeter } from '@svc/session/model/spend-meter.ts';
import type { PreparedLaunch } from '../launch/prepare.ts';

/** `svc run` ends within 20 s of a signal (docs/cli.md "svc run"): its hooks get a quarter of that. */
const stopBudgetMs = 5_000;
const drainMs = 30_000;
const completionLimitMs = 120_000;

interface HookSurroundings {
  readonly launch: PreparedLaunch;
  readonly sessionId: SessionId;
  /** Aborted when the session was asked to stop. */
  readonly stop: AbortSignal;
  readonly hooks: readonly Hook[];
  readonly driver: Driver;
  readonly recorder: Recorder;
  readonly spend: SpendMeter;
  readonly sessionDirectory: string;
  /** The bytes that all logs of the session may still take. */
  readonly logs: LogBudget;
  /** Throws the Diagnostic of a trace that cannot be written. */
  readonly record: (event: TraceEvent) => void;
  /** Called with the name of each hook that is asked. */
  readonly onAsked: (name: string) => void;
}

/** The hooks of a session with what they need of it. `close` ends what they do; their components are closed with the others. */
export function openHooks(parts: HookSurroundings): { readonly hooks: HookSet; readonly close: () => void } {
  const { recorder, launch, sessionDirectory, record } = parts;
  const { name, version, inference } = launch.loaded.manifest;
  const logs = new HookLogs(sessionDirectory, recordRedaction(launch.redactor), parts.logs);
  const manifests = new ManifestFiles(sessionDirectory);
  const hooks = new HookSet({
    hooks: parts.hooks,
    session: { sessionId: parts.sessionId, capsule: name, version },
    complete: hookCompletion({
      driver: parts.driver,
      model: inference.model,
      maxTokens: inference.max_tokens,
      spend: parts.spend,
      clock: systemClock,
      timer: recorder.timer.bind(recorder),
      record,
      limitMs: completionLimitMs,
    }),
    call: recordedHookCalls((hook, ...call) => {
      parts.onAsked(hook.name);
      return callHook(hook, ...call);
    }, recorder),
    timer: recorder.timer.bind(recorder),
    record,
    keepOutput: (hookName, bytes) => logs.append(hookName, bytes),
    writeManifests: (files) => manifests.write(files),
    budget: new EndBudget(parts.stop, stopBudgetMs, () => recorder.arrive(hooksTimeOver)),
    drainMs,
  });
  return {
    hooks,
    close: () => {
      hooks.close();
      logs.close();
    },
  };
}

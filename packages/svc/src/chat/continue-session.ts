/** Goes on with a session that has ended, in a chat or for one answer. */

import type { Command } from 'commander';

import { spell } from '@svc/artifacts/store/artifact-ref.ts';
import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import type { CommandContext } from '@svc/terminal/screen/command-context.ts';
import { History } from '@svc/terminal/keyboard/history.ts';
import { render } from '@svc/terminal/screen/render-failure.ts';
import { joined, say } from '@svc/terminal/screen/shown.ts';
import { hasManifest, refuseFlags, taskCommand } from '../run/first-minute/task-command.ts';
import { runCommand } from '../run/run-command.ts';
import type { ChangedModel } from './change-model.ts';
import { type ChatOptions, type ContinueOptions, noTerminal, refuseOthers } from './chat-options.ts';
import { endedSessionId, isTaskSession, lastSessionOf, openEndedSession } from './ended-session.ts';
import { goOn } from './going-on.ts';
import {
  capsuleOfArchive,
  capsuleOfManifest,
  publishedCapsuleOf,
  type SessionCapsule,
  withoutManifest,
} from './session-capsule.ts';

interface Surroundings {
  readonly context: CommandContext;
  readonly usage: (problem: string) => never;
}

/** Talks on with a session that has ended; the exit code. `message` is sent at once; `isShown` says that the transcript is on the terminal already. */
export async function chatAgain(
  id: string,
  options: ChatOptions,
  { context, usage, message, isShown }: Surroundings & { readonly message: string | null; readonly isShown: boolean },
): Promise<number | ChangedModel> {
  if (!process.stdin.isTTY || !context.stdout.isTerminal) throw noTerminal();
  const capsule = await capsuleOfSession(id, options, { context, usage });
  const { history, warning } = History.open(context.home, { isKept: options.history });
  if (warning !== null) context.stderr.write(render([warning], context));
  const ended = await openEndedSession(id, { ...options, ...capsule }, context);
  await capsule?.believed(ended.folder, true);
  const isTask = isTaskSession(context, options.manifest, id);
  const told = isShown ? { ...ended, transcript: [] } : ended;
  return await goOn(told, { context, history, notes: joined([ended.notes, capsule?.notes ?? say``]), message, isTask });
}

/** What the session is started of; null for one without a manifest, which may not be given what is for the others. */
async function capsuleOfSession(
  id: string,
  options: ChatOptions,
  { context, usage }: Surroundings,
): Promise<SessionCapsule | null> {
  if (isTaskSession(context, options.manifest, id)) {
    if (options.workdir !== undefined || options.trust !== undefined || options.project !== undefined)
      usage('--workdir, --project and --trust go with a manifest: that was a session without one');
    return null;
  }
  const published = options.isNamed === true ? null : await publishedCapsuleOf(id, options, context);
  if (published !== null) {
    refuseFlags({ ...options, manifest: `the manifest of ${spell(published)}` }, usage);
    return await capsuleOfArchive(published, options, context);
  }
  if (!hasManifest(options, context)) throw await withoutManifest(id, options, context);
  refuseFlags(options, usage);
  return await capsuleOfManifest(id, options, context);
}

const ofAnswers =
  'model keyEnv insecureHttp context write writeGit allow net env mcp skills hostRead projectText manifest workdir project trust containment envFile offline plain print output timeout maxTokens capture continue';

/**
 * `svc -p --continue "<text>"`: the answer of the last session of this folder to one more message. Sets the exit code. `E-RUN-202` while that session
 * still runs.
 */
export async function answerOn(
  text: string | undefined,
  options: ContinueOptions,
  { context, usage, command }: Surroundings & { readonly command: Command },
): Promise<void> {
  refuseOthers(command, ofAnswers, usage);
  const last = lastSessionOf(context, options.manifest);
  const id = endedSessionId(context, options.manifest, last);
  if (id === null)
    throw new Diagnostic('E-RUN-202', `the session ${last} still runs: it takes messages itself`, {
      hint: `svc send ${last} --wait "<text>" gives it one and writes the answer`,
    });
  const capsule = await capsuleOfSession(id, options, { context, usage });
  const ended = await openEndedSession(id, { ...options, ...capsule }, context);
  await capsule?.believed(ended.folder, false);
  context.stderr.write(joined([ended.notes, capsule?.notes ?? say``]));
  const { output, timeout, maxTokens, capture, plain, print } = options;
  const [first = '', ...rest] = await ended.args();
  const [made, args] = first === 'run' ? [runCommand, rest] : [taskCommand, first === '' ? [] : [first, ...rest]];
  const given = { output, timeout, 'max-tokens': maxTokens, capture };
  const message = text ?? (typeof print === 'string' ? print : undefined);
  const line = [
    ...args,
    ...Object.entries(given).flatMap(([name, value]) => (value === undefined ? [] : [`--${name}`, String(value)])),
    ...(plain === true ? ['--plain'] : []),
    '--continues',
    id,
    ...(message === undefined ? ['--print'] : [`--print=${message}`]),
  ];
  const again = made({ ...context, cwd: ended.cwd }, null).copyInheritedSettings(command);
  await again.parseAsync(line, { from: 'user' });
}

/** The options of a chat, and what is checked of them before it begins. */

import type { Command } from 'commander';

import type { ScopeRequest } from '@svc/capsule/launch/scope-of-launch.ts';
import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import type { CommandContext } from '@svc/terminal/screen/command-context.ts';
import { believedManifest, type ReadManifest, reachOfManifest } from '../run/first-minute/found-manifest.ts';
import type { TaskFlags } from '../run/first-minute/open-task.ts';
import type { TaskOptions, TrustFlag } from '../run/first-minute/task-command.ts';
import { scopeRequest } from '../run/run.ts';
import { usualOptions } from '../run/run-options.ts';

export interface ChatOptions extends TaskFlags, TrustFlag {
  /** Whether the command line names the manifest. */
  readonly isNamed?: boolean;
  readonly manifest: string;
  readonly workdir?: string;
  readonly project?: string;
  readonly containment?: string;
  readonly envFile: boolean;
  readonly offline?: boolean;
  readonly history: boolean;
  readonly plain?: boolean;
  readonly sendToken?: boolean;
  readonly continue?: boolean;
}

/** What `svc --continue` takes: also what a script asks. */
export interface ContinueOptions
  extends ChatOptions, Partial<Pick<TaskOptions, 'print' | 'output' | 'timeout' | 'maxTokens' | 'capture'>> {}

/** The manifest that the command line means, once it is believed. `E-RUN-181` where it is not, also because nobody may be asked. */
export async function manifestOf(options: ChatOptions, context: CommandContext): Promise<ReadManifest> {
  if (options.isNamed === true) return await reachOfManifest(options, context);
  return await believedManifest(options, { context, mayAsk: true, scope: scopeOfChat(options, context) });
}

/** What the report of the grants of its capsule is about. */
export function scopeOfChat(options: ChatOptions, context: CommandContext): ScopeRequest {
  const { containment: _, ...others } = options;
  return scopeRequest({ ...usualOptions, ...others }, context);
}

/** Refuses the options that are not named, apart with blanks. */
export function refuseOthers(command: Command, names: string, usage: (problem: string) => never): void {
  const known = new Set(names.split(' '));
  const wrong = command.options.find(
    (option) => command.getOptionValueSource(option.attributeName()) === 'cli' && !known.has(option.attributeName()),
  );
  if (wrong !== undefined) usage(`${wrong.long ?? ''} does not go with --continue`);
}

export function noTerminal(): Diagnostic {
  return new Diagnostic('E-RUN-121', 'svc chat needs a terminal to type at and to be read on', {
    hint: 'svc -p "<task>" gives a script one answer; svc send <session> "<text>" sends a message',
  });
}

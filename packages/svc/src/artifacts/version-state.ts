/** The commands that say of a published version that it should not be used: `svc deprecate`, `yank`, `block` and `restore`. */

import { Command, InvalidArgumentError } from 'commander';

import { parseArtifactRef, spell } from '@svc/artifacts/store/artifact-ref.ts';
import { registryInUse } from '@svc/artifacts/store/sources/registry-in-use.ts';
import { isReason, maxReason } from '@svc/protocol/version-states.ts';
import type { VersionState } from '@svc/protocol/registry-messages.ts';
import type { CommandContext } from '@svc/terminal/screen/command-context.ts';
import { exactLine, jsonLine } from '@svc/terminal/screen/shown.ts';
import { needsRegistry, registryChoice } from '../command/project.ts';
import { interruptible } from '../command/stop-signals.ts';

interface StateOptions {
  readonly reason?: string;
  readonly registry?: string;
  readonly json?: boolean;
}

interface StateCommand {
  readonly name: string;
  readonly state: VersionState;
  readonly description: string;
}

/** `svc deprecate <name>@<version>`: it works, and there is something better. */
export function deprecateCommand(context: CommandContext): Command {
  const description = 'Deprecate a version: installing it prints the reason.';
  return stateCommand({ name: 'deprecate', state: 'deprecated', description }, context);
}

/** `svc yank <name>@<version>`: nobody gets it anew. */
export function yankCommand(context: CommandContext): Command {
  const description = 'Yank a version: only projects that have it in svc.lock can still install it.';
  return stateCommand({ name: 'yank', state: 'yanked', description }, context);
}

/** `svc block <name>@<version>`: nobody gets it at all. */
export function blockCommand(context: CommandContext): Command {
  const description = 'Block a version, such as a malicious one: nobody can install it any more.';
  return stateCommand({ name: 'block', state: 'blocked', description }, context);
}

/** `svc restore <name>@<version>`: it is as it was when it was published. */
export function restoreCommand(context: CommandContext): Command {
  const description = 'Undo svc deprecate, yank and block.';
  return stateCommand({ name: 'restore', state: 'active', description }, context);
}

function stateCommand({ name, state, description }: StateCommand, context: CommandContext): Command {
  const command = new Command(name).description(description).argument('<ref>', '<name>@<version>');
  const help = `why, in at most ${maxReason} characters: everybody who uses the version reads it`;
  if (state === 'active') command.option('--reason <text>', help, reasonOf);
  else command.requiredOption('--reason <text>', help, reasonOf);
  return command
    .option('--registry <which>', 'the address of a registry, or the name of a configured source')
    .option('--json', 'write one JSON object')
    .action(async (text: string, options: StateOptions) => {
      await interruptible(context, async (signal) => {
        await change(text, { state, options, context, signal });
      });
    });
}

function reasonOf(text: string): string {
  if (isReason(text)) return text;
  throw new InvalidArgumentError(`it must be 1 to ${maxReason} characters without control characters`);
}

interface StateRun {
  readonly state: VersionState;
  readonly options: StateOptions;
  readonly context: CommandContext;
  readonly signal: AbortSignal;
}

async function change(text: string, { state, options, context, signal }: StateRun): Promise<void> {
  const ref = parseArtifactRef(text);
  const registry = registryInUse(registryChoice(context, { flag: options.registry, signal }));
  if (registry.kind !== 'registry') {
    throw needsRegistry(registry, { lacks: 'keeps no states', what: 'the state of a version is kept by a registry' });
  }
  const reason = options.reason ?? null;
  await registry.client.changeState(ref, { state, reason });
  const { name } = registry.client;
  if (options.json === true) context.stdout.write(jsonLine({ ...ref, state, reason, registry: name }));
  else context.stdout.write(exactLine`${spell(ref)} ${state}\n`);
}

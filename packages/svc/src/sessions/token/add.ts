/** The command `svc token add`: makes a door token and prints it, once. */

import { Command } from 'commander';

import { isArtifactName } from '@svc/artifacts/manifest/names.ts';
import { isScope, type Scope, scopes } from '@svc/doors/callers/scopes.ts';
import { addToken, removeToken } from '@svc/doors/callers/change-tokens.ts';
import { hashOfToken, isTokenName, mintToken } from '@svc/doors/callers/door-token.ts';
import { type TokenPlace, tokenPlace } from '@svc/doors/callers/token-place.ts';
import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import { ioFault } from '@svc/kit/files/io-fault.ts';
import { systemClock } from '@svc/kit/system-clock.ts';
import { shownMinute } from '@svc/kit/shown-values.ts';
import type { CommandContext } from '@svc/terminal/screen/command-context.ts';
import { jsonLine, say } from '@svc/terminal/screen/shown.ts';
import { ageOf } from '../../command/age.ts';

interface AddOptions {
  readonly scope: string;
  readonly expires: string;
  readonly capsule?: string;
  readonly json?: boolean;
}

const maxMs = 3650 * 24 * 60 * 60_000;

/** `svc token add <name>`: the token is on the disk, as a hash, before it is printed; nobody can print it again. */
export function addCommand(context: CommandContext): Command {
  return new Command('add')
    .description('Make a token and print it, once.')
    .argument('<name>', 'names its client in traces: a-z 0-9 . _ -')
    .requiredOption('--scope <list>', 'what it may do, with commas: read, send, answer, stop')
    .option('--expires <age>', 'how long it holds: 12h, 30d, 8w', '30d')
    .option('--capsule <name>', 'the only capsule that takes it')
    .option('--json', 'write one JSON object')
    .action(async (name: string, options: AddOptions) => {
      const now = systemClock.now();
      const token = mintToken(systemClock);
      const entry = {
        name: nameOf(name),
        sha256: hashOfToken(token),
        scopes: scopesOf(options.scope),
        capsule: options.capsule === undefined ? null : capsuleOf(options.capsule),
        created_at_ms: now,
        expires_at_ms: now + timeOf(options.expires),
      };
      const place = tokenPlace(context.home, process.getuid?.());
      await addToken(place, entry);
      const isJson = options.json === true;
      const { sha256: _, ...shown } = entry;
      const until = shownMinute(entry.expires_at_ms);
      if (!isJson)
        context.stderr.write(
          say`${name} may ${entry.scopes.join(', ')} until ${until}; the token is not shown again:\n`,
        );
      const refusal = await new Promise<Error | null>((resolve) => {
        context.stdout.write(isJson ? jsonLine({ ...shown, token }) : say`${token}\n`, resolve);
      });
      if (refusal !== null) throw await takenBack(place, name, refusal);
    });
}

/** Removes a token that could not be printed: nobody has it, and it would still open doors. Returns what is to be thrown. */
async function takenBack(place: TokenPlace, name: string, refusal: Error): Promise<unknown> {
  try {
    await removeToken(place, name);
    return ioFault(refusal, 'the token could not be printed, and was taken back');
  } catch (error) {
    if (!(error instanceof Diagnostic)) throw error;
    return new Diagnostic('E-IO-001', `the token could not be printed, and is still there: ${error.message}`, {
      hint: `take it away: svc token rm ${name}`,
      cause: refusal,
    });
  }
}

function refused(message: string, hint: string): Diagnostic {
  return new Diagnostic('E-RUN-152', message, { hint });
}

function nameOf(name: string): string {
  const given: unknown = name;
  if (isTokenName(given)) return given;
  throw refused(
    `\`${name}\` is no name of a token`,
    'use 1 to 64 of a-z 0-9 . _ -, with a letter or a digit at both ends',
  );
}

function scopesOf(list: string): readonly Scope[] {
  const named = list.split(',').map((each) => each.trim());
  const unknown = named.find((each) => !isScope(each));
  if (unknown !== undefined) throw refused(`\`${unknown}\` is no scope`, `there are ${scopes.join(', ')}`);
  // Each once, in the order of the table.
  return scopes.filter((scope) => named.includes(scope));
}

function capsuleOf(name: string): string {
  const given: unknown = name;
  if (isArtifactName(given)) return given;
  throw refused(`\`${name}\` is no name of a capsule`, 'give the name that its svc.yaml has');
}

function timeOf(age: string): number {
  const ms = ageOf('--expires', age);
  if (ms > 0 && ms <= maxMs) return ms;
  throw refused(`a token cannot hold for ${age}`, 'give a time from 1m to 3650d');
}

/** The command `svc key`: makes the keys that archives and agent cards are signed with. */

import { lstatSync, rmSync } from 'node:fs';
import { resolve } from 'node:path';
import { Command, InvalidArgumentError } from 'commander';

import { generateKeys, type NewKeyPair } from '@svc/artifacts/store/trust/key-pair.ts';
import { makeCardKey } from '@svc/capsule/run/card-key.ts';
import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import { isErrno } from '@svc/kit/diagnostics/system-reason.ts';
import { ioFault } from '@svc/kit/files/io-fault.ts';
import { writeNewFileSync } from '@svc/kit/files/replace-file.ts';
import { unlessRefused } from '@svc/kit/files/unless-refused.ts';
import type { CommandContext } from '@svc/terminal/screen/command-context.ts';
import { exactLine, jsonLine, say } from '@svc/terminal/screen/shown.ts';
import { keyPassword } from './make-signature.ts';

interface NewOptions {
  readonly out: string;
  readonly json?: boolean;
}

/** `svc key`: what is below it. */
export function keyCommand(context: CommandContext): Command {
  const command = new Command('key').description('Make the keys that archives and agent cards are signed with.');
  command.addCommand(newCommand(context));
  command.addCommand(cardKeyCommand(context));
  return command;
}

/** `svc key new <name>`: the path of the private key is what stdout gets (docs/cli.md "svc key"). No file is replaced. */
function newCommand(context: CommandContext): Command {
  return new Command('new')
    .description('Make a pair of keys: <name>.key, which nobody else may see, and <name>.pub for those who verify.')
    .argument('<name>', 'what the files are called', keyName)
    .option('--out <dir>', 'where they go', '.')
    .option('--json', 'write one JSON object')
    .action((name: string, options: NewOptions) => {
      const password = keyPassword(context);
      const pair = generateKeys(password);
      const stem = resolve(context.cwd, options.out, name);
      writePair(stem, pair);
      if (options.json === true) {
        const made = {
          private_key: `${stem}.key`,
          public_key: `${stem}.pub`,
          fingerprint: `sha256:${pair.fingerprint}`,
        };
        context.stdout.write(jsonLine({ ...made, encrypted: password !== null }));
        return;
      }
      const open = password === null ? ', and is not encrypted: set SVC_KEY_PASSWORD to have it so' : '';
      context.stderr.write(say`${stem}.pub is for those who verify; ${stem}.key stays with you${open}\n`);
      context.stdout.write(exactLine`${stem}.key\n`);
    });
}

function keyName(name: string): string {
  if (!/^[A-Za-z0-9][\w.-]{0,99}$/.test(name)) {
    throw new InvalidArgumentError('it is letters, digits, dots, hyphens and underscores');
  }
  return name;
}

/** Both files or none: without its public half a private key is of no use, and the other way round. */
function writePair(stem: string, { privatePem, publicPem }: NewKeyPair): void {
  const [privateKey, publicKey] = [`${stem}.key`, `${stem}.pub`] as const;
  for (const path of [privateKey, publicKey]) {
    if (unlessRefused(() => lstatSync(path), null) !== null) throw alreadyThere(path);
  }
  write(privateKey, privatePem, 0o600);
  let isPaired = false;
  try {
    write(publicKey, publicPem, 0o644);
    isPaired = true;
  } finally {
    if (!isPaired) unlessRefused(() => rmSync(privateKey, { force: true }), undefined);
  }
}

function write(path: string, pem: string, mode: number): void {
  try {
    writeNewFileSync(path, Buffer.from(pem), mode);
  } catch (error) {
    throw isErrno(error, 'EEXIST') ? alreadyThere(path) : ioFault(error, `cannot write ${path}`);
  }
}

function alreadyThere(path: string): Diagnostic {
  return new Diagnostic('E-IO-001', `${path} is there already`, { hint: 'choose another name, or move it away' });
}

/** Makes the key of a user who has none, and says by what its signatures are verified (docs/cli.md "svc key"). */
function cardKeyCommand(context: CommandContext): Command {
  return new Command('card')
    .description('Make the key that agent cards are signed with, unless there is one, and show its public half.')
    .option('--json', 'write one JSON object')
    .action((options: { readonly json?: boolean }) => {
      const { key, isNew } = makeCardKey(context.home);
      const { path, kid, publicJwk: jwk } = key;
      if (options.json === true) {
        context.stdout.write(jsonLine({ kid, path, is_new: isNew, jwk }));
        return;
      }
      const about = isNew ? 'made: capsules that start from now on sign their agent cards with it' : 'there already';
      context.stderr.write(say`${path}: ${about}\nClients verify the cards with its public half:\n`);
      context.stdout.write(jsonLine(jwk));
    });
}

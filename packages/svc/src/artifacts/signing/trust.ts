/** The command `svc trust`: keeps the list of authorities and logs that signatures are held to. */

import { resolve } from 'node:path';
import { Command } from 'commander';

import { publicMirror, updateTrustRoot } from '@svc/artifacts/store/trust/update-root.ts';
import { findPackageRoot } from '@svc/kit/files/package-root.ts';
import { HttpClient } from '@svc/kit/net/http-client.ts';
import { proxyFor } from '@svc/kit/net/proxy.ts';
import type { CommandContext } from '@svc/terminal/screen/command-context.ts';
import { exactLine, jsonLine, say } from '@svc/terminal/screen/shown.ts';
import { interruptible } from '../../command/stop-signals.ts';

interface UpdateOptions {
  readonly mirror: string;
  readonly initial?: string;
  readonly json?: boolean;
}

/** `svc trust`: what is below it. */
export function trustCommand(context: CommandContext): Command {
  const command = new Command('trust').description('Keep the list of authorities that signatures are held to.');
  command.addCommand(updateCommand(context));
  return command;
}

/** `svc trust update`: the path of the list is what stdout gets (docs/cli.md "svc trust"). */
function updateCommand(context: CommandContext): Command {
  return new Command('update')
    .description('Fetch the current trust root; no other command downloads it.')
    .option('--mirror <address>', 'where the signed metadata are', publicMirror)
    .option('--initial <file>', 'the root.json to begin with; needed for any mirror but the public one')
    .option('--json', 'write one JSON object')
    .action(async (options: UpdateOptions) => {
      await interruptible(context, async (signal) => {
        const { env, home, cwd } = context;
        const updated = await updateTrustRoot({
          userHome: home,
          packageRoot: findPackageRoot(import.meta.filename),
          mirror: options.mirror,
          initialRoot: options.initial === undefined ? null : resolve(cwd, options.initial),
          http: new HttpClient({ signal, proxyFor: (url) => proxyFor(url, env) }),
        });
        if (options.json === true) {
          context.stdout.write(jsonLine(updated));
          return;
        }
        const news = updated.changed ? 'the list has changed' : 'the list is that of before';
        context.stderr.write(say`${news}: metadata of version ${updated.version}, good until ${updated.expires}\n`);
        context.stdout.write(exactLine`${updated.path}\n`);
      });
    });
}

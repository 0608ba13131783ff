/** The command `svc sign`: signs an archive that is published by other means. */

import { basename, resolve } from 'node:path';
import { Command } from 'commander';

import { encodeSigner } from '@svc/artifacts/store/trust/signer.ts';
import { renderSigner } from '@svc/artifacts/store/trust/rule-signers.ts';
import { signaturesSuffix } from '@svc/artifacts/store/trust/signature-bundle.ts';
import { signAnew } from '@svc/artifacts/store/trust/stored-signatures.ts';
import { inspectPublishable } from '@svc/artifacts/store/publishable.ts';
import type { CommandContext } from '@svc/terminal/screen/command-context.ts';
import { exactLine, jsonLine, say } from '@svc/terminal/screen/shown.ts';
import { interruptible } from '../../command/stop-signals.ts';
import { makeSignature } from './make-signature.ts';

interface SignOptions {
  readonly key?: string;
  readonly json?: boolean;
}

/** `svc sign <archive>`: the path of the file of signatures beside it is what stdout gets (docs/cli.md "svc sign", docs/trust.md). */
export function signCommand(context: CommandContext): Command {
  return new Command('sign')
    .description('Sign an archive, into a file beside it.')
    .argument('<archive>', 'an archive that svc build made')
    .option('--key <file>', 'a private key of svc key new; without it, the identity of this CI job signs')
    .option('--json', 'write one JSON object')
    .action(async (archive: string, options: SignOptions) => {
      await interruptible(context, async (signal) => {
        const path = resolve(context.cwd, archive);
        // What no svc would install is not signed.
        const { sha256 } = await inspectPublishable(path, ['any-any']);
        const request = { path, fileName: basename(path), sha256, keyFile: options.key, signal };
        const { bundle, signer } = await makeSignature(request, context);
        const dropped = await signAnew(path, bundle, sha256);
        const written = `${path}${signaturesSuffix}`;
        if (dropped > 0) {
          const which = dropped === 1 ? '1 signature that was' : `${dropped} signatures that were`;
          context.stderr.write(say`took ${which} of other bytes out of ${written}\n`);
        }
        if (options.json === true) {
          context.stdout.write(jsonLine({ path: written, sha256, signed_by: encodeSigner(signer) }));
          return;
        }
        context.stderr.write(say`signed by ${renderSigner(signer)}\n`);
        context.stdout.write(exactLine`${written}\n`);
      });
    });
}

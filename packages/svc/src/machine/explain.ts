/** The command `svc explain`: says what an error code means. */

import { Command } from 'commander';

import type { CatalogueEntry } from '@svc/kit/diagnostics/catalogue-entry.ts';
import { catalogue } from '@svc/kit/diagnostics/catalogue.ts';
import type { CommandContext } from '@svc/terminal/screen/command-context.ts';
import { jsonLine, say } from '@svc/terminal/screen/shown.ts';

/** `svc explain <code>`: what a diagnostic code means and what to do about it. */
export function explainCommand(context: CommandContext): Command {
  return new Command('explain')
    .description('Explain a diagnostic code, such as E-MAN-003.')
    .argument('<code>', 'the code, as an error prints it')
    .option('--json', 'write one JSON object')
    .action((code: string, options: { readonly json?: boolean }, command: Command) => {
      const known = code.toUpperCase().replace(/\d+$/, (digits) => digits.padStart(3, '0'));
      const entry = (catalogue as Readonly<Record<string, CatalogueEntry>>)[known];
      if (entry === undefined)
        command.error(
          `error: there is no code ${code}; it looks like E-MAN-003, and stands in brackets behind error or warning`,
        );
      else if (options.json === true) context.stdout.write(jsonLine({ code: known, ...entry }));
      else context.stdout.write(say`${known}: ${entry.title}\n\n${entry.explanation}\n`);
    });
}

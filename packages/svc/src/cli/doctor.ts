import { Command } from 'commander';

import { hostFacts } from '../capsule/host-facts.ts';
import { parseCeiling } from '@svc/sandbox/floor.ts';
import { findPackageRoot } from '@svc/kit/files/package-root.ts';
import type { CommandContext } from './command-context.ts';
import { jsonLine } from './terminal/shown.ts';

interface DoctorOptions {
  readonly containment?: boolean;
  readonly json?: boolean;
}

/** `svc doctor`: what this host offers; with `--containment`, whether it keeps what its containment promises. */
export function doctorCommand(context: CommandContext): Command {
  return new Command('doctor')
    .description('Tell what this host offers, or with --containment whether its containment holds.')
    .option('--containment', 'make attempts to break out of containment and say what became of them')
    .option('--json', 'write one JSON object per line')
    .action(async (options: DoctorOptions) => {
      const { env, home } = context;
      const ceiling = parseCeiling(env['SVC_CONTAINMENT_CEILING']);
      const facts = hostFacts({ home, packageRoot: findPackageRoot(import.meta.filename), ceiling });
      const json = options.json === true;
      if (options.containment === true) {
        const { checkContainment } = await import('./doctor-attempts.ts');
        if (!(await checkContainment({ facts, context, json }))) process.exitCode = 1;
        return;
      }
      const { renderHost, reportHost } = await import('./doctor-host.ts');
      const report = await reportHost(facts, home);
      context.stdout.write(json ? jsonLine(report) : renderHost(report));
    });
}

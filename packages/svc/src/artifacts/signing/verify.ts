/** The command `svc verify`: looks again at the bytes and signatures of what is installed. */

import { Command } from 'commander';

import { type ArtifactRef } from '@svc/artifacts/store/artifact-ref.ts';
import { readLock } from '@svc/artifacts/store/lockfile.ts';
import { encodeSigner } from '@svc/artifacts/store/trust/signer.ts';
import { renderSigner } from '@svc/artifacts/store/trust/rule-signers.ts';
import { loadTrustPolicy } from '@svc/artifacts/manifest/trust-policy.ts';
import { type VerifiedArchive, verifyLocked, verifyStores } from '@svc/artifacts/store/trust/verify-installed.ts';
import { DiagnosticList } from '@svc/kit/diagnostics/diagnostic.ts';
import type { CommandContext } from '@svc/terminal/screen/command-context.ts';
import { render } from '@svc/terminal/screen/render-failure.ts';
import { type Column, renderTable } from '@svc/terminal/screen/table.ts';
import { jsonLine, say } from '@svc/terminal/screen/shown.ts';
import { openProject, placesOf } from '../../command/project.ts';

interface VerifyOptions {
  readonly manifest: string;
  readonly all?: boolean;
  readonly json?: boolean;
}

const columns: readonly Column[] = [
  { title: 'NAME', keeps: 24 },
  { title: 'VERSION', keeps: 7 },
  { title: 'FROM', keeps: 7 },
  { title: 'STATE', keeps: 9 },
  { title: 'SIGNED BY' },
];

/**
 * `svc verify`: everything in `svc.lock`, with `--all` everything in the stores of project and user; nothing is fetched and no earlier result
 * believed. Exits with 1 when anything is not as it should be (docs/cli.md "svc verify").
 */
export function verifyCommand(context: CommandContext): Command {
  return new Command('verify')
    .description('Hold what is installed to its hashes, to svc.lock and to the trust policy again, offline.')
    .option('--manifest <path>', 'the manifest of the project', './svc.yaml')
    .option('--all', 'everything in the stores of project and user, not only what svc.lock records')
    .option('--json', 'write one JSON object per line')
    .action(async (options: VerifyOptions) => {
      const verified = await verify(options, context);
      write(verified, options, context);
      const faults = verified.flatMap(({ problem }) => (problem?.code.startsWith('E-') === true ? [problem] : []));
      const warnings = verified.flatMap(({ problem }) => (problem?.code.startsWith('W-') === true ? [problem] : []));
      if (warnings.length > 0) context.stderr.write(render(warnings, context));
      if (faults.length > 0) throw new DiagnosticList(faults);
    });
}

async function verify(options: VerifyOptions, context: CommandContext): Promise<readonly VerifiedArchive[]> {
  const places = placesOf(context, options.manifest);
  if (options.all === true) return await verifyStores(places);
  const project = await openProject(context, options.manifest);
  return await verifyLocked(readLock(places.manifestDir) ?? [], project);
}

function write(rows: readonly VerifiedArchive[], options: VerifyOptions, context: CommandContext): void {
  if (options.json === true) {
    for (const row of rows) context.stdout.write(jsonLine(jsonOf(row)));
    return;
  }
  if (rows.length === 0) {
    const none = options.all === true ? 'the stores are empty' : 'svc.lock records nothing';
    context.stderr.write(say`${none}\n`);
    return;
  }
  const policy = loadTrustPolicy(context.home);
  const cells = rows.map(({ ref, origin, state, signer }) => [
    ref.name,
    ref.version,
    origin ?? '-',
    state,
    signer === null ? '-' : renderSigner(signer, policy),
  ]);
  context.stdout.write(renderTable(columns, cells, context.stdout));
}

interface VerifiedRow extends ArtifactRef {
  readonly platform: string | null;
  readonly origin: string | null;
  readonly sha256: string | null;
  readonly state: string;
  readonly signed_by: Readonly<Record<string, string>> | null;
  readonly code: string | null;
}

function jsonOf({ ref, platform, origin, sha256, state, signer, problem }: VerifiedArchive): VerifiedRow {
  const { name, version } = ref;
  const signedBy = signer === null ? null : encodeSigner(signer);
  return { name, version, platform, origin, sha256, state, signed_by: signedBy, code: problem?.code ?? null };
}

import { Diagnostic, DiagnosticList } from '@svc/kit/diagnostics/diagnostic.ts';
import { hookDeclaration, hookProblem, mayCommit } from '@svc/artifacts/manifest/hook-declaration.ts';
import type { LoadedManifest } from '@svc/artifacts/manifest/load.ts';
import { bundledCompaction, bundledVersion } from '@svc/artifacts/manifest/names.ts';
import type { InstalledArtifact } from '@svc/artifacts/store/installed-artifact.ts';

/**
 * Holds the hooks of a capsule to what a hook may declare: throws every `E-ART-009` and `E-ART-010` (docs/hooks.md "What a hook declares"). Gives the
 * warning `W-RUN-004` for a context limit that nobody compacts at.
 */
export function checkHooks(
  { manifest, locate }: LoadedManifest,
  artifacts: readonly InstalledArtifact[],
): readonly Diagnostic[] {
  const problems = artifacts.flatMap((artifact) => hookProblem(artifact.manifest) ?? []);
  if (problems.length > 0) throw new DiagnosticList(problems);
  const limit = manifest.inference.context.max_tokens;
  const compacts = artifacts.some((artifact) => {
    if (artifact.manifest.runtime !== 'hook') return false;
    const declaration = hookDeclaration(artifact.manifest);
    return declaration.events.has('on-compaction') && mayCommit(declaration, 'replace-context', 'on-compaction');
  });
  if (limit === undefined || compacts) return [];
  const message = 'inference.context.max_tokens is declared, but no hook compacts a conversation that nears it';
  const hint = `add { name: ${bundledCompaction}, version: ${bundledVersion}, runtime: hook } to artifacts`;
  return [new Diagnostic('W-RUN-004', message, { hint, location: locate(['inference', 'context'], 'key') })];
}

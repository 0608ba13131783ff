import type { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import { checkArtifactRules } from './artifact-rules.ts';
import { readDocument } from './checked-document.ts';
import { Draft } from './draft.ts';
import { artifactManifest, type ArtifactManifest } from './schema.ts';
import { parseYaml } from './yaml-source.ts';

export interface LoadedArtifactManifest {
  readonly manifest: ArtifactManifest;
  readonly warnings: readonly Diagnostic[];
}

/**
 * Reads the `svc.yaml` at the root of a tool, driver, hook or skill archive. References are not resolved: an
 * archive is the same for everyone. Throws a `DiagnosticList` with every problem.
 */
export function parseArtifactManifest(text: string, file: string): LoadedArtifactManifest {
  const document = readDocument({ file, text, schema: artifactManifest, rules: checkArtifactRules });
  return { manifest: document.value, warnings: document.warnings };
}

/** What kind of archive a manifest belongs to: a capsule is the one with an `inference` block. */
export function archiveKind(text: string, file: string): 'capsule' | 'artifact' {
  return new Draft(parseYaml(file, text).value).has('inference') ? 'capsule' : 'artifact';
}

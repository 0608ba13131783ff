/** Reads the `svc.yaml` of an archive: that of a tool, driver, hook or skill is checked, that of a capsule is only recognised. */

import type { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import { checkSource, readDocument, type Findings } from './checked-document.ts';
import { Draft } from './key-path.ts';
import { artifactManifest, type ArtifactManifest } from './schema.ts';
import { parseYaml, type YamlSource } from './yaml-source.ts';

interface ReadManifest {
  readonly manifest: ArtifactManifest;
  readonly warnings: readonly Diagnostic[];
}

const checks = { schema: artifactManifest, rules: checkArtifactRules };

/**
 * Reads the `svc.yaml` at the root of a tool, driver, hook or skill archive. References are not resolved: an
 * archive is the same for everyone. Throws a `DiagnosticList` with every problem.
 */
export function parseArtifactManifest(text: string, file: string): ReadManifest {
  const { value, warnings } = readDocument({ file, text, ...checks });
  return { manifest: value, warnings };
}

/** The manifest of an archive of any kind: a capsule is the one with an `inference` block, and its other keys are unchecked. */
export type AnyManifest =
  | { readonly kind: 'capsule'; readonly source: YamlSource }
  | ({ readonly kind: 'artifact' } & ReadManifest);

/** As `parseArtifactManifest`, for an archive of any kind: its text is parsed once. */
export function parseAnyManifest(text: string, file: string): AnyManifest {
  const source = parseYaml(file, text);
  if (describesCapsule(source)) return { kind: 'capsule', source };
  const { value, warnings } = checkSource(source, checks);
  return { kind: 'artifact', manifest: value, warnings };
}

/** What kind of archive a manifest belongs to, whatever else is wrong with it. */
export function archiveKind(text: string, file: string): AnyManifest['kind'] {
  return describesCapsule(parseYaml(file, text)) ? 'capsule' : 'artifact';
}

function describesCapsule({ value }: YamlSource): boolean {
  return new Draft(value).has('inference');
}

/** The rules of an artifact's manifest that look at more than one key. */
function checkArtifactRules(data: unknown, findings: Findings): void {
  const draft = new Draft(data);
  if (draft.at('implementation') !== 'mcp') {
    for (const key of ['command', 'url'].filter((each) => draft.has(each))) {
      findings.add('E-MAN-003', `${key} is for implementation: mcp`, {
        path: [key],
        part: 'key',
        hint: 'a native tool is started without arguments; remove the key',
      });
    }
    return;
  }
  if (draft.has('command') === draft.has('url')) {
    const message = draft.has('url') ? 'url cannot stand beside command' : 'command is missing';
    findings.add(draft.has('url') ? 'E-MAN-003' : 'E-MAN-001', message, {
      path: [draft.has('url') ? 'url' : 'command'],
      hint: 'implementation: mcp starts a command, such as [bin/server], or asks a server on the web at url',
    });
  }
  if (draft.has('runtime') && draft.at('runtime') !== 'tool') {
    findings.add('E-MAN-003', 'implementation: mcp is for runtime: tool', { path: ['implementation'] });
  }
  if (draft.has('input_schema')) {
    findings.add('E-MAN-003', 'input_schema cannot stand beside implementation: mcp', {
      path: ['input_schema'],
      part: 'key',
      hint: 'the server says what the arguments of each tool are',
    });
  }
}

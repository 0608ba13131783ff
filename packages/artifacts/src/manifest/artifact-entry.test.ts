import { expect, it } from 'vitest';

import { DiagnosticList } from '@svc/kit/diagnostics/diagnostic.ts';
import { loadCapsuleManifest } from './load.ts';
import type { LoadedManifest } from './loaded-manifest.ts';

const smallest = `
name: researcher
version: 1.0.0
inference: { endpoint: "https://provider.example", model: large, driver: { artifact: svc-driver-openai } }
`;

function load(text: string): LoadedManifest {
  return loadCapsuleManifest({ file: 'svc.yaml', text, env: {} });
}

/** `CODE message` of every diagnostic that refuses the manifest. */
function refusal(text: string): string[] {
  try {
    load(text);
  } catch (error) {
    if (!(error instanceof DiagnosticList)) throw error;
    return error.diagnostics.map(({ code, message }) => `${code} ${message}`);
  }
  return [];
}

it('an entry of artifacts has a range and a place of its own, which are checked', () => {
  const listing = (row: string): string => `${smallest}artifacts: [{ name: echo, version: 1.0.0, ${row} }]\n`;
  const { manifest } = load(listing('range: ^1.0.0, from: "github:acme/tools@v1"'));
  expect(manifest.artifacts).toEqual([
    { name: 'echo', version: '1.0.0', runtime: 'tool', range: '^1.0.0', from: 'github:acme/tools@v1' },
  ]);
  expect(refusal(listing('range: ">>1"'))).toEqual([
    expect.stringContaining('artifacts[0].range must be a range of versions, such as ^1.2.0') as string,
  ]);
  for (const from of ['tools', 'github:acme', 'http://example.com/a', 'oci://', 'oci://h/UPPER', 'oci://h/a:tag']) {
    expect(refusal(listing(`from: ${JSON.stringify(from)}`)), from).toEqual([
      expect.stringContaining('artifacts[0].from must be github:<owner>/<repo>@<tag> or oci://') as string,
    ]);
  }
  expect(refusal(listing('from: "oci://registry.example.com:5000/acme/echo"'))).toEqual([]);
  expect(refusal(listing('source: ./echo, range: ^1.0.0'))).toEqual([expect.stringContaining('E-MAN-003') as string]);
  expect(load(listing('wish: ^1.0.0')).warnings.map(({ code }) => code)).toEqual(['W-SEC-019']);
});

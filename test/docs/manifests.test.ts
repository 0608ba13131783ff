import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';

import { archiveKind, parseArtifactManifest } from '@svc/artifacts/manifest/artifact-manifest.ts';
import { loadUserConfig } from '@svc/artifacts/manifest/config.ts';
import { loadCapsuleManifest } from '@svc/artifacts/manifest/load.ts';
import { loadedPlan } from './support/loaded-plan.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const docs = readdirSync(join(root, 'docs')).filter((name) => name.endsWith('.md'));
const pages = ['README.md', ...docs.map((name) => `docs/${name}`)];

interface Listing {
  readonly page: string;
  readonly line: number;
  /** Behind `yaml` in the fence: empty, `part`, or `file=…`, which the guide's own test writes and uses. */
  readonly info: string;
  readonly text: string;
}

const listings = pages.flatMap((page) => {
  const text = readFileSync(join(root, page), 'utf8');
  const found = [...text.matchAll(/^```yaml ?(.*)\n([^]*?)^```$/gm)];
  return found.map(({ index, 1: info = '', 2: content = '' }): Listing => {
    const line = text.slice(0, index).split('\n').length;
    return { page, line, info, text: content };
  });
});
const unread = listings.filter(({ info }) => !info.startsWith('file='));

/** What a part of a manifest stands beside. */
const rest: readonly (readonly [string, string])[] = [
  ['name', 'name: example\n'],
  ['version', 'version: 1.0.0\n'],
  ['inference', 'inference: { model: m, driver: { artifact: svc-driver-script } }\n'],
];

const env = {
  ANTHROPIC_API_KEY: 'key',
  TEAM_REGISTRY_KEY: 'key',
  TOOLS_TOKEN: 'token',
  GITHUB_TOKEN: 'ghp_of-nobody',
  CRM_REFRESH_TOKEN: 'refresh-of-nobody',
  AWS_ACCESS_KEY_ID: 'AKIDEXAMPLE',
  AWS_SECRET_ACCESS_KEY: 'secret-of-nobody',
  NOTIFY_SECRET: 's',
  NTFY_TOKEN: 'tk_1',
};

/** The warnings of a listing; throws, as the loader does, for what is wrong with it. */
function warningsOf({ info, text }: Listing): readonly unknown[] {
  if (/^# ~\/\.svc\/config\.yaml$/m.test(text)) return warningsOfConfig(text);
  const own = parse(text) as Record<string, unknown>;
  const whole = info === 'part' ? text + rest.map(([key, line]) => (key in own ? '' : line)).join('') : text;
  // A manifest of an artifact says which role it has.
  if (!('inference' in own) && 'runtime' in own) return parseArtifactManifest(whole, 'svc.yaml').warnings;
  if (info === '' && archiveKind(whole, 'svc.yaml') !== 'capsule') throw new Error('it has no inference');
  return loadCapsuleManifest({ file: 'svc.yaml', text: whole, env }).warnings;
}

function warningsOfConfig(text: string): readonly unknown[] {
  const home = mkdtempSync(join(tmpdir(), 'svc-docs-'));
  try {
    mkdirSync(join(home, '.svc'));
    writeFileSync(join(home, '.svc', 'config.yaml'), text);
    return loadUserConfig({ home, env }).warnings;
  } finally {
    rmSync(home, { recursive: true });
  }
}

describe('a manifest in the documentation', () => {
  it.each(unread.map((listing) => [`${listing.page}:${listing.line}`, listing] as const))(
    'passes svc without a warning, in %s',
    (_, listing) => {
      expect(warningsOf(listing)).toEqual([]);
    },
  );

  it('exists in the pages that should have some', () => {
    const found = new Set(unread.map(({ page }) => page));
    expect(
      ['README.md', 'docs/delegation.md', 'docs/manifest.md', 'docs/plans.md'].filter((page) => !found.has(page)),
    ).toEqual([]);
  });
});

describe('an example', () => {
  const manifests = readdirSync(join(root, 'examples'), { recursive: true, encoding: 'utf8' }).filter((path) =>
    /^[^/]+(\/[^/]+)?\/svc\.yaml$/.test(path),
  );

  it.each(manifests)('passes svc without a warning, in examples/%s', (path) => {
    const text = readFileSync(join(root, 'examples', path), 'utf8');
    const keys = { ...env, OPENAI_API_KEY: 'key', GITHUB_TOKEN: 'token-of-somebody' };
    // What an example shows in comments is to be uncommented.
    for (const shown of [text, text.replaceAll(/^# (?=capabilities:|  )/gm, '')]) {
      expect(loadCapsuleManifest({ file: join(root, 'examples', path), text: shown, env: keys }).warnings).toEqual([]);
    }
  });
});

it('docs/manifest.md names the JSON Schema where an installation has it', () => {
  const page = readFileSync(join(root, 'docs', 'manifest.md'), 'utf8');
  const [, path = ''] = /echo "\$\(npm root -g\)\/svc\/(.+)"/.exec(page) ?? [];
  const { files } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
    readonly files: readonly string[];
  };
  expect(files).toContain(path.split('/')[0]);
  expect(JSON.parse(readFileSync(join(root, path), 'utf8'))).toMatchObject({ title: 'svc.yaml' });
});

describe('the plan in docs/plans.md', () => {
  it('can be carried out with the grants that stand beside it', { timeout: 60_000 }, async () => {
    const manifest = listings.find(({ page }) => page === 'docs/plans.md')?.text ?? '';
    const plan: unknown = JSON.parse(
      /^```json\n([^]*?)^```$/m.exec(readFileSync(join(root, 'docs', 'plans.md'), 'utf8'))?.[1] ?? '',
    );
    expect(await loadedPlan(parse(manifest) as Record<string, unknown>, plan)).toEqual({
      outcome: 'passed',
      steps: { list: 'passed', keep: 'passed', count: 'passed', tell: 'skipped' },
    });
  });
});

/** Holds README.md and the pages around it to what they begin with and link to. */

import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { describe, expect, it } from 'vitest';

const root = fileURLToPath(new URL('../..', import.meta.url));
const readme = readFileSync(join(root, 'README.md'), 'utf8');

describe('the README', () => {
  it('has at most 130 lines', () => {
    expect(readme.split('\n').length).toBeLessThanOrEqual(131);
  });

  it('begins with where svc runs, what is different, and a first command for the reader', () => {
    const first = readme.split('\n').slice(0, 30).join('\n');
    expect(first).toMatch(/^# svc\n\n`svc` runs AI agents as capsules, on Linux\./);
    expect(first).toContain('On macOS and Windows');
    expect(first.split('**What is different.**')[1]?.match(/^- /gm)).toHaveLength(5);
    expect(first).toContain('\nsvc "');
    expect(first).not.toContain('npm it');
  });

  it('names the command that tests a fresh clone', () => {
    expect(readme).toContain('`npm it` tests a fresh clone');
  });

  it('shows a terminal and a page', () => {
    const pictures = [...readme.matchAll(/!\[[^\]]+\]\(([^)]+)\)/g)].map(([, path]) => path);
    expect(pictures).toEqual(['docs/pictures/terminal.svg', 'docs/pictures/viewer-steps-1024-light.png']);
  });
});

describe('docs/README.md', () => {
  it('has each page once in its order to read in', () => {
    const order = readFileSync(join(root, 'docs/README.md'), 'utf8').split('## One picture')[0] ?? '';
    const named = [...order.matchAll(/\]\(((?:conformance\/)?[\w-]+\.md)\)/g)].map(([, page = '']) => page).toSorted();
    const folders = ['', 'conformance/'];
    const pages = folders.flatMap((folder) =>
      readdirSync(join(root, 'docs', folder)).map((name) => `${folder}${name}`),
    );
    expect(named).toEqual(pages.filter((page) => page.endsWith('.md') && page !== 'README.md').toSorted());
  });
});

describe('CONTRIBUTING.md', () => {
  it('names paths that exist', () => {
    const page = readFileSync(join(root, 'CONTRIBUTING.md'), 'utf8');
    const paths = [...page.matchAll(/`((?:packages|test|docs|scripts)\/[\w./-]+)`/g)].map(([, path = '']) => path);
    expect(paths.filter((path) => !existsSync(join(root, path)))).toEqual([]);
  });
});

describe.each([
  'README.md',
  'SECURITY.md',
  'CHANGELOG.md',
  'CONTRIBUTING.md',
  'docs/installing.md',
  'docs/threat-model.md',
  'examples/gallery/README.md',
])('%s', (page) => {
  it('links to what is there', () => {
    const links = [...readFileSync(join(root, page), 'utf8').matchAll(/\]\((?!https?:|#)([^)#]+)(?:#[^)]*)?\)/g)];
    const missing = links.map(([, path = '']) => path).filter((path) => !existsSync(join(root, dirname(page), path)));
    expect(missing).toEqual([]);
  });
});

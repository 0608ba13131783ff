import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { describe, expect, it } from 'vitest';

const root = fileURLToPath(new URL('../..', import.meta.url));
const readme = readFileSync(join(root, 'README.md'), 'utf8');

describe('the README', () => {
  it('has at most 150 lines', () => {
    expect(readme.split('\n').length).toBeLessThanOrEqual(151);
  });

  it('tests a fresh checkout with one command, and runs an agent with another', () => {
    const commands = [...readme.matchAll(/^```sh\n(.*)\n```$/gm)].map(([, command]) => command);
    expect(commands.slice(0, 2)).toEqual(['npm it', 'npm run hello']);
  });

  it('says on its first screen what svc is, why it is safer, and how to start', () => {
    const first = readme.split('\n').slice(0, 36).join('\n');
    expect(first).toMatch(/^# svc\n\n`svc` runs AI agents as capsules\./);
    expect(first).toContain('**Why that is safer than the usual way.**');
    expect(first).toContain('npm run hello');
  });

  it('shows a terminal and a page', () => {
    const pictures = [...readme.matchAll(/!\[[^\]]+\]\(([^)]+)\)/g)].map(([, path]) => path);
    expect(pictures).toEqual(['docs/pictures/terminal.svg', 'docs/pictures/viewer-steps-1024-light.png']);
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

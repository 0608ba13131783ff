import { expect, it } from 'vitest';

import { destinationOf, type NetworkDestination } from '@svc/kit/net/network-destination.ts';
import { packageCommand, projectVariables, withoutRegistry } from './package-runner.ts';

function allow(...urls: readonly string[]): readonly NetworkDestination[] {
  return urls.flatMap((url) => destinationOf(new URL(url)) ?? []);
}

it('withoutRegistry knows what npx and uvx install from, and only where they cannot reach it', () => {
  expect(withoutRegistry('npx', {}, [])?.env).toEqual({ npm_config_fetch_retries: '0' });
  expect(withoutRegistry('npx', {}, allow('https://registry.npmjs.org'))).toBeNull();
  expect(withoutRegistry('npx', {}, allow('https://other.example'))).not.toBeNull();
  expect(withoutRegistry('uvx', {}, [])?.env).toEqual({ UV_HTTP_RETRIES: '0' });
  expect(withoutRegistry('uvx', {}, allow('https://pypi.org'))?.explain('')).toContain(
    'from files.pythonhosted.org, which',
  );
  expect(withoutRegistry('uvx', {}, allow('https://pypi.org', 'https://files.pythonhosted.org'))).toBeNull();
  const index = { UV_DEFAULT_INDEX: 'https://pypi.example/simple' };
  expect(withoutRegistry('uvx', index, allow('https://pypi.example'))).toBeNull();
  expect(withoutRegistry('node', {}, [])).toBeNull();
  const own = { npm_config_registry: 'http://npm.example:8080/' };
  expect(withoutRegistry('npx', own, allow('http://npm.example:8080'))).toBeNull();
  expect(withoutRegistry('npx', { npm_config_registry: 'none' }, [])?.explain('')).toContain('registry.npmjs.org');
});

it('packageCommand reads a package of a registry, and nothing that is an option, a path or an address', () => {
  const npx = (...words: readonly string[]): unknown => packageCommand(['npx', '-y', ...words]);
  const ofNpm = { runner: 'npx', program: null };
  expect(npx('@a/b-c@1.2.3', '--all')).toEqual({
    ...ofNpm,
    name: '@a/b-c',
    spec: '@a/b-c@1.2.3',
    isExact: true,
    args: ['--all'],
  });
  expect(npx('b')).toEqual({ ...ofNpm, name: 'b', spec: 'b', isExact: false, args: [] });
  expect(npx('b@^1.0.0')).toMatchObject({ isExact: false });
  const uvx = (...words: readonly string[]): unknown => packageCommand(['uvx', ...words]);
  const ofUv = { runner: 'uvx', name: 'b-c', program: 'b-c', isExact: true, args: ['--all'] };
  expect(uvx('b-c@1.2', '--all')).toEqual({ ...ofUv, spec: 'b-c@1.2' });
  expect(packageCommand(['uv', 'tool', 'run', 'b-c==1.2', '--all'])).toEqual({ ...ofUv, spec: 'b-c==1.2' });
  expect(uvx('--from', 'b-c[x]==1.2', 'd', '--all')).toEqual({ ...ofUv, spec: 'b-c[x]==1.2', program: 'd' });
  expect(uvx('b-c@latest')).toMatchObject({ spec: 'b-c@latest', isExact: false });
  expect(uvx('--from', 'b-c>=1,<2', 'd')).toMatchObject({ spec: 'b-c>=1,<2', isExact: false });
  for (const spec of [
    '',
    '-p',
    '--call',
    '.',
    '..',
    './b',
    '../b',
    '/b',
    '@a/../b',
    'a/b',
    'git+ssh://x',
    'http://x',
    'b@file:x',
    'b c',
  ]) {
    expect(npx(spec), spec).toBeNull();
    expect(uvx(spec), spec).toBeNull();
    expect(uvx('--from', spec, 'd'), spec).toBeNull();
  }
  expect(uvx('--from', 'b')).toBeNull();
  expect(uvx('--from', 'b', '../d')).toBeNull();
  expect(uvx('--with', 'b', 'd')).toBeNull();
  expect(packageCommand(['npx', 'b'])).toBeNull();
  expect(packageCommand(['npm', '-y', 'b'])).toBeNull();
  expect(packageCommand(['uv', 'run', 'b'])).toBeNull();
});

it('projectVariables keeps uv run from writing in its project, and is for nothing else', () => {
  const set = ['UV_NO_SYNC', 'UV_NO_CACHE', 'UV_PYTHON_DOWNLOADS'];
  expect(Object.keys(projectVariables(['uv', '--directory', '.', 'run', 'server.py']))).toEqual(set);
  for (const words of [
    ['uv', 'tool', 'run', 'b'],
    ['uvx', 'run'],
    ['node', 'run'],
    ['uv', 'sync'],
  ])
    expect(projectVariables(words)).toEqual({});
});

it('withoutRegistry explains an end that names the registry, and a silent one', () => {
  const explain = withoutRegistry('npx', {}, [])?.explain;
  const told =
    'npx installs from registry.npmjs.org, which capabilities.network.allow does not list for it: list it, set runs: [npx] on its entry, or install the server beforehand';
  expect(explain?.('npm error request to https://registry.npmjs.org/x failed')).toBe(told);
  expect(explain?.('')).toBe(told);
  expect(explain?.('TypeError: x is not a function')).toBeNull();
});

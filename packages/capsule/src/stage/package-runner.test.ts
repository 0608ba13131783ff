import { expect, it } from 'vitest';

import { destinationOf, type NetworkDestination } from '@svc/kit/net/network-destination.ts';
import { npxCommand, withoutRegistry } from './package-runner.ts';

function allow(...urls: readonly string[]): readonly NetworkDestination[] {
  return urls.flatMap((url) => destinationOf(new URL(url)) ?? []);
}

it('withoutRegistry knows what npx and uvx install from, and only where they cannot reach it', () => {
  expect(withoutRegistry('npx', {}, [])?.env).toEqual({ npm_config_fetch_retries: '0' });
  expect(withoutRegistry('npx', {}, allow('https://registry.npmjs.org'))).toBeNull();
  expect(withoutRegistry('npx', {}, allow('https://other.example'))).not.toBeNull();
  expect(withoutRegistry('uvx', {}, [])?.env).toEqual({ UV_HTTP_RETRIES: '0' });
  expect(withoutRegistry('uvx', {}, allow('https://pypi.org'))).toBeNull();
  expect(withoutRegistry('node', {}, [])).toBeNull();
  const own = { npm_config_registry: 'http://npm.example:8080/' };
  expect(withoutRegistry('npx', own, allow('http://npm.example:8080'))).toBeNull();
  expect(withoutRegistry('npx', { npm_config_registry: 'none' }, [])?.explain('')).toContain('registry.npmjs.org');
});

it('npxCommand reads a package of a registry, and nothing that is an option, a path or an address', () => {
  const read = (...words: readonly string[]): unknown => npxCommand(['npx', '-y', ...words]);
  expect(read('@a/b-c@1.2.3', '--all')).toEqual({
    name: '@a/b-c',
    spec: '@a/b-c@1.2.3',
    isExact: true,
    args: ['--all'],
  });
  expect(read('b')).toEqual({ name: 'b', spec: 'b', isExact: false, args: [] });
  expect(read('b@^1.0.0')).toMatchObject({ isExact: false });
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
  ])
    expect(read(spec), spec).toBeNull();
  expect(npxCommand(['npx', 'b'])).toBeNull();
  expect(npxCommand(['npm', '-y', 'b'])).toBeNull();
});

it('withoutRegistry explains an end that names the registry, and a silent one', () => {
  const explain = withoutRegistry('npx', {}, [])?.explain;
  const told =
    'npx installs from registry.npmjs.org, which capabilities.network.allow does not list for it: list it, or install the server beforehand';
  expect(explain?.('npm error request to https://registry.npmjs.org/x failed')).toBe(told);
  expect(explain?.('')).toBe(told);
  expect(explain?.('TypeError: x is not a function')).toBeNull();
});

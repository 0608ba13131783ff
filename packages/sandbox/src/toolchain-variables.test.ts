import { expect, it } from 'vitest';

import { minimalGrants } from './launch/process-grants.ts';
import { toolchainVariables } from './toolchain-variables.ts';

const grants = { ...minimalGrants, commands: ['sh', 'mvn'], limits: { ...minimalGrants.limits, memory: 1000 } };
const host = (name: string) => ({ scheme: null, host: name, port: null });

it('toolchainVariables gives Java the limit and the home, in marks that the home does not hold, and only to who may start it', () => {
  const options = (workdir: string): string | undefined =>
    toolchainVariables(grants, workdir, 'sealed')['JAVA_TOOL_OPTIONS'];
  expect(options('/my work')).toBe('-XX:MaxRAM=1000 -Duser.home="/my work/.svc/home"');
  expect(options('/a"b')).toBe(`-XX:MaxRAM=1000 -Duser.home='/a"b/.svc/home'`);
  expect(options(`/a"'`)).toBe('-XX:MaxRAM=1000');
  expect(toolchainVariables({ ...grants, commands: ['sh'] }, '/w', 'sealed')).toEqual({});
});

it('toolchainVariables leads Java to granted hosts by the only way out, and to loopback if that is granted', () => {
  const options = (achieved: 'sealed' | 'scoped', ...hosts: readonly string[]): string | undefined =>
    toolchainVariables({ ...grants, networkAllow: hosts.map(host) }, '/w', achieved)['JAVA_TOOL_OPTIONS'];
  const limits = '-XX:MaxRAM=1000 -Duser.home="/w/.svc/home"';
  const proxy = '-Dhttp.proxyHost=127.0.0.1 -Dhttp.proxyPort=3128 -Dhttps.proxyHost=127.0.0.1 -Dhttps.proxyPort=3128';
  expect(options('sealed', 'repo.example')).toBe(`${limits} ${proxy}`);
  for (const own of ['localhost', '127.0.0.1', '[::1]']) {
    expect(options('sealed', 'repo.example', own)).toBe(`${limits} ${proxy} -Dhttp.nonProxyHosts=`);
  }
  expect(options('sealed')).toBe(limits);
  expect(options('scoped', 'repo.example')).toBe(limits);
});

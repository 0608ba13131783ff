import { expect, it } from 'vitest';

import { minimalGrants } from './launch/process-grants.ts';
import { toolchainVariables } from './toolchain-variables.ts';

it('toolchainVariables gives Java the limit and the home, in marks that the home does not hold, and only to who may start it', () => {
  const limits = { ...minimalGrants.limits, memory: 1000 };
  const options = (workdir: string): string | undefined =>
    toolchainVariables({ commands: ['sh', 'mvn'], workdirExec: true, limits }, workdir)['JAVA_TOOL_OPTIONS'];
  expect(options('/my work')).toBe('-XX:MaxRAM=1000 -Duser.home="/my work/.svc/home"');
  expect(options('/a"b')).toBe(`-XX:MaxRAM=1000 -Duser.home='/a"b/.svc/home'`);
  expect(options(`/a"'`)).toBe('-XX:MaxRAM=1000');
  expect(toolchainVariables({ commands: ['sh'], workdirExec: true, limits }, '/w')).toEqual({});
});

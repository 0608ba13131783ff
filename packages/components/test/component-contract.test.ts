import { afterAll, beforeAll } from 'vitest';

import type { ComponentSource } from '../src/compiler/compile-cache.ts';
import type { ComponentHost } from '../src/component-host.ts';
import { fixtureComponent } from './support/fixture-component.ts';
import { noGrants, temporaryFolder, testHost } from './support/hosted-tool.ts';
import { describeComponentContract } from './component-contract.ts';
import { fakeComponent } from './fake-component.ts';
import { probeGuest } from './probe-guest.ts';

const cache = temporaryFolder();
let host: ComponentHost;
let source: ComponentSource;

beforeAll(async () => {
  host = testHost(cache.path);
  source = await fixtureComponent('probe-tool');
});

afterAll(async () => {
  await host.close();
  cache.remove();
});

describeComponentContract('a WebAssembly component', () => Promise.resolve(host.open(source, noGrants)));
describeComponentContract('the fake', () => Promise.resolve(fakeComponent(probeGuest)));

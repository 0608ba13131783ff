import { passThrough } from '../../src/recorder/recorder.ts';
import { afterEach, expect, it } from 'vitest';

import { systemClock } from '@svc/kit/system-clock.ts';
import { LateGrantUsage } from '@svc/capsule/stage/late-grant-usage.ts';
import { prepareLaunch, scopeLaunch } from '@svc/capsule/launch/prepare.ts';
import { makeSessionDirectories } from '@svc/record/sessions/session-directories.ts';
import { stageSession } from '@svc/capsule/stage/stage.ts';
import type { ComponentGrants } from '@svc/components/component.ts';
import { type ComponentHost, createComponentHost } from '@svc/components/component-host.ts';
import { mintSessionId } from '@svc/protocol/ids.ts';
import { makeWorkspace } from '../../../../test/support/workspace.ts';
import { LogBudget } from '@svc/kit/log-budget.ts';
import { packageRoot } from '../../../components/test/support/hosted-tool.ts';
import { fixtureCache } from '../../../../test/support/warm-home.ts';

const closing: (() => Promise<void> | void)[] = [];

afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close();
});

/** What each component of a capsule is granted, by its artifact's name. */
async function stagedGrants(manifest: string): Promise<Readonly<Record<string, ComponentGrants>>> {
  const workspace = makeWorkspace({ 'svc.yaml': manifest });
  closing.push(() => workspace.remove());
  const { folder, home } = workspace;
  const scoped = await scopeLaunch(
    {
      manifestFile: `${folder}/svc.yaml`,
      published: null,
      workdir: null,
      writesGit: false,
      task: 'x',
      readTask: async () => 'x',
      approval: null,
      sessionId: null,
      stopWithinMs: 18_000,
      capture: undefined,
      parentCapture: undefined,
      bind: '127.0.0.1',
      readEnvFile: false,
      sources: () => [],
      fetchObserver: null,
      floor: undefined,
      cwd: folder,
      home,
      env: { SVC_CONTAINMENT_CEILING: 'advisory' },
      telemetryEnv: {},
      changes: null,
      onActivity: null,
      stop: new AbortController().signal,
    },
    () => {},
  );
  const launch = await prepareLaunch(scoped, { workdir: null }, () => {});
  const directories = makeSessionDirectories({
    home,
    packageRoot,
    root: folder,
    sessionId: mintSessionId(systemClock),
    workdir: null,
    isDelegated: false,
  });
  const granted: Record<string, ComponentGrants> = {};
  const inner = createComponentHost({ cacheDir: fixtureCache, packageRoot });
  const host: ComponentHost = {
    open: (source, grants) => {
      granted[source.name] = grants;
      return inner.open(source, grants);
    },
    close: () => inner.close(),
  };
  closing.push(() => host.close());
  const staged = await stageSession({
    launch,
    sessionId: mintSessionId(systemClock),
    directories,
    logs: new LogBudget(),
    host,
    home,
    cacheDir: fixtureCache,
    delegations: null,
    recorder: passThrough(systemClock),
    stop: new AbortController().signal,
    onWarning: () => {},
    imports: { kind: 'live' },
    grantUsage: new LateGrantUsage(systemClock, () => {}),
  });
  closing.push(() => staged.close());
  return granted;
}

function manifest(endpoint: string): string {
  return `name: demo
version: 0.1.0
artifacts:
  - { name: svc-tool-editor, version: 1.0.0 }
inference:
  endpoint: ${endpoint}
  model: m
  driver: { artifact: svc-driver-openai }
`;
}

it.each([
  ['https://Own.example/base/', 'https://own.example'],
  ['https://own.example:8443', 'https://own.example:8443'],
  ['http://127.0.0.1:11434/', 'http://127.0.0.1:11434'],
])('the endpoint %s makes %s a place of the driver, and of nothing else', async (endpoint, origin) => {
  const { 'svc-driver-openai': driver, 'svc-tool-editor': tool } = await stagedGrants(manifest(endpoint));
  expect([driver?.endpointOrigin, driver?.mayReach(new URL(endpoint))]).toEqual([origin, true]);
  expect([tool?.endpointOrigin, tool?.mayReach(new URL(endpoint))]).toEqual([undefined, false]);
});

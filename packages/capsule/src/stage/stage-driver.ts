/** Makes the driver of a session. */

import { randomBytes } from 'node:crypto';

import type { InstalledArtifact } from '@svc/artifacts/store/installed-artifact.ts';
import type { Component, ExchangeSign } from '@svc/components/component.ts';
import { Diagnostic, raise } from '@svc/kit/diagnostics/diagnostic.ts';
import { printable } from '@svc/kit/diagnostics/printable.ts';
import { systemClock } from '@svc/kit/system-clock.ts';
import { Secret } from '@svc/kit/diagnostics/secret.ts';
import { recordRedaction } from '@svc/kit/diagnostics/handle-id.ts';
import { version } from '@svc/kit/version.ts';
import type { Driver } from '@svc/session/model/driver.ts';
import type { LeftOutTool } from '@svc/session/model/driver-notes.ts';
import { timedDriver } from '@svc/session/model/timed-driver.ts';
import type { ProgramService } from '@svc/session/model/programs/cli-driver.ts';
import type { ProgramLogs } from './program-logs.ts';
import { capsuleProcesses, grantsOf, type StageParts } from './stage-parts.ts';

/** The way to the model that `inference.transport` names, unless the session was given one. */
export async function stageDriver(parts: StageParts): Promise<Driver> {
  const { launch } = parts;
  const { transport, timeout_secs: timeout } = launch.loaded.manifest.inference;
  const driver =
    parts.driver?.(recordRedaction(launch.redactor)) ??
    (transport === 'process' ? await processDriver(parts) : componentDriver(parts));
  return timedDriver(driver, { idleMs: timeout.idle * 1000, totalMs: timeout.total * 1000 }, systemClock);
}

async function processDriver(parts: StageParts): Promise<Driver> {
  const [{ createProcessDriver, driverWords }, { hiddenIn, operatorFiles }, kept] = await Promise.all([
    import('@svc/session/model/process-driver.ts'),
    import('../launch/operator-files.ts'),
    parts.programLogs(),
  ]);
  const { hiddenBeyond } = await import('./hidden-paths.ts');
  const { launch, processes, directories } = parts;
  // The redactor learns the spellings of the token too, which nobody knows before.
  await launch.redactor.learnSpellings();
  const { grants, loaded } = launch;
  const { inference } = loaded.manifest;
  const places = { manifestDirectory: loaded.directory, home: processes.home, workdir: directories.workdir };
  const { words, reads } = operatorFiles(driverWords(inference.command ?? ''), places);
  const env = processes.environment(grants.envAllow);
  return await createProcessDriver({
    command: words,
    manifestDirectory: loaded.directory,
    launcher: kept.keeping(
      processes.launcher({ ...processes.heldTo(capsuleProcesses(launch), null), reads }),
      'driver',
    ),
    program: {
      service: programService(parts, reads, kept),
      apiKey: loaded.apiKey ?? null,
      maxTurns: inference.max_turns,
      hasNetwork: grants.networkAllow.length > 0,
    },
    ...(launch.scope.containment.achieved === 'advisory'
      ? {}
      : { hiddenIn: hiddenBeyond(parts, env, (said) => hiddenIn(said, reads, places)) }),
    env,
    redact: recordRedaction(launch.redactor),
  });
}

/** What a program with a dialect of its own is served with: its token is a secret of this session like the key. */
function programService(
  { launch, processes }: StageParts,
  reads: readonly string[],
  kept: ProgramLogs,
): ProgramService {
  const token = new Secret(randomBytes(32).toString('base64url'));
  launch.redactor.register(token);
  const grants = { ...processes.heldTo(capsuleProcesses(launch), null), reads };
  return {
    token,
    mintName: () => randomBytes(12).toString('base64url'),
    version,
    launcherFor: (servicePort) => kept.keeping(processes.launcher({ ...grants, servicePort }), 'driver'),
    addressFor: (servicePort) => processes.addressOf(servicePort, grants),
    onBug: raise,
  };
}

function componentDriver(parts: StageParts): Driver {
  const { launch } = parts;
  const { inference } = launch.loaded.manifest;
  const artifact = launch.artifacts.find(({ entry }) => entry.name === inference.driver?.artifact);
  if (artifact === undefined) throw new Error('the manifest was checked to name a driver it lists');
  const { name } = artifact.entry;
  let tell: (sign: ExchangeSign) => void = () => {};
  // `node:crypto` would be a tenth of a start.
  const random = Buffer.from(systemClock.randomBytes(16)).toString('hex');
  const placeholder = launch.loaded.apiKey === undefined ? null : `svc-key-${random}`;
  const component = openComponent(parts, artifact, { placeholder, onExchange: (sign) => tell(sign) });
  return lateDriver(name, component, async () => {
    const { createComponentDriver, DriverRequests } = await import('@svc/session/model/component-driver.ts');
    const requests = new DriverRequests();
    ({ tell } = requests);
    return createComponentDriver({
      label: name,
      component,
      requests,
      deadlineMs: grantsOf(launch, name).deadlineSecs * 1000,
      endpoint: (inference.endpoint ?? '').replace(/\/+$/, ''),
      apiKeyPlaceholder: placeholder ?? undefined,
      config: launch.driverConfig,
      redact: recordRedaction(launch.redactor),
      onLeftOut: leftOutWarnings(parts),
    });
  });
}

/** `W-RUN-006` for each tool that the provider refuses, once in a session. */
function leftOutWarnings({ onWarning }: StageParts): (left: LeftOutTool) => void {
  const told = new Set<string>();
  return ({ tool, reason }) => {
    if (told.has(tool)) return;
    told.add(tool);
    const words = printable(reason);
    const message = `the model goes on without the tool ${printable(tool)}, which its provider refuses: ${words}`;
    const hint = 'correct its schema, or take it away: artifacts[].tools chooses the tools of a server';
    onWarning(new Diagnostic('W-RUN-006', message, { hint }));
  };
}

/** The origin of `inference.endpoint` is the driver's own, and the only one that gets the key. */
function openComponent(
  parts: StageParts,
  artifact: InstalledArtifact,
  {
    placeholder,
    onExchange,
  }: { readonly placeholder: string | null; readonly onExchange: (sign: ExchangeSign) => void },
): Component {
  const { components, launch } = parts;
  const { apiKey, manifest } = launch.loaded;
  const own = grantsOf(launch, artifact.entry.name);
  const { endpoint } = manifest.inference;
  const credential =
    placeholder === null || apiKey === undefined || endpoint === undefined
      ? {}
      : { credential: { origin: new URL(endpoint).origin, placeholder, secret: apiKey } };
  return components.open(artifact, own, {
    endpoint: launch.grants.endpoint,
    onExchange,
    ...credential,
  });
}

/** Loads the driver with its first question. `held` is what it would close: it is closed also where nobody ever asks. */
function lateDriver(label: string, held: { readonly close: () => Promise<void> }, load: () => Promise<Driver>): Driver {
  let loading: Promise<Driver> | null = null;
  return {
    label,
    openTask: () => {
      let opening: Promise<ReturnType<Driver['openTask']>> | null = null;
      return {
        infer: async (...asked) => {
          opening ??= (loading ??= load()).then((driver) => driver.openTask());
          return await (await opening).infer(...asked);
        },
        close: async () => {
          await (await opening)?.close();
        },
      };
    },
    close: async () => await ((await loading) ?? held).close(),
  };
}

/** Starts the processes of a session, contained by its grants. */

import { realpathSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';

import { diagnosticOf } from '@svc/kit/diagnostics/diagnostic.ts';
import type { LogBudget } from '@svc/kit/log-budget.ts';
import type { SessionId } from '@svc/protocol/ids.ts';
import {
  makePrivateDirectory,
  openScopeDirectory,
  openStateStore,
  type SessionDirectories,
} from '@svc/record/sessions/session-directories.ts';
import type { Containment } from '@svc/sandbox/containment.ts';
import type { SessionContainment } from '@svc/sandbox/session-containment.ts';
import {
  containedEnvironment,
  containedTemporary,
  reachesHosts,
  serviceAddress,
} from '@svc/sandbox/contained-environment.ts';
import type { ProcessGrants, ProgramGate, StoreDirectory } from '@svc/sandbox/launch/process-grants.ts';
import type { LimitHold } from '@svc/sandbox/limits/held-limits.ts';
import type { Launcher, ProgramJudge } from '@svc/sandbox/launcher.ts';
import type { MachineNetwork } from '../launch/machine-network.ts';
import type { GivenProject } from '../launch/running-capsule.ts';
import { isTelemetryVariable } from '../launch/telemetry-variables.ts';
import type { BoundPrograms } from './bound-programs.ts';
import type { LateGrantUsage } from './late-grant-usage.ts';
import type { SessionKeys } from './session-keys.ts';
import type { SessionSkills } from './session-skills.ts';

/** What of a session asks about programs. */
export interface SessionGate extends ProgramGate {
  /** The judge of one call, whose kills are recorded. */
  readonly ofCall: (judge: ProgramJudge) => ProgramJudge;
}

interface SessionProcessesDeps {
  readonly sessionId: SessionId;
  readonly containment: Containment;
  /** What holds processes to the limits of the session. */
  readonly hold: LimitHold;
  readonly directories: SessionDirectories;
  /** The bytes that all logs of the session may still take. */
  readonly logs: LogBudget;
  /** Shown to programs; null without any whose folder holds `SKILL.md`. */
  readonly skills: SessionSkills | null;
  /** What commands see as `project/`, or the workdir that was named; null when neither was given. */
  readonly project: GivenProject | null;
  /** The user's, with the state stores below it. */
  readonly home: string;
  /** The variables that `svc run` holds. */
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Its way to the hosts of their grants, and whom they trust beside those of the system. */
  readonly network: Pick<MachineNetwork, 'proxyFor' | 'authorities'>;
  /** What is held of hosts that are granted with more than their names; null without any. */
  readonly keys: SessionKeys | null;
  /** The ways to these; null where no program reaches one. */
  readonly bound: BoundPrograms | null;
  /** Has the programs judged that they start; null where no rule is about them. */
  readonly gate: SessionGate | null;
  /** Sees what they do with their grants. */
  readonly grantUsage: Pick<LateGrantUsage, 'onDecision' | 'onConnection'>;
}

/** Where the processes of one session start: shell commands, native tools, servers of tools, process drivers. */
export class SessionProcesses {
  readonly #deps: SessionProcessesDeps;
  readonly #contained: SessionContainment;
  #bundle: string | null = null;

  constructor(deps: SessionProcessesDeps) {
    const { workdir, session: privateDirectory } = deps.directories;
    this.#deps = deps;
    makeHome(deps.directories);
    const { onDecision, onConnection } = deps.grantUsage;
    const { logs, hold, network } = deps;
    const proxied = network.proxyFor === null ? {} : { proxyFor: network.proxyFor };
    const place = { workdir, privateDirectory, logs, hold, onDecision, onConnection, ...proxied };
    this.#contained = deps.containment.open(place);
  }

  /** The user's. */
  get home(): string {
    return this.#deps.home;
  }

  /** The grants of a process of this subject, with what is held of its hosts; `subject` as of `SessionKeys`. */
  heldTo(grants: ProcessGrants, subject: string | null): ProcessGrants {
    const bound = this.#deps.bound?.networkFor(subject, grants.networkAllow) ?? null;
    return bound === null ? grants : { ...grants, bound };
  }

  /** The door for processes with these grants; their scope is made when it is not there. `project` is the folder as these grants have it. */
  launcher(grants: ProcessGrants, project: GivenProject | null = this.#deps.project): Launcher {
    const { directories } = this.#deps;
    openScopeDirectory(directories.workdir, grants.scope).close();
    // A tool that sees another part of the workdir than the commands sees no skills.
    const skills = this.#deps.skills?.scope === grants.scope ? this.#deps.skills : null;
    const shown = skills === null ? {} : { shown: skills.shown };
    // A program in a named workdir sees what is masked there as masked; `project/` is for those that are granted it.
    const workdir = project?.grant.project?.isWorkdir === true ? project.grant : {};
    const trusted = reachesHosts(grants) ? this.#trusted(grants) : null;
    const reads = trusted === null ? {} : { reads: [...(grants.reads ?? []), trusted] };
    const { gate } = this.#deps;
    const judged = gate === null || grants.gate !== undefined ? {} : { gate };
    const granted = { ...grants, ...workdir, ...shown, ...reads, ...judged };
    const contained = this.#contained.launcher(granted);
    let reading: Launcher | null = null;
    return {
      ...contained,
      launch: async (asked) => {
        const trusting = trusted === null ? {} : { env: trustingIn(asked.env, trusted) };
        const { programs } = asked;
        const recorded = gate === null || programs === undefined ? {} : { programs: gate.ofCall(programs) };
        const request = { ...asked, ...trusting, ...recorded };
        // A command may have removed it, with everything else that git does not know.
        const unread = await skills?.unfilled();
        if (unread !== undefined && unread !== null) return { kind: 'refused', reason: unread.message };
        const lost = diagnosticOf(() => {
          makeHome(directories);
          skills?.prepare();
          if (grants.project !== undefined || workdir.project !== undefined) project?.prepare(directories.workdir);
          this.openStores(grants.stores.map(({ name }) => name));
        });
        if (lost !== null) return { kind: 'refused', reason: lost.message };
        if (asked.narrowed?.readOnly !== true) return await contained.launch(request);
        reading ??= this.#contained.launcher({ ...granted, writable: false });
        return await reading.launch(request);
      },
    };
  }

  /** The file of the authorities that programs trust, made with the first of them; null where the environment names none. */
  #trusted(grants: ProcessGrants): string | null {
    const { directories, network, bound } = this.#deps;
    if (bound !== null && grants.bound !== undefined) return bound.bundle;
    if (network.authorities === null) return null;
    this.#bundle ??= join(directories.session, 'authorities.pem');
    writeFileSync(this.#bundle, network.authorities, { mode: 0o644 });
    return this.#bundle;
  }

  /** The state stores of these names, made where they are missing; `E-CAP-017` for a link or a file in the place of one. */
  openStores(names: readonly string[]): readonly StoreDirectory[] {
    return names.map((name) => {
      const directory = openStateStore(this.#deps.home, name);
      try {
        return { name, path: realpathSync(directory.path) };
      } finally {
        directory.close();
      }
    });
  }

  /** The environment of a program: the allowed variables of the runtime, and where its state stores are. */
  environment(allowed: readonly string[], stores: readonly StoreDirectory[] = []): Readonly<Record<string, string>> {
    const { keys } = this.#deps;
    const allow = allowed.filter(
      (name) => !isTelemetryVariable(name) && keys?.isIn(this.#deps.env[name] ?? '') !== true,
    );
    const { sessionId, containment, directories, env: held, project: given } = this.#deps;
    const project = given?.grant.project;
    const { workdir: accessibleWorkdir } = directories;
    const { achieved } = containment;
    return containedEnvironment({ accessibleWorkdir, sessionId, achieved, held, allow, stores, project });
  }

  /** `host:port` at which a program finds a port of ours that its grants name. */
  addressOf(servicePort: number, grants: ProcessGrants): string {
    return serviceAddress(servicePort, this.#deps.containment.achieved, grants);
  }

  async close(): Promise<void> {
    await this.#contained.close();
    this.#deps.bound?.close();
  }
}

/** The variables by which programs find the authorities that they trust. */
const trustVariables = [
  'CURL_CA_BUNDLE',
  'GIT_SSL_CAINFO',
  'REQUESTS_CA_BUNDLE',
  'PIP_CERT',
  'CARGO_HTTP_CAINFO',
  'AWS_CA_BUNDLE',
];
/** The variables that name the files it is made of: programs cannot read the host's own file in a root of their own. */
const sourceVariables = ['SSL_CERT_FILE', 'NODE_EXTRA_CA_CERTS'];

/** What the grants allow stays, except for the variables that the file is made of. */
function trustingIn(env: Readonly<Record<string, string>>, file: string): Readonly<Record<string, string>> {
  const each = (names: readonly string[]): Record<string, string> =>
    Object.fromEntries(names.map((name) => [name, file]));
  return { ...each(trustVariables), ...env, ...each(sourceVariables) };
}

/** The home of contained programs, with its place for temporary files. */
function makeHome({ workdir }: SessionDirectories): void {
  makePrivateDirectory(workdir, relative(workdir, containedTemporary(workdir)));
}

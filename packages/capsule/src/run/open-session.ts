/** Makes everything that a session consists of, and submits its first task. */

import { existsSync } from 'node:fs';
import { join } from 'node:path';

import { createLateComponentHost } from '@svc/components/late-component-host.ts';
import type { CapsuleDoor } from '@svc/doors/capsule-listener.ts';
import { systemClock } from '@svc/kit/system-clock.ts';
import { Diagnostic, diagnosticOf, raise } from '@svc/kit/diagnostics/diagnostic.ts';
import { recordRedaction } from '@svc/kit/diagnostics/handle-id.ts';
import { LogBudget } from '@svc/kit/log-budget.ts';
import type { TraceEvent } from '@svc/record/trace/events.ts';
import { makeSessionDirectories, type SessionDirectories } from '@svc/record/sessions/session-directories.ts';
import { hasLiveGroups } from '@svc/sandbox/child-group.ts';
import { hearsOnly } from '@svc/artifacts/manifest/hook-declaration.ts';
import { type CapsuleHooks, lateHooks, noHooks } from '@svc/session/hooks/session-hooks.ts';
import { RefusedRequests } from '@svc/session/files/refused-requests.ts';
import { backgroundEnds, residueOf } from '@svc/session/loop/background-ends.ts';
import type { Approvals } from '@svc/session/approvals/approvals.ts';
import type { Conversations } from '@svc/session/loop/conversations.ts';
import { type Answerer, EventStream } from '@svc/session/stream/event-stream.ts';
import { recordedTool } from '@svc/session/recorder/recorded-effects.ts';
import { FrameStore } from '@svc/session/stream/frame-store.ts';
import { Session } from '@svc/session/session.ts';
import { SpendMeter } from '@svc/session/model/spend-meter.ts';
import { TaskBoard } from '@svc/session/loop/task-board.ts';
import { taskFrames } from '@svc/session/stream/task-frames.ts';
import { WorkdirSize } from '@svc/session/workdir/workdir-size.ts';
import type { Inventory } from '@svc/session/tools/inventory.ts';
import { LateGrantUsage } from '../stage/late-grant-usage.ts';
import type { OpenSessionRequest } from '../launch/open-session-request.ts';
import { sourceOfFirst } from '../launch/initial-task.ts';
import type { LaterCommands } from '../stage/later-commands.ts';
import type { SessionPeerFiles } from '../stage/stage-peer-files.ts';
import { keptWhere } from '../stage/session-setup.ts';
import { stageSession, type StagedSession } from '../stage/stage.ts';
import { inventoryOf } from '../stage/inventory-of.ts';
import { cardOf } from './capsule-card.ts';
import { closeAll } from '../stage/close-all.ts';
import type { DoorsAround } from './door-outside.ts';
import { holdExportRoots, resourcesOf } from './exported-files.ts';
import type { SessionDelegations } from './session-delegations.ts';
import { openSessionJournal, type SessionJournal } from './session-journal.ts';
import { importMode, sessionSettings } from './session-settings.ts';
import {
  approvalsOf,
  conversationsOf,
  delegationsOf,
  laterCommandsOf,
  notificationsOf,
  openTelemetry,
  peerFilesOf,
} from './late-parts.ts';
import { openRecord, type SessionEnd, type SessionRecord, trappedBy } from './session-record.ts';
import type { SessionTelemetry } from './telemetry/session-telemetry.ts';
import { claimWorkdir, type WorkdirFiles } from './workdir-files.ts';

/** Without the facts that only the listener knows. */
export type SessionDoor = Omit<CapsuleDoor, 'principal' | 'callers' | 'facts'>;

/** A session that is ready for its first task, which is submitted already when there is one. */
export interface OpenSession {
  readonly session: Session;
  readonly door: SessionDoor;
  readonly directories: SessionDirectories;
  readonly driver: string;
  /** The hooks that have received `on-stage`, and nothing else yet. */
  readonly hooks: CapsuleHooks;
  /** Begun once the listener is up, and ended before the last line; null where nothing is sent. */
  readonly telemetry: SessionTelemetry | null;
  readonly doors: DoorsAround;
  /** Resolves once the last line can be written. */
  readonly readyToEnd: () => Promise<void>;
  /** The last line of the trace. Throws the Diagnostic of a line that cannot be written. */
  readonly writeEnd: (end: SessionEnd) => void;
  /** Opens the journal, where the session has one: called once the listener is up. */
  readonly beginJournal: () => void;
  /** Ends components, driver, trace and journal. */
  readonly close: () => Promise<void>;
}

/** Makes the directories of a session, stages its tools, opens its trace and submits its first task. What fails leaves nothing open. */
export async function openSession(asked: OpenSessionRequest): Promise<OpenSession> {
  const { request, sessionId } = asked;
  const { home, workdir } = request;
  const { packageRoot, source } = asked.launch;
  const isDelegated = request.approval !== null;
  const named = workdir === null || isDelegated ? null : await import('../stage/named-workdir.ts');
  named?.refuseClosedFolder(workdir ?? '');
  const state = join(source.state, '.svc');
  const isFirst = !isDelegated && !existsSync(join(state, 'sessions'));
  const directories = makeSessionDirectories({
    root: source.state,
    home,
    packageRoot,
    sessionId,
    workdir,
    isDelegated,
  });
  if (isFirst) (await import('./ignored-state.ts')).keepOutOfGit(state);
  const open = { ...asked, launch: named?.withNamedWorkdir(asked, directories.workdir) ?? asked.launch };
  const { launch } = open;
  await holdExportRoots(launch, directories);
  const workdirFiles = claimWorkdir(open, directories.workdir);
  const closing: (() => Promise<void> | void)[] = [];
  const close = async (): Promise<void> => await closeAll(closing.splice(0).toReversed());
  closing.push(() => launch.project?.end(open.onWarning));
  try {
    const cacheDir = join(request.home, '.svc', 'cache');
    const host = createLateComponentHost({ cacheDir, packageRoot: launch.packageRoot });
    closing.push(() => host.close());
    const logs = new LogBudget();
    const journal = openSessionJournal(launch.capture, systemClock);
    const { recorder } = journal;
    const delegating = await delegationsOf(open, directories);
    const later = await laterCommandsOf(open);
    const grantUsage = new LateGrantUsage(systemClock, open.onWarning);
    closing.push(() => grantUsage.close());
    const staged = await stageSession({
      launch,
      sessionId,
      directories,
      logs,
      host,
      home,
      cacheDir,
      delegations: delegating?.delegations ?? null,
      driver: request.driver,
      stop: request.stop,
      recorder,
      onWarning: open.onWarning,
      imports: importMode(launch),
      later,
      grantUsage,
    });
    closing.push(() => staged.close());
    const peerFiles = await peerFilesOf(open, directories);
    closing.push(() => peerFiles.close());
    const peerTools = peerFiles.tools.map((tool) => recordedTool(tool, recorder));
    const inventory = await inventoryOf([...staged.tools, ...peerTools], staged.skills, open);
    const kept = await conversationsOf(open, directories);
    if (kept !== null) closing.push(kept.close);
    const telemetry = await openTelemetry(open);
    const says = { trace: directories.trace, tools: inventory.names, driver: staged.driver.label };
    const { continues } = request.changes ?? {};
    const recorded = openRecord({ launch, sessionId, ...says, continues, telemetry });
    closing.push(() => recorded.close());
    return {
      ...(await ready(open, {
        directories,
        workdirFiles,
        logs,
        journal,
        recorded,
        staged,
        later,
        grantUsage,
        delegating,
        peerFiles,
        inventory,
        conversations: kept?.conversations ?? null,
        onClose: (end) => void closing.push(end),
      })),
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}

interface StagedParts {
  readonly directories: SessionDirectories;
  readonly workdirFiles: WorkdirFiles;
  readonly logs: LogBudget;
  readonly journal: SessionJournal;
  readonly recorded: SessionRecord;
  readonly staged: StagedSession;
  /** Is null where nothing is granted while the session runs. */
  readonly later: LaterCommands | null;
  readonly grantUsage: LateGrantUsage;
  /** It is null for a session that may not delegate. */
  readonly delegating: SessionDelegations | null;
  readonly peerFiles: SessionPeerFiles;
  readonly inventory: Inventory;
  readonly conversations: Conversations | null;
  readonly onClose: (end: () => Promise<void> | void) => void;
}

async function ready(open: OpenSessionRequest, parts: StagedParts): Promise<Omit<OpenSession, 'close'>> {
  const { launch } = open;
  const { directories, journal, recorded, staged, grantUsage, delegating, inventory } = parts;
  const { recorder } = journal;
  const { record } = recorded;
  journal.follow(recorded.activity);
  grantUsage.follow(recorded.activity);
  const { later, onClose } = parts;
  if (later !== null) {
    recorded.activity.subscribe(({ kind }) => {
      if (kind === 'task-settled') later.taskEnded();
    });
  }
  const { onActivity } = open.request;
  if (onActivity !== null) recorded.activity.subscribe(onActivity);
  /** Notes what comes to the session by itself and only has a line of the trace. */
  const note = (event: TraceEvent): void => {
    recorder.arrive({ what: 'note', event });
    record(event);
  };
  const spend = new SpendMeter(launch.loaded.manifest.inference.max_session_tokens ?? null);
  const openAll = async (): Promise<CapsuleHooks> => await hooksOf(open, { ...parts, spend });
  const areLate = staged.hooks.every(({ declaration }) => hearsOnly(declaration, 'on-compaction'));
  const hooks = staged.hooks.length === 0 ? noHooks : areLate ? lateHooks(openAll) : await openAll();
  const isAttendedBy = (answerer: Answerer): boolean => session.events.isAttendedBy(answerer);
  const directory = directories.session;
  const onLost = (lost: Diagnostic): void => session.trap(lost);
  let isNotified = (): boolean => false;
  const asking = await approvalsOf(open, {
    recorder,
    directory,
    later,
    onClose,
    isAttendedBy,
    isNotified: () => isNotified(),
    onLost: (error) => (error instanceof Diagnostic ? onLost(error) : raise(error)),
    mayDelegate: delegating !== null,
  });
  const approvals = asking?.approvals ?? null;
  const session: Session = buildSession(open, { ...parts, spend, hooks, approvals });
  parts.logs.observe(() => {
    const event = { event_type: 'logs_limit_reached', max_bytes: parts.logs.maxBytes } as const;
    const lost = diagnosticOf(() => note(event));
    if (lost !== null) onLost(lost);
  });
  delegating?.serve({ session, record: note });
  staged.background.observe(backgroundEnds({ board: session.board, record: note, onLost }));
  const write = (event: TraceEvent): boolean => diagnosticOf(() => record(event)) === null;
  const refusals = new RefusedRequests({ clock: systemClock, write });
  parts.onClose(() => refusals.close());
  let end: Parameters<SessionJournal['end']>[0] = null;
  parts.onClose(() => journal.end(end));
  const writeEnd = (how: SessionEnd): void => {
    refusals.settle();
    parts.logs.unobserve();
    recorded.end((end = how), { tasks: session.board.accepted, grantUsage: grantUsage.settle() });
  };
  const { workdir } = directories;
  const around = { workdir, hides: launch.project?.hides };
  const doors: DoorsAround = { ...around, record, onLost, telemetry: recorded.telemetry, ends: [] };
  try {
    isNotified = await notificationsOf(open, recorded.activity, doors);
    await hooks.stage(inventory.definitions);
    submitFirst(session, open, parts.workdirFiles);
  } catch (error) {
    if (error instanceof Diagnostic) diagnosticOf(() => writeEnd(trappedBy(error)));
    throw error;
  }
  return {
    session,
    door: {
      session,
      card: cardOf(open, staged.tools),
      conversationMode: launch.loaded.manifest.lifecycle.conversation,
      containment: launch.scope.containment.achieved,
      redact: recordRedaction(launch.redactor),
      delegation: { open: (id) => delegating?.delegations.open(id) ?? null },
      ...(delegating === null || asking === null ? {} : { children: asking.ofChildren({ ...delegating, session }) }),
      residue: () => [...residueOf(staged.background), ...(delegating?.residue() ?? [])],
      resources: await resourcesOf(launch, { ...parts, session, refusals, isOver: () => end !== null }),
    },
    directories,
    driver: staged.driver.label,
    hooks,
    beginJournal: () => {
      const { tools } = inventory;
      const conversations = keptWhere(parts.conversations);
      const { continues } = open.request.changes ?? {};
      const about = { launch, sessionId: open.sessionId, directory: directories.session, continues };
      const { onWarning, onRetained, request } = open;
      journal.begin({ ...about, home: request.home, tools, conversations, onWarning, onRetained }, onLost);
    },
    telemetry: recorded.telemetry,
    doors,
    readyToEnd: () => grantUsage.ready(),
    writeEnd,
  };
}

interface SessionParts extends Omit<StagedParts, 'onClose'> {
  readonly spend: SpendMeter;
  readonly hooks: CapsuleHooks;
  /** Is null where the manifest has none. */
  readonly approvals: Approvals | null;
}

async function hooksOf(
  { launch, request, sessionId }: OpenSessionRequest,
  {
    staged,
    directories,
    logs,
    journal,
    recorded,
    grantUsage,
    spend,
    onClose,
  }: Omit<SessionParts, 'hooks' | 'approvals'> & StagedParts,
): Promise<CapsuleHooks> {
  const { openHooks } = await import('../stage/open-hooks.ts');
  const { hooks, close } = openHooks({
    launch,
    sessionId,
    stop: request.stop,
    hooks: staged.hooks,
    driver: staged.driver,
    recorder: journal.recorder,
    spend,
    sessionDirectory: directories.session,
    logs,
    record: recorded.record,
    onAsked: grantUsage.onHookAsked,
  });
  onClose(close);
  return hooks;
}

function buildSession(
  { launch, onFrame, onTaskFailed, sessionId }: OpenSessionRequest,
  { onClose, ...parts }: SessionParts & Pick<StagedParts, 'onClose'>,
): Session {
  const { directories, workdirFiles, recorded, staged, delegating, inventory, conversations } = parts;
  const { spend, hooks, approvals } = parts;
  const { recorder } = parts.journal;
  const { activity } = recorded;
  // Senders of long texts wait for the journal: what it has yet to write is held in memory.
  const prepare: SessionRecord['prepare'] = async (text) => {
    await parts.journal.caughtUp();
    return await recorded.prepare(text);
  };
  const { manifest, systemPrompt: system } = launch.loaded;
  const settings = sessionSettings(manifest, { system, projectText: launch.projectText });
  const redact = recordRedaction(launch.redactor);
  const store = new FrameStore(directories.session);
  onClose(() => store.close());
  const stream = new EventStream(onFrame, { store, onLost: (lost) => session.trap(lost) });
  activity.subscribe(taskFrames(stream));
  const clock = systemClock;
  const { workdir } = directories;
  const workdirSize = new WorkdirSize({
    workdir,
    maxBytes: launch.grants.resources.workdir_max_bytes,
    uid: process.getuid?.() ?? 0,
    clock,
    programsRun: hasLiveGroups,
  });
  onClose(() => workdirSize.close());
  const session: Session = new Session({
    id: sessionId,
    events: stream,
    background: {
      stop: async () => void (await Promise.all([staged.background.stop(), delegating?.delegations.stop()])),
    },
    board: new TaskBoard({ acceptance: settings.acceptance, clock, activity, recorder, prepare }),
    runner: {
      ...settings.runner,
      driver: staged.driver,
      onFailed: (failed) => onTaskFailed({ ...failed, words: redact(failed.words) }),
      inventory,
      approvals,
      hooks,
      spend,
      activity,
      recorder,
      clock,
      workdirSize,
      conversations,
      writeResult: (text) => workdirFiles.writeResult(text),
    },
  });
  return session;
}

/** The operator who starts the capsule gives the first task, so it is trusted (docs/protocol.md "Origin and trust"). */
function submitFirst(session: Session, open: OpenSessionRequest, files: WorkdirFiles): void {
  const { launch, request, sessionId } = open;
  if (launch.initialTask === null) return;
  files.writeTask(launch.initialTask.text);
  const isContinued = request.changes?.continues !== undefined;
  session.board.submit(sourceOfFirst(launch.initialTask, { env: request.env, sessionId, isContinued }));
}

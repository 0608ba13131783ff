/** Opens the approvals of a session whose manifest has some, or whose person may grant it more. */

import type { Approvals as ApprovalSettings } from '@svc/artifacts/manifest/approvals.ts';
import type { CapsuleManifest } from '@svc/artifacts/manifest/schema.ts';
import type { ChildrenDoor } from '@svc/doors/own/child-questions.ts';
import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import { recordRedaction } from '@svc/kit/diagnostics/handle-id.ts';
import { systemClock } from '@svc/kit/system-clock.ts';
import { openApprovalLog } from '@svc/record/sessions/approval-log.ts';
import { Approvals } from '@svc/session/approvals/approvals.ts';
import type { PassedQuestions } from '@svc/session/approvals/passed-questions.ts';
import type { Widening } from '@svc/session/approvals/wanted-grants.ts';
import type { Delegations } from '@svc/session/delegation/delegations.ts';
import type { ParentLine } from '@svc/session/delegation/parent-line.ts';
import type { Recorder } from '@svc/session/recorder/recorder.ts';
import type { Answerer } from '@svc/session/stream/event-stream.ts';
import type { Session } from '@svc/session/session.ts';
import type { OpenSessionRequest } from '../launch/open-session-request.ts';
import type { LaterCommands } from '../stage/later-commands.ts';
import { openKeptCalls } from './kept-calls.ts';

/** What the approvals of a session are opened with. */
export interface OpenedApprovals {
  /** Is null for a manifest without `approvals`. */
  readonly settings: ApprovalSettings | null;
  /** Is null where nothing is granted while the session runs. */
  readonly later: LaterCommands | null;
  readonly recorder: Recorder;
  /** The directory of the session. */
  readonly directory: string;
  readonly onClose: (end: () => void) => void;
  /** Whether a client follows the session, questions included, that could answer them in this way. */
  readonly isAttendedBy: (answerer: Answerer) => boolean;
  /** Whether the target of `notify` takes questions. */
  readonly isNotified: () => boolean;
  /** The session cannot go on. */
  readonly onLost: (error: unknown) => void;
}

/** The approvals of a session, and those of its children. */
export interface SessionApprovals {
  readonly approvals: Approvals;
  /** For a session that may delegate, once it is there. */
  readonly ofChildren: (of: { readonly session: Session; readonly delegations: Delegations }) => ChildrenDoor;
}

export async function openApprovals(
  open: OpenSessionRequest,
  { settings, later, recorder, directory, onClose, isAttendedBy, isNotified, onLost }: OpenedApprovals,
): Promise<SessionApprovals> {
  const { loaded, redactor } = open.launch;
  const log = openApprovalLog(directory);
  onClose(() => log.close());
  const kept = settings === null ? null : await openKeptCalls(open);
  const { request } = open;
  const answer = settings?.answer ?? usualPlaces;
  const followedFrom = (): Place =>
    (['terminal', 'door'] as const).find((place) => answer.includes(place) && isAttendedBy(place)) ?? null;
  const askedAt = (): Place => request.askedAt?.() ?? (request.changes?.hasPerson === true ? followedFrom() : null);
  const above = request.askKey === undefined ? null : await import('./parent-questions.ts');
  const line = above?.parentLineOf(open) ?? null;
  const unattended = loudly(
    open,
    async () =>
      await whyUnattended(answer, open, {
        askedAt: askedAt(),
        isNotified: isNotified(),
        line,
      }),
  );
  const approvals: Approvals = new Approvals({
    rules: settings,
    // The questions of a child are put and answered where a person is.
    ways: line === null ? answer : ['parent'],
    timeoutMs: (settings?.timeout ?? grantTimeout) * 1000,
    recorder,
    clock: systemClock,
    log,
    unattended,
    capsule: loaded.manifest.name,
    redact: recordRedaction(redactor),
    // A terminal and an editor show the question itself, and a parent hears of it from its child.
    onAsked: ({ prompt }) => {
      if (askedAt() === null && line === null) open.onWarning(new Diagnostic('W-APR-008', `a task waits: ${prompt}`));
    },
    ...wideningOf(open, later, askedAt),
    ...(kept === null ? {} : { kept }),
    ...(above === null || line === null
      ? {}
      : { up: (asked, settled) => void above.passUp(line, { asked, settled, approvals }).catch(onLost) }),
  });
  return {
    approvals,
    ofChildren: ({ session, delegations }) => {
      let opening: Promise<PassedQuestions> | null = null;
      const parts = { session, line, log, unattended, redact: recordRedaction(redactor), onLost };
      return {
        childOf: (token) => delegations.childOf(token),
        hear: async (child, request) => {
          opening ??= import('./child-questions.ts').then((questions) => questions.questionsOf(open, parts));
          return await (await opening).hear(child, request);
        },
      };
    },
  };
}

/** As of a manifest that does not say: the children of its capsule may have questions all the same. */
const usualPlaces: ApprovalSettings['answer'] = ['terminal', 'door', 'acp'];

/** Where a person is shown questions. Who has started a session for a chat follows it, and shows its key or a door token. */
type Place = 'terminal' | 'acp' | 'door' | null;

/** In seconds, that a question about a further grant waits. */
const grantTimeout = 600;

/** Nobody is asked who is not at the terminal, or follows what a chat has started. */
function wideningOf(
  { request }: OpenSessionRequest,
  later: LaterCommands | null,
  askedAt: () => Place,
): { readonly widening?: Widening } {
  const widening = request.adhoc?.widening;
  if (widening === undefined || later === null) return {};
  const mayGrant = (): boolean => askedAt() === 'terminal' || askedAt() === 'door';
  return {
    widening: {
      wanted: (call) => (mayGrant() ? widening.wanted(call) : null),
      wantsHost: (host) => mayGrant() && widening.wantsHost(host),
      decided: (wanted, option) => {
        if (option !== null) later.grant(wanted, option);
        widening.decided(wanted, option);
      },
    },
  };
}

/** Warns of the first call that is denied since nobody can be asked. */
function loudly(
  { onWarning }: OpenSessionRequest,
  whyUnattended: () => Promise<string | null>,
): () => Promise<string | null> {
  let isTold = false;
  return async () => {
    const why = await whyUnattended();
    if (why !== null && !isTold) onWarning(new Diagnostic('W-APR-003', `a call was denied: ${why}`));
    isTold ||= why !== null;
    return why;
  };
}

/** What is asked for, as far as it says who may be asked. */
export interface AskingRequest extends Pick<OpenSessionRequest, 'knowsAnswerer'> {
  readonly request: Pick<OpenSessionRequest['request'], 'approval'>;
  readonly launch: Pick<OpenSessionRequest['launch'], 'notifyCommand'> & {
    readonly loaded: { readonly manifest: Pick<CapsuleManifest, 'notify'> };
  };
}

/** Who is there. */
interface Around {
  readonly askedAt: Place;
  readonly isNotified: boolean;
  readonly line: ParentLine | null;
}

/** Why nobody would see a question, or could answer it; null where somebody may. */
export async function whyUnattended(
  answer: ApprovalSettings['answer'],
  { request, launch, knowsAnswerer }: AskingRequest,
  { askedAt, isNotified, line }: Around,
): Promise<string | null> {
  if (line !== null) return await line.whyUnattended();
  if (request.approval !== null) return 'nobody is asked for a capsule that a step of a plan has started';
  if (askedAt !== null && answer.includes(askedAt)) return null;
  // A person who reads a notification answers with the key of the session.
  if (isNotified && answer.includes('terminal')) return null;
  if ((answer.includes('door') || answer.includes('mcp')) && (await knowsAnswerer())) return null;
  const isTold = launch.loaded.manifest.notify !== undefined;
  const target =
    launch.notifyCommand !== null ? 'a program that fails' : isTold ? 'a target that takes no more' : 'no target';
  if (!usualPlaces.every((place) => answer.includes(place)))
    return `nobody can be asked: approvals.answer names ${answer.join(', ')}, and nobody is there who could answer so`;
  return `nobody can be asked: there is neither a terminal nor an editor, no door token has the scope answer, and notify names ${target}`;
}

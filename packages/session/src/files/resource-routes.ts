/** The HTTP routes of exported files. */

import { busy, type HttpRefusal } from '@svc/kit/http/refusal.ts';
import type { Reply } from '@svc/kit/http/reply.ts';
import type { Handler, RequestHead, Route } from '@svc/kit/http/route.ts';
import { handleId, redactHandles } from '@svc/kit/diagnostics/handle-id.ts';
import type { ContainmentClass } from '@svc/protocol/containment-class.ts';
import { resourcesPath } from '@svc/protocol/resource-files.ts';
import { parseResourcePath } from '@svc/protocol/resource-path.ts';
import type { ExportedFiles } from './export-reader.ts';
import type { Hides } from './export-root.ts';
import type { ListingRequest } from './listings.ts';
import type { PeerHandles } from './peer-handles.ts';
import { type PlaneAnswer, refused, type RefusedRequest, type RefusedRequests } from './refused-requests.ts';

/** The operator plane. */
interface FilesByPath {
  read(rawPath: string): PlaneAnswer | Promise<PlaneAnswer>;
  list(request: ListingRequest): Promise<PlaneAnswer | null>;
}

/** The peer plane. */
interface FilesByHandle {
  redeem(token: string, request: RequestHead): PlaneAnswer | Promise<PlaneAnswer>;
}

/** Who answers, by plane; null where it is not declared. */
export interface ExportedPlanes {
  readonly operator: FilesByPath | null;
  readonly peer: FilesByHandle | null;
}

export type ResourceEvent = RefusedRequest;

export interface ResourcePlanesOptions {
  /** The accessible workdir, canonical. */
  readonly workdir: string;
  /** `exports.files`; null when it is not declared. */
  readonly files: ExportedFiles | null;
  /** `exports.peer_files`, and what its handles are held to; null when it is not declared. */
  readonly peerFiles: (ExportedFiles & { readonly handles: PeerHandles }) | null;
  readonly achieved: ContainmentClass;
  readonly hides?: Hides | undefined;
  /** Tasks that reached a terminal state in this process (D3 "Generation"). */
  readonly generation: () => number;
  /** Whether the session has ended: what is still being answered is given up, and nothing more is recorded. */
  readonly isOver?: () => boolean;
  /** A directory of `svc` alone. */
  readonly spoolDirectory: string;
  /** Called once for every request that was accepted (D3 "Events"). */
  readonly onAccepted: (event: ResourceEvent) => void;
  /** Records every other refusal. */
  readonly refusals: RefusedRequests;
}

/** What `resourceRoute` needs: who answers, and who records what never got that far. */
export interface ResourceDoor {
  readonly answer: Handler<RequestHead>;
  /** Records a request that the server refused by itself: its token, its host, how it was written. */
  readonly refused: (path: string, refusal: HttpRefusal) => void;
  /** The same as `refused` for several requests whose paths are no longer known. */
  readonly counted: (refusal: HttpRefusal, count: number) => void;
}

/** Everything under `/resources/`, every method included (D3 "Endpoints"). */
export function resourceRoute({ answer, refused: onRefused }: Pick<ResourceDoor, 'answer' | 'refused'>): Route {
  return { method: '*', path: resourcesPath, prefix: true, body: 'unread', handle: answer, onRefused };
}

/** For capsules that export nothing, which are most: they load nothing that reads files. */
export const noPlanes: ExportedPlanes = { operator: null, peer: null };

/** Neither plane exists unless it is declared (`exportedPlanes`). */
export function resourceDoor(options: ResourcePlanesOptions, exported: ExportedPlanes): ResourceDoor {
  const planes = new ResourcePlanes(options, exported);
  return {
    answer: (request) => planes.answer(request),
    refused: (path, { code: outcome, status, reply }) => {
      options.refusals.add(outcome, status, () => eventOf(targetOf(path), { outcome, reply }));
    },
    counted: ({ code, status }, count) => options.refusals.count(code, status, count),
  };
}

/** What a path under `/resources/` addresses; `raw` and `handle` are as sent. */
type Target =
  | { readonly kind: 'list' }
  | { readonly kind: 'read'; readonly raw: string }
  | { readonly kind: 'peer'; readonly handle: string }
  | { readonly kind: 'nothing'; readonly path: string };

class ResourcePlanes {
  readonly #operator: ExportedPlanes['operator'];
  readonly #peer: ExportedPlanes['peer'];
  readonly #onAccepted: (event: ResourceEvent) => void;
  readonly #refusals: RefusedRequests;
  readonly #isOver: () => boolean;

  constructor(
    { onAccepted, refusals, isOver = () => false }: ResourcePlanesOptions,
    { operator, peer }: ExportedPlanes,
  ) {
    this.#operator = operator;
    this.#peer = peer;
    this.#onAccepted = (event) => {
      if (!isOver()) onAccepted(event);
    };
    this.#isOver = isOver;
    this.#refusals = refusals;
  }

  answer(request: RequestHead): Reply | Promise<Reply> {
    const target = targetOf(request.path);
    if (request.method !== 'GET') return this.#record(target, refused('method_not_allowed'));
    switch (target.kind) {
      case 'list':
        return this.#list(target, request);
      case 'read':
        return this.#read(target);
      case 'peer':
        if (this.#peer === null) return this.#record(target, refused('no_peer_plane'));
        if (target.handle === '') return this.#record(target, refused('not_found'));
        return this.#answered(target, this.#peer.redeem(target.handle, request));
      case 'nothing':
        return this.#record(target, refused('not_found'));
    }
  }

  async #list(target: Target, { headers, client }: RequestHead): Promise<Reply> {
    if (this.#operator === null) return this.#record(target, refused('no_resource_plane'));
    const answer = await this.#operator.list({
      isAwaited: () => client?.isGone() !== true && !this.#isOver(),
      ended: client?.ended() ?? null,
      holder: headers.authorization ?? null,
      onStreamed: (listing) => this.#onAccepted({ event_type: 'resource_list', status: 200, ...listing }),
    });
    if (answer === null) return this.#refuse(target, { outcome: busy().code, reply: busy().reply });
    return answer.reply.kind === 'readable' ? answer.reply : this.#record(target, answer);
  }

  #read(target: Extract<Target, { kind: 'read' }>): Reply | Promise<Reply> {
    if (this.#operator === null) return this.#record(target, refused('no_resource_plane'));
    return this.#answered(target, this.#operator.read(target.raw));
  }

  #answered(target: Target, answer: PlaneAnswer | Promise<PlaneAnswer>): Reply | Promise<Reply> {
    if (!(answer instanceof Promise)) return this.#record(target, answer);
    return answer.then((settled) => this.#record(target, settled));
  }

  #record(target: Target, answer: PlaneAnswer): Reply {
    const { outcome, reply } = answer;
    if (outcome === 'ok') this.#onAccepted(eventOf(target, answer));
    else this.#refuse(target, answer);
    return reply;
  }

  #refuse(target: Target, answer: Outcome): Reply {
    const { outcome, reply } = answer;
    if (!this.#isOver()) this.#refusals.add(outcome, statusOf(reply), () => eventOf(target, answer));
    return reply;
  }
}

function targetOf(path: string): Target {
  const rest = path.slice(resourcesPath.length);
  if (rest === 'files') return { kind: 'list' };
  if (rest.startsWith('files/')) return { kind: 'read', raw: rest.slice('files/'.length) };
  if (rest === 'peer') return { kind: 'peer', handle: '' };
  if (rest.startsWith('peer/')) return { kind: 'peer', handle: rest.slice('peer/'.length) };
  return { kind: 'nothing', path };
}

type Outcome = Omit<PlaneAnswer, 'outcome'> & { readonly outcome: string };

function eventOf(target: Target, { reply, outcome, bytes, entries }: Outcome): ResourceEvent {
  const common = { outcome, status: statusOf(reply) };
  const record = outcome === 'ok' ? recorded : (raw: string): string => cut(recorded(raw));
  const served = bytes === undefined ? {} : { bytes };
  switch (target.kind) {
    case 'list':
      return { event_type: 'resource_list', ...common, ...(entries === undefined ? {} : { entries }) };
    case 'peer':
      if (target.handle === '') return { event_type: 'resource_read', path: `${resourcesPath}peer`, ...common };
      return { event_type: 'peer_handle_redeem', handle_id: handleId(target.handle), ...common, ...served };
    case 'read':
      return { event_type: 'resource_read', path: record(target.raw), ...common, ...served };
    case 'nothing':
      return { event_type: 'resource_read', path: `/${record(target.path.slice(1))}`, ...common };
  }
}

function statusOf(reply: Reply): number {
  return reply.kind === 'stream' ? 200 : reply.status;
}

/** How much of a refused path is recorded; a request may bring 16 KiB. */
const maxRefused = 512;

/** Whole characters within 512 bytes. */
function cut(path: string): string {
  if (path.length * 3 <= maxRefused) return path;
  const { read } = new TextEncoder().encodeInto(path, new Uint8Array(maxRefused));
  return path.slice(0, read);
}

/** A path as the record has it: decoded where it can be, without a handle that strayed into it. */
function recorded(raw: string): string {
  return redactHandles(parseResourcePath(raw) ?? raw);
}

/** Keeps where clients want to be notified of tasks, and makes the notifications (A2A 1.0, 3.1.7 to 3.1.10). */

import { atMost } from '@svc/kit/clock.ts';
import { systemResolver } from '@svc/kit/net/resolver.ts';
import type { JsonObject } from '@svc/protocol/json-object.ts';
import type { TaskNews, TaskRecord } from '@svc/session/task/task-record.ts';
import type { DoorCore } from '../../core/door-core.ts';
import type { Principal } from '../../callers/principal.ts';
import { postNotification } from './post-notification.ts';
import { PushBudget } from './push-budget.ts';
import { PushQueue } from './push-queue.ts';
import { PushRule } from './push-rule.ts';
import { visible } from '../deliver.ts';
import { type A2aFault, faultOf, taskNotFound } from '../errors.ts';
import { artifactUpdate, inputTimeoutExtension, statusUpdate, taskObject } from '../objects.ts';
import {
  parseConfigRequest,
  parseConfigsRequest,
  parsePush,
  type PushRequest,
  receiverOf,
  shownPush,
} from './push-params.ts';

const maxOfTask = 8;
/** For all clients, and for one: it must not keep out the others. */
const maxTogether = 1000;
const maxOfClient = 250;
/** A longer task or artifact is not sent: the receiver gets the status, and asks for it. */
const maxBody = 1024 * 1024;

/** For the last notifications. */
const endWithinMs = 2000;

interface Config {
  readonly id: string;
  readonly request: PushRequest;
  readonly queue: PushQueue;
  /** Who asked for it. */
  readonly owner: Principal;
}

/** The configs of one task; it is followed as long as there are any. */
interface Followed {
  readonly configs: Set<Config>;
  readonly unfollow: () => void;
}

/** All configs of one session whose manifest names hosts. */
export class PushConfigs {
  readonly #core: DoorCore;
  readonly #rule: PushRule;
  readonly #budget = new PushBudget();
  readonly #followed = new Map<TaskRecord, Followed>();

  constructor(core: DoorCore) {
    const { push = [], outside } = core.facts;
    this.#core = core;
    this.#rule = new PushRule(push);
    outside?.onClose(() => this.#close());
    core.session.activity.subscribe(({ kind }) => {
      if (kind === 'task-settled') this.#removeForgotten();
    });
  }

  create(params: unknown, principal: Principal): JsonObject {
    const { taskId, asked } = parseConfigsRequest(params);
    const record = visible(taskId, principal, this.#core);
    return this.#add(record, parsePush(asked, this.#rule), principal);
  }

  get(params: unknown, principal: Principal): JsonObject {
    const { taskId, id } = parseConfigRequest(params);
    const record = visible(taskId, principal, this.#core);
    const config = this.#find(record, principal, id);
    if (config === undefined) throw taskNotFound(taskId);
    return shownPush(config.request, id, record.id);
  }

  /** At most eight, so that there is never another page. */
  list(params: unknown, principal: Principal): JsonObject {
    const { taskId } = parseConfigsRequest(params);
    const record = visible(taskId, principal, this.#core);
    const configs = this.#configsOf(record, principal);
    return { configs: configs.map(({ id, request }) => shownPush(request, id, record.id)), nextPageToken: '' };
  }

  /** Deletes a config. Without one, the answer is the same. */
  delete(params: unknown, principal: Principal): JsonObject {
    const { taskId, id } = parseConfigRequest(params);
    const record = visible(taskId, principal, this.#core);
    const config = this.#find(record, principal, id);
    if (config !== undefined) this.#remove(record, config);
    return {};
  }

  /** The config that comes with a message, which is read before anything is done for the message. */
  ofMessage(config: JsonObject): PushRequest {
    return parsePush(config, this.#rule, 'configuration.taskPushNotificationConfig.');
  }

  /** Throws the fault of a config without room. One that is there, or replaces another, needs no room. `record` is null before the task exists. */
  demandRoom(record: TaskRecord | null, request: PushRequest, owner: Principal): void {
    const isThere = record !== null && this.#ownConfigs(record, owner).some((config) => isPlaceOf(config, request));
    if (!isThere) this.#checkRoom(record, owner);
  }

  /** Adds a config, in the place of the one of its owner that has its id. */
  #add(record: TaskRecord, request: PushRequest, owner: Principal): JsonObject {
    const own = this.#ownConfigs(record, owner);
    const same = own.find((config) => isSame(config, request));
    if (same !== undefined) return shownPush(request, same.id, record.id);
    const id = request.id ?? `cfg_${Buffer.from(this.#core.session.clock.randomBytes(16)).toString('hex')}`;
    const before = own.find((config) => config.id === id);
    if (before === undefined) this.#checkRoom(record, owner);
    else this.#remove(record, before);
    const queue = this.#queueFor(record, { request, owner });
    this.#follow(record).configs.add({ id, request, queue, owner });
    // Nothing more happens to it, and its end may have come a moment before the client could ask.
    if (record.isSettled) queue.add(bodyOf(lastOf(record), record));
    return shownPush(request, id, record.id);
  }

  /** `record` is null before the task exists. */
  #checkRoom(record: TaskRecord | null, owner: Principal): void {
    const full = (message: string): A2aFault => faultOf('UNSUPPORTED_OPERATION', message, {});
    const ofTask = record === null ? 0 : (this.#followed.get(record)?.configs.size ?? 0);
    if (ofTask >= maxOfTask) throw full(`The task has ${maxOfTask} push notification configs already`);
    if (!this.#hasRoom(maxTogether, () => true)) {
      throw full(`This agent has ${maxTogether} push notification configs already`);
    }
    if (this.#budget.isAlone(owner)) return;
    if (this.#hasRoom(maxOfClient, (config) => config.owner.name === owner.name)) return;
    throw full(`This client has ${maxOfClient} push notification configs already`);
  }

  /** For the config of a message, once its task is there. `demandRoom` was called for it in the same turn. */
  addTo(record: TaskRecord, request: PushRequest, principal: Principal): void {
    this.#add(record, request, principal);
  }

  #find(record: TaskRecord, principal: Principal, id: string): Config | undefined {
    return this.#configsOf(record, principal).find((config) => config.id === id);
  }

  /** Returns the configs of a principal, who does not learn of others. */
  #configsOf(record: TaskRecord, principal: Principal): readonly Config[] {
    const configs = [...(this.#followed.get(record)?.configs ?? [])];
    return principal.seesAll ? configs : configs.filter(({ owner }) => owner.name === principal.name);
  }

  #ownConfigs(record: TaskRecord, { name }: Principal): readonly Config[] {
    return [...(this.#followed.get(record)?.configs ?? [])].filter(({ owner }) => owner.name === name);
  }

  #queueFor(record: TaskRecord, { request, owner }: Pick<Config, 'request' | 'owner'>): PushQueue {
    const { clock } = this.#core.session;
    const queue: PushQueue = new PushQueue({
      receiver: receiverOf(request, this.#spanOf(record)),
      clock,
      share: this.#budget.enter(owner),
      post: async (headers, body, signal) => {
        // Do not notify a client that has lost access to the task.
        if (!(await this.#core.holds(owner))) return { kind: 'gone' };
        const notification = { url: request.url, headers, body, signal };
        return await postNotification(notification, { rule: this.#rule, resolver: systemResolver, clock });
      },
      onGone: () => this.#removeWhere((of, config) => of === record && config.queue === queue),
    });
    return queue;
  }

  /** The span that notifications belong to: that of the task where there is telemetry, else what came with the task. */
  #spanOf({ id, task }: TaskRecord): string | undefined {
    const given = task.sender?.tags.traceparent;
    return this.#core.facts.outside?.requests()?.traceparentOf(id, given) ?? given;
  }

  #follow(record: TaskRecord): Followed {
    const known = this.#followed.get(record);
    if (known !== undefined) return known;
    const unfollow = this.#core.records.follow(record, (news) => this.#hear(record, news));
    const made: Followed = { configs: new Set(), unfollow };
    this.#followed.set(record, made);
    return made;
  }

  #hear(record: TaskRecord, news: TaskNews): void {
    const event = eventOf(record, news);
    if (event === null) return;
    const body = bodyOf(event, record);
    for (const { queue } of this.#followed.get(record)?.configs ?? []) queue.add(body);
  }

  #remove(record: TaskRecord, config: Config): void {
    const followed = this.#followed.get(record);
    if (followed?.configs.delete(config) !== true) return;
    config.queue.end(false);
    this.#tellLosses(record, config);
    if (followed.configs.size > 0) return;
    followed.unfollow();
    this.#followed.delete(record);
  }

  /** Whether there are fewer such configs. First removes those of tasks that nobody can ask about any more, then those with nothing left to say. */
  #hasRoom(most: number, isMeant: (config: Config) => boolean): boolean {
    const hasRoom = (): boolean => this.#all().filter(({ config }) => isMeant(config)).length < most;
    if (hasRoom()) return true;
    this.#removeForgotten(isMeant);
    if (!hasRoom()) {
      this.#removeWhere((record, config) => isMeant(config) && record.isSettled && config.queue.isIdle);
    }
    return hasRoom();
  }

  /** Removes those of tasks that nobody can ask about any more, whose records would live as long as they; without `isMeant`, once all is sent. */
  #removeForgotten(isMeant: (config: Config) => boolean = ({ queue }) => queue.isIdle): void {
    const { records } = this.#core;
    this.#removeWhere((record, config) => isMeant(config) && records.find(record.id) === null);
  }

  #all(): readonly { readonly record: TaskRecord; readonly config: Config }[] {
    return [...this.#followed].flatMap(([record, { configs }]) => [...configs].map((config) => ({ record, config })));
  }

  #removeWhere(holds: (record: TaskRecord, config: Config) => boolean): void {
    for (const [record, { configs }] of this.#followed) {
      for (const config of configs) if (holds(record, config)) this.#remove(record, config);
    }
  }

  /** Gives two seconds to what can still be sent. */
  async #close(): Promise<void> {
    const all = this.#all();
    await atMost(this.#core.session.clock, endWithinMs, Promise.all(all.map(({ config }) => config.queue.drain())));
    for (const { record, config } of all) {
      config.queue.end(true);
      this.#tellLosses(record, config);
    }
  }

  #tellLosses(record: TaskRecord, { request, queue }: Config): void {
    const { sent, lost, why } = queue.totals;
    if (lost === 0) return;
    const { host } = request.url;
    this.#core.facts.outside?.record({
      event_type: 'push_lost',
      task_id: record.id,
      host,
      sent,
      lost,
      reason: why ?? '',
    });
  }
}

/** The same place, asked for again by a client that left the id to the agent. */
function isSame({ request: known }: Config, asked: PushRequest): boolean {
  const isAlike = (one: PushRequest['authentication']): string => `${one?.scheme} ${one?.credentials}`;
  if (asked.id !== null || known.id !== null || known.url.href !== asked.url.href) return false;
  return known.token === asked.token && isAlike(known.authentication) === isAlike(asked.authentication);
}

/** Whether what is asked for is there already, or takes its place. */
function isPlaceOf(config: Config, asked: PushRequest): boolean {
  return config.id === asked.id || isSame(config, asked);
}

type Event = Readonly<Record<string, unknown>>;

/** Changes of the state and whole artifacts; the end has the whole task. Returns null for what is not sent. */
function eventOf(record: TaskRecord, news: TaskNews): Event | null {
  switch (news.kind) {
    case 'state': {
      if (record.isSettled) return lastOf(record);
      return statusUpdate(record, news.isInputTimeout ? { [inputTimeoutExtension]: true } : undefined);
    }
    case 'artifact':
      return artifactUpdate(record, news.artifact, { append: false, lastChunk: true });
    case 'text':
    case 'response':
    case 'call-ended':
      return null;
  }
}

function lastOf(record: TaskRecord): Event {
  return { task: taskObject(record, { historyLength: null, artifacts: true }) };
}

function bodyOf(event: Event, record: TaskRecord): Uint8Array {
  const body = Buffer.from(JSON.stringify(event));
  return body.length <= maxBody ? body : Buffer.from(JSON.stringify(statusUpdate(record)));
}

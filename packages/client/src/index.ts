/** What programs import of this package: the clients of a capsule, a referee and a registry. */

export {
  CapsuleClient,
  type CallOptions,
  type CapsuleFile,
  type CapsuleOptions,
  type SendOptions,
} from './capsule-client.ts';
export { ClientError, type ClientErrorCode, type ClientErrorDetails } from './client-error.ts';
export type { DoorOptions, Http, HttpRequest, HttpResponse, Limits } from './http-door.ts';
export { RefereeClient, type RefereeCall } from './referee-client.ts';
export { RegistryClient, type Archive, type RegistryCall } from './registry-client.ts';
export type { InputQuestion, RunOptions, TaskEvent } from './run-task.ts';
export type { WatchEvent, WatchOptions } from './watch-capsule.ts';
export type { DecodedCard } from '@svc/protocol/agent-card.ts';
export type { LiveEvent, Snapshot } from '@svc/protocol/live-events.ts';
export type { PublishQuery } from '@svc/protocol/registry-messages.ts';
export type { TaskFacts } from '@svc/protocol/task-object.ts';

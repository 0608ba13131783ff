// @ts-check
// The peer as its documentation has it: an executor publishes artifact updates of one task, to which every watcher has subscribed over
// JSON-RPC. Each update replaces the artifact: with `append` the stored task would grow, and be copied whole for every chunk.
import { createServer } from 'node:http';

import { takeOrders } from './producer.mjs';

/**
 * The part of the packages that is used. They are there when the row runs, not when the project is type-checked.
 * @typedef {{ publish(event: unknown): void }} EventBus
 * @typedef {{ execute(context: { taskId: string, contextId: string }, bus: EventBus): Promise<void>, cancelTask(): Promise<void> }} Executor
 * @typedef {{
 *   AgentEvent: { task(task: unknown): unknown, statusUpdate(update: unknown): unknown, artifactUpdate(update: unknown): unknown },
 *   DefaultRequestHandler: new (card: unknown, store: object, executor: Executor) => object,
 *   InMemoryTaskStore: new () => object,
 * }} A2aServer
 * @typedef {{ jsonRpcHandler: (options: { requestHandler: object, userBuilder: unknown }) => unknown, UserBuilder: { noAuthentication: unknown } }} A2aExpress
 * @typedef {{ default: () => import('node:http').RequestListener & { use(path: string, handler: unknown): void } }} Express
 */
const packageNames = { server: '@a2a-js/sdk/server', adapter: '@a2a-js/sdk/server/express', express: 'express' };
/** @type {A2aServer} */
const { AgentEvent, DefaultRequestHandler, InMemoryTaskStore } = await import(packageNames.server);
/** @type {A2aExpress} */
const { jsonRpcHandler, UserBuilder } = await import(packageNames.adapter);
/** @type {Express} */
const { default: express } = await import(packageNames.express);

const state = { working: 2, completed: 3 };
const metadata = {};
const card = {
  name: 'bench',
  description: '',
  version: '1.0.0',
  supportedInterfaces: [{ url: 'http://127.0.0.1/', protocolBinding: 'JSONRPC', tenant: '', protocolVersion: '1.0' }],
  capabilities: { streaming: true, pushNotifications: false, extensions: [] },
  defaultInputModes: ['text/plain'],
  defaultOutputModes: ['text/plain'],
  skills: [],
};

/** @type {{ bus: EventBus, taskId: string, contextId: string, complete(): void } | null} */
let running = null;

/** @type {Executor} */
const executor = {
  /** One task a round. The one before ends first: its streams would live on in the server after their clients have gone. */
  execute({ taskId, contextId }, bus) {
    running?.complete();
    const task = { id: taskId, contextId, status: status(state.working), artifacts: [], history: [], metadata };
    bus.publish(AgentEvent.task(task));
    return new Promise((resolve) => {
      const complete = () => {
        bus.publish(AgentEvent.statusUpdate({ taskId, contextId, status: status(state.completed), metadata }));
        resolve();
      };
      running = { bus, taskId, contextId, complete };
    });
  },
  cancelTask: async () => {},
};

/** @param {number} reached */
function status(reached) {
  return { state: reached, message: undefined, timestamp: undefined };
}

const app = express();
const requestHandler = new DefaultRequestHandler(card, new InMemoryTaskStore(), executor);
app.use('/', jsonRpcHandler({ requestHandler, userBuilder: UserBuilder.noAuthentication }));

/** @param {string} text */
function publish(text) {
  if (running === null) throw new Error('the task was not started');
  const { bus, taskId, contextId } = running;
  const part = { content: { $case: 'text', value: text }, mediaType: '', filename: '', metadata: undefined };
  const artifact = {
    artifactId: 'reply',
    name: '',
    description: '',
    parts: [part],
    metadata: undefined,
    extensions: [],
  };
  bus.publish(
    AgentEvent.artifactUpdate({ taskId, contextId, artifact, append: false, lastChunk: false, metadata: undefined }),
  );
}

const server = createServer(app);
server.listen({ host: '127.0.0.1', port: 0 }, () => {
  const address = server.address();
  if (typeof address !== 'object' || address === null) throw new Error('the server has no port');
  takeOrders({ port: address.port, publish });
});

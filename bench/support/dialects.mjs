// @ts-check
// What is sent to capsules over JSON-RPC, in the protocol of each system.

/**
 * @param {string} method
 * @param {unknown} params
 */
export function rpc(method, params) {
  return JSON.stringify({ jsonrpc: '2.0', id: 1, method, params });
}

/**
 * A request as it goes over the wire.
 * @param {{ path?: string, host?: string, headers?: readonly string[] }} head `headers` are whole lines.
 * @param {string} body
 */
export function postBytes({ path = '/', host = '127.0.0.1', headers = [] }, body) {
  return [
    `POST ${path} HTTP/1.1`,
    `Host: ${host}`,
    ...headers,
    'Content-Type: application/json',
    `Content-Length: ${Buffer.byteLength(body)}`,
    '',
    body,
  ].join('\r\n');
}

/**
 * How a capsule is given a task, asked for one, and watched. `watch` is a whole request.
 * @typedef {object} Dialect
 * @property {Readonly<Record<string, string>>} headers Of each request.
 * @property {(message: { messageId: string, parts: readonly { text: string }[] }) => string} send
 * @property {(id: string) => string} get
 * @property {(result: any) => { id: string, status: { state: string } }} taskOf The task in the result of either.
 * @property {string} watch
 */

/** Asks for nothing that was published before: every round counts from its own first frame. @type {Dialect} */
export const svcDialect = {
  headers: {},
  send: (message) => rpc('message/send', { message: { ...message, role: 'user' } }),
  get: (id) => rpc('tasks/get', { id }),
  taskOf: (result) => result,
  watch: postBytes(
    { headers: ['Accept: text/event-stream', 'Last-Event-ID: 18446744073709551615'] },
    rpc('stream/watch', {}),
  ),
};

/** A2A 1.0, with a stream of the session beside it. @type {Dialect} */
export const murmurDialect = {
  headers: { 'A2A-Version': '1.0' },
  send: (message) =>
    rpc('SendMessage', { message: { ...message, role: 'ROLE_USER' }, configuration: { returnImmediately: true } }),
  get: (id) => rpc('GetTask', { id }),
  taskOf: (result) => result.task ?? result,
  watch: postBytes({ headers: ['Accept: text/event-stream', 'A2A-Version: 1.0'] }, rpc('murmur.WatchSession', {})),
};

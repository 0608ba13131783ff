// @ts-check
// Speaks to a referee over a bare connection.
import { connect } from 'node:net';

const closed = 'the referee closed a connection';

/** One kept-alive connection to a referee, on a raw socket: a full HTTP client would be slower than what it measures. */
export class RefereeConnection {
  #socket;
  #port;
  #received = '';
  /** @type {{ resolve: (body: Record<string, string>) => void, reject: (error: Error) => void } | null} */
  #waiting = null;

  /** @param {number} port */
  constructor(port) {
    this.#port = port;
    this.#socket = connect({ port, host: '127.0.0.1', noDelay: true });
    this.#socket.setEncoding('latin1');
    this.#socket.on('data', (chunk) => this.#take(String(chunk)));
    // An error is followed by the close.
    this.#socket.on('error', () => {});
    this.#socket.on('close', () => this.#waiting?.reject(new Error(closed)));
  }

  /**
   * The credential of a new session. An approval is what it was spawned under.
   * @param {{ session_id: string, name: string, version: string }} body
   * @param {string} [approval]
   */
  async register(body, approval) {
    const header = approval === undefined ? '' : `x-svc-spawn-approval: ${approval}\r\n`;
    return (await this.#post('/register', header, body))['credential'] ?? '';
  }

  /**
   * The approval for a child.
   * @param {string} credential
   * @param {{ name: string, version: string }} body
   */
  async spawn(credential, body) {
    return (await this.#post('/spawn', `x-svc-spawn-credential: ${credential}\r\n`, body))['approval'] ?? '';
  }

  /** @param {string} credential */
  async deregister(credential) {
    await this.#post('/deregister', `x-svc-spawn-credential: ${credential}\r\n`, { outcome: 'complete' });
  }

  close() {
    this.#waiting = null;
    this.#socket.destroy();
  }

  /**
   * @param {string} path
   * @param {string} header
   * @param {object} body
   * @returns {Promise<Record<string, string>>}
   */
  #post(path, header, body) {
    const text = JSON.stringify(body);
    return new Promise((resolve, reject) => {
      if (this.#socket.destroyed) throw new Error(closed);
      this.#waiting = { resolve, reject };
      this.#socket.write(
        `POST ${path} HTTP/1.1\r\nHost: 127.0.0.1:${this.#port}\r\nContent-Type: application/json\r\n${header}Content-Length: ${text.length}\r\n\r\n${text}`,
      );
    });
  }

  /** @param {string} chunk */
  #take(chunk) {
    this.#received += chunk;
    const headEnd = this.#received.indexOf('\r\n\r\n');
    if (headEnd < 0) return;
    const length = Number(/\r\ncontent-length: (\d+)/i.exec(this.#received.slice(0, headEnd))?.[1]);
    const body = this.#received.slice(headEnd + 4);
    if (body.length < length) return;
    const waiting = this.#waiting;
    const isOk = this.#received.startsWith('HTTP/1.1 200');
    this.#received = '';
    this.#waiting = null;
    if (isOk && body.length === length) waiting?.resolve(JSON.parse(body));
    else waiting?.reject(new Error(`not what was asked for: ${body}`));
  }
}

const connectionsAtOnce = 16;

/**
 * Does work with some connections of its own: the server closes those that are idle for long.
 * @template T
 * @param {number} port
 * @param {(connections: readonly RefereeConnection[]) => Promise<T>} work
 */
export async function withConnections(port, work) {
  const connections = Array.from({ length: connectionsAtOnce }, () => new RefereeConnection(port));
  try {
    return await work(connections);
  } finally {
    for (const connection of connections) connection.close();
  }
}

/**
 * Runs one loop on each connection until the time is over; how often a turn of it came to its end, in a second. The client must not
 * be what is measured.
 * @param {object} load
 * @param {readonly RefereeConnection[]} load.connections
 * @param {number} load.warmUpMs
 * @param {number} load.measureMs
 * @param {(connection: RefereeConnection, turn: number) => Promise<void>} load.turn `turn` counts up over all connections.
 */
export async function turnsPerSecond({ connections, warmUpMs, measureMs, turn }) {
  let turns = 0;
  let ended = 0;
  const stop = new AbortController();
  const loops = connections.map(async (connection) => {
    while (!stop.signal.aborted) {
      await turn(connection, turns++);
      ended += 1;
    }
  });
  const running = Promise.all(loops);
  const after = (/** @type {number} */ ms) => new Promise((resolve) => setTimeout(resolve, ms));
  await Promise.race([running, after(warmUpMs)]);
  const before = { ended, at: performance.now(), cpu: process.cpuUsage() };
  await Promise.race([running, after(measureMs)]);
  const counted = ended - before.ended;
  const elapsedMs = performance.now() - before.at;
  const { user, system } = process.cpuUsage(before.cpu);
  stop.abort();
  await running;
  const busy = (user + system) / 1000 / elapsedMs;
  if (busy > 0.95) throw new Error(`the client was the bottleneck: busy for ${(busy * 100).toFixed(0)} % of the time`);
  return (counted / elapsedMs) * 1000;
}

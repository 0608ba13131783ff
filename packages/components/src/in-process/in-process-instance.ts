/** Runs the code of a bundled driver in this process, in the place of its component. */

import { toUSVString } from 'node:util';

import type { DriverRequest, DriverResponse } from '@svc/guest/driver.ts';
import type { DriverNote } from '@svc/guest/provider/driver-notes.ts';
import type { DriverCode, DriverPorts, PostRequest, ProviderAnswer } from '@svc/guest/provider/driver-ports.ts';
import { runWaiting } from '@svc/guest/provider/steps.ts';
import { wellFormed, withWellFormedText } from '@svc/guest/text.ts';
import { chunkPieces } from '@svc/protocol/chunk-pieces.ts';
import { ComponentFault, type HostFunctions } from '../component.ts';
import { outputFunction } from '../exchange.ts';
import { hiddenHeads, type ImportMode, type LoggedValue, withoutPlaceholder } from '../import-log.ts';
import type { Instance, InstanceCall } from '../instance.ts';
import { offeredInterface } from '../interface-versions.ts';
import type { ConnectionRules } from '../outbound/outbound-http.ts';
import { ComponentParted } from '../parted.ts';
import { valueSize, ValueTooLarge } from '../value-size.ts';
import { type Answers, liveAnswers, PlayedAnswers, RecordedAnswers } from './answers.ts';
import { LivePorts, type LiveResponse } from './live-ports.ts';

/** In bytes: of an answer some parts are kept as values, which are larger than their text. */
const maxAnswer = 128 * 1024 * 1024;

interface InProcessOptions {
  /** Opens the code of the driver, which keeps what it knows of its conversation to itself. */
  readonly open: () => Promise<DriverCode>;
  readonly outbound: ConnectionRules;
  readonly mode: ImportMode;
  /** The most that may come in answer to one call. */
  readonly maxMemoryBytes: number;
}

/** One opened driver. What it waits for does not hold up this process; what it computes does, and is bounded by what may come in an answer. */
export class InProcessInstance implements Instance {
  readonly #options: InProcessOptions;
  readonly #ports: LivePorts;
  readonly #answers: RecordedAnswers | PlayedAnswers | null;
  #driver: DriverCode | null = null;
  #hasStarted = false;
  #fault: ComponentFault | null = null;
  #reject: ((fault: ComponentFault) => void) | null = null;

  constructor(options: InProcessOptions) {
    const { mode, outbound, maxMemoryBytes } = options;
    this.#options = options;
    this.#ports = new LivePorts(outbound, Math.min(maxMemoryBytes, maxAnswer));
    this.#answers = answersOf(mode);
  }

  get fault(): ComponentFault | null {
    return this.#fault;
  }

  get busy(): boolean {
    return this.#reject !== null;
  }

  async prepare(): Promise<void> {
    try {
      this.#driver = await this.#options.open();
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      this.end(new ComponentFault('unavailable', `the driver cannot be read: ${reason}`));
      throw this.#fault;
    }
  }

  async link(log: string | undefined): Promise<void> {
    if (log !== undefined && this.#answers instanceof PlayedAnswers) this.#answers.load(log);
  }

  async call({ args, host, log, onLog }: InstanceCall): Promise<unknown> {
    const driver = this.#driver;
    if (this.#fault !== null) throw this.#fault;
    if (driver === null) throw new Error('a driver is called before it is prepared');
    if (log !== undefined) await this.link(log);
    this.#ports.begin();
    try {
      return await new Promise((resolve, reject) => {
        this.#reject = reject;
        this.#run(driver, { request: args[0] as DriverRequest, host }).then(resolve, reject);
      });
    } catch (error) {
      if (error instanceof ComponentParted) this.end(new ComponentFault('canceled', 'the driver left its log'));
      if (error instanceof ComponentFault) this.end(error);
      throw error;
    } finally {
      this.#reject = null;
      if (this.#fault === null && this.#answers instanceof RecordedAnswers) {
        const kept = this.#answers.take();
        onLog(kept === null ? null : withoutPlaceholder(kept, this.#options.outbound.grants.credential?.placeholder));
      }
    }
  }

  async #run(driver: DriverCode, { request, host }: { request: DriverRequest; host: HostFunctions }): Promise<unknown> {
    try {
      const answers = this.#answers ?? liveAnswers;
      if (!this.#hasStarted)
        await answers.answer(
          'start',
          () => [],
          () => null,
        );
      this.#hasStarted = true;
      const steps = driver(wellFormedIn(request), this.#portsFor(host, answers));
      const response = wellFormedIn(await runWaiting(steps));
      if (this.#answers instanceof PlayedAnswers) this.#answers.finish();
      valueSize(response);
      return witResponse(response);
    } catch (error) {
      // The host ends the driver with these, as it ends a process.
      if (error instanceof ComponentFault || error instanceof ComponentParted) throw error;
      if (error instanceof ValueTooLarge) {
        const advice = 'inference.max_tokens bounds what a model writes in a turn';
        throw new ComponentFault('trap', new ValueTooLarge('the driver gave an answer', advice).message);
      }
      return { tag: 'err', val: wellFormed(error instanceof Error ? error.message : String(error)) };
    }
  }

  #portsFor(host: HostFunctions, answers: Answers): DriverPorts {
    const tell = (name: string, given: unknown): void => {
      if (this.#fault === null) (host[name] as ((given: unknown) => void) | undefined)?.(given);
    };
    const show = (name: string, text: string): void => {
      for (const piece of chunkPieces(wellFormed(text))) tell(name, piece);
    };
    return {
      emitText: (text) => show(emitChunk, text),
      emitThinking: (text) => show(emitThinkingChunk, text),
      note: (note) => tell(outputFunction, noteLine(note)),
      post: async (request) => await this.#post(request, answers),
      sleep: async (milliseconds) =>
        void (await answers.answer(
          'sleep',
          () => [milliseconds],
          async () => await this.#sleep(milliseconds),
        )),
      now: () =>
        answers.answer(
          'now',
          () => [],
          () => this.#ports.now(),
        ) as number,
    };
  }

  async #sleep(milliseconds: number): Promise<null> {
    await this.#ports.sleep(milliseconds);
    return null;
  }

  async #post(request: PostRequest, answers: Answers): Promise<ProviderAnswer> {
    let live: LiveResponse | null = null;
    const status = await answers.answer(
      'post',
      () => shownRequest(request),
      async () => {
        live = await this.#ports.post(request);
        return live.status;
      },
    );
    const response = live as LiveResponse | null;
    return {
      status,
      header: (name) =>
        answers.answer(
          'header',
          () => [name],
          () => headerOf(response, name),
        ) as string | null,
      read: (patienceMs) =>
        answers.answer(
          'read',
          () => [patienceMs],
          () => response?.read(patienceMs) ?? null,
        ),
      close: () => response?.close(),
    };
  }

  end(fault: ComponentFault): void {
    if (this.#fault !== null) return;
    this.#fault = fault;
    this.#ports.close();
    this.#reject?.(fault);
  }

  async ended(): Promise<void> {}
}

const chunks = offeredInterface('svc:text/chunks');
const emitChunk = `${chunks}#emit-chunk`;
const emitThinkingChunk = `${chunks}#emit-thinking-chunk`;

/** As the guest's, which looks at each character: a request may hold a whole conversation. */
function wellFormedIn<T>(value: T): T {
  return isWellFormed(value) ? value : withWellFormedText(value);
}

function isWellFormed(value: unknown): boolean {
  if (typeof value === 'string') return toUSVString(value) === value;
  return typeof value !== 'object' || value === null || Object.values(value).every((each) => isWellFormed(each));
}

function answersOf(mode: ImportMode): RecordedAnswers | PlayedAnswers | null {
  if (mode.kind === 'live') return null;
  return mode.kind === 'played' ? new PlayedAnswers() : new RecordedAnswers(mode);
}

/** As a component writes it to its standard error. */
function noteLine(note: DriverNote): Uint8Array {
  return Buffer.from(`svc-note: ${JSON.stringify(note)}\n`);
}

/** What a log has of a request, without credentials. */
function shownRequest({ url, headers, body }: PostRequest): readonly LoggedValue[] {
  const parts = typeof body === 'string' ? [body] : body;
  const shown = headers.filter(([name]) => !hiddenHeads.has(name.toLowerCase()));
  return [url, shown, parts.map((part) => (typeof part === 'string' ? part : Buffer.from(part).toString())).join('')];
}

function headerOf(response: LiveResponse | null, wanted: string): string | null {
  const found = response?.headers.find(([name]) => name === wanted);
  return found === undefined ? null : Buffer.from(found[1]).toString();
}

/** The response as a component gives it: 64-bit counts are `bigint`. */
function witResponse({ usage, ...response }: DriverResponse): object {
  if (usage === null) return { ...response, usage };
  const { inputTokens, outputTokens } = usage;
  return { ...response, usage: { inputTokens: BigInt(inputTokens), outputTokens: BigInt(outputTokens) } };
}

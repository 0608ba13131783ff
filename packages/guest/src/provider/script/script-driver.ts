/** Answers in the place of a model with the responses of a script. */

import { anyText, readDriverConfig } from '../driver-config.ts';
import type { DriverRequest, DriverResponse } from '../../driver.ts';
import type { DriverCode, DriverPorts } from '../driver-ports.ts';
import { type Steps, waitFor } from '../steps.ts';
import { readScript, type ScriptedResponse } from './script.ts';

const configKeys = {
  script: anyText,
  /** The content of the file, which the runtime puts beside its name. */
  script_text: anyText,
};

/** Opens a driver that plays scripts. A turn throws an `Error` whose message is one line saying why there is no response. */
export function openDriver(): DriverCode {
  const player = new ScriptPlayer();
  return (request, ports) => player.turn(request, ports);
}

/** Plays scripts. A script is read once and kept as long as its text stays the same. */
class ScriptPlayer {
  #text: string | null = null;
  #responses: readonly ScriptedResponse[] = [];

  /** The next response for this task. Which one is next travels in the continuation id, which a task starts without. */
  *turn(request: DriverRequest, ports: DriverPorts): Steps<DriverResponse> {
    const { name, responses: all } = this.#load(request.config);
    const task = taskOf(request);
    const responses = all.filter(({ when }) => when === null || task.includes(when));
    const turn = turnOf(request.continuationId);
    const response = responses[turn];
    if (response === undefined) {
      throw new Error(
        `script ${name} is past its end: it has ${count(responses.length)}${all.length === responses.length ? '' : ' for this task'}, and this is turn ${turn + 1}`,
      );
    }
    yield* play(response, ports);
    const { content, stopReason, usage, continuationId } = response;
    const next = continuationId === null ? `${turn + 1}` : `${turn + 1} ${continuationId}`;
    return { content, stopReason, usage, continuationId: next };
  }

  #load(configText: string): { readonly name: string; readonly responses: readonly ScriptedResponse[] } {
    const config = readDriverConfig(configText, configKeys);
    if (config.script === undefined) throw new Error('inference.driver.config.script is missing');
    if (config.script_text === undefined) throw new Error(`the runtime did not hand over script ${config.script}`);
    if (config.script_text !== this.#text) {
      this.#responses = readScript(config.script_text, config.script);
      this.#text = config.script_text;
    }
    return { name: config.script, responses: this.#responses };
  }
}

function* play({ delayMs, thinking, chunks }: ScriptedResponse, ports: DriverPorts): Steps<void> {
  if (delayMs > 0) yield* waitFor(() => ports.sleep(delayMs));
  for (const text of thinking) ports.emitThinking(text);
  for (const text of chunks) ports.emitText(text);
}

/** What the user said last: the answers of tools have messages of their own. */
function taskOf({ messages }: DriverRequest): string {
  const said = messages.findLast(({ tag }) => tag === 'user');
  if (said?.tag !== 'user') return '';
  return said.val.flatMap((block) => (block.tag === 'text' ? [block.val] : [])).join('\n');
}

function turnOf(continuationId: string | null): number {
  if (continuationId === null) return 0;
  const index = /^(\d{1,9})( |$)/.exec(continuationId)?.[1];
  if (index === undefined)
    throw new Error(`continuation id ${JSON.stringify(continuationId)} is not one of this driver`);
  return Number(index);
}

function count(responses: number): string {
  return responses === 1 ? '1 response' : `${responses} responses`;
}

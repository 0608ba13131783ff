/** Leaves out the tools that a provider refuses by name or by number, so that it takes the others. */

import type { DriverRequest, ToolDefinition } from '../driver.ts';
import type { RequestFailure } from '../request-failure.ts';
import type { DriverPorts } from './driver-ports.ts';
import type { ToolNames } from './tool-names.ts';

/** Each costs a request that the provider refuses. */
const maxRefusals = 8;
/** A note is a line of at most 1 KiB. */
const maxReason = 160;
const maxKnown = 256;

/** Tools that a provider has refused, so that the next turn leaves them out at once. */
export class RefusedTools {
  readonly #known = new Set<string>();

  /** The tools of a request; `names` are those that the provider is told. */
  offered(request: DriverRequest, names: ToolNames): OfferedTools {
    return new OfferedTools(request, names, this.#known);
  }
}

/** The tools of one request to a provider, without those that it refuses. */
export class OfferedTools {
  readonly #request: DriverRequest;
  readonly #names: ToolNames;
  readonly #known: Set<string>;
  #refusals = 0;
  tools: readonly ToolDefinition[];

  constructor(request: DriverRequest, names: ToolNames, known: Set<string>) {
    this.#request = request;
    this.#names = names;
    this.#known = known;
    this.tools = known.size === 0 ? request.tools : request.tools.filter((tool) => !known.has(this.#keyOf(tool)));
  }

  /** Leaves out what a failure names, and notes it. Returns false where it names no tool that was offered, and after 8 failures. */
  leaveOut(failure: RequestFailure, ports: Pick<DriverPorts, 'note'>): boolean {
    const isRefusal = failure.status === 400 || failure.status === 422;
    const refused = isRefusal && this.#refusals < maxRefusals ? this.#namedIn(failure.message) : [];
    if (refused.length === 0) return false;
    this.#refusals += 1;
    if (this.#known.size + refused.length > maxKnown) this.#known.clear();
    for (const tool of refused) {
      this.#known.add(this.#keyOf(tool));
      ports.note({ left_out: { tool: tool.name, reason: failure.message.slice(0, maxReason) } });
    }
    this.tools = this.tools.filter((tool) => !refused.includes(tool));
    return true;
  }

  #namedIn(words: string): readonly ToolDefinition[] {
    const numbers = new Set([...words.matchAll(numbered)].map((found) => Number(found[1] ?? found[2] ?? found[3])));
    if (numbers.size > 0) return this.tools.filter((_, index) => numbers.has(index));
    if (aboutCalls.test(words)) return [];
    const [, name = ''] = named.exec(words) ?? [];
    return this.tools.filter((tool) => this.#names.toProvider(tool.name) === name);
  }

  #keyOf({ name, description, inputSchema }: ToolDefinition): string {
    return JSON.stringify([this.#request.endpoint, this.#request.model, name, description, inputSchema]);
  }
}

/** Makers count from 0: `tools.3.custom.input_schema`, `tools[3].function`, `tools[0].function_declarations[3]`, `3.function.parameters`. */
const numbered =
  /\btools\[0\]\.function_?declarations\[(\d{1,4})\]|\btools(?:\.(?=\d+\b(?!\.member))|\[)(\d{1,4})\b|(?:^|[\s:;])(\d{1,4})\.function\./gi;
/** Right behind the word, for what follows may name properties of the schema. */
const named = /\b(?:function|tool)(?: named?)?:? ?["'`“]([^"'`“”]{1,64})["'`”]/i;
/** A call that the model made is refused in similar words. */
const aboutCalls = /\b(?:tool|function)[ _](?:call|use|result|choice)|\bcall(?:s|ed|ing)?\b|\bmessages?\b/i;

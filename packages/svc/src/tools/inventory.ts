/** Holds every tool that the model of a session can call. */

import type { Clock } from '@svc/kit/clock.ts';
import { Diagnostic, DiagnosticList } from '@svc/kit/diagnostics/diagnostic.ts';
import { ArgumentCheck } from './argument-check.ts';
import {
  type CallableTool,
  dispatchCall,
  type DispatchContext,
  type DispatchedCall,
  type RequestedCall,
} from './dispatch.ts';
import type { OtherTools, Tool, ToolDeclaration } from './tool.ts';

/** Names that belong to the runtime, whether or not it offers the tool in this session. */
const runtimeToolNames: ReadonlySet<string> = new Set([
  'delegate-task',
  'share-file',
  'fetch-peer-file',
  'submit-plan',
]);

/** Each warm component is a thread that holds some 20 MB. */
const mostWarmed = 4;

/** Everything the model of a session can call, by name. */
export class Inventory {
  /** What the model is told of the tools, in the order of their names. */
  readonly definitions: readonly Omit<ToolDeclaration, 'kind'>[];
  readonly names: readonly string[];
  /** In the order of their names. */
  readonly tools: readonly Tool[];
  readonly #tools: ReadonlyMap<string, CallableTool>;
  readonly #clock: Pick<Clock, 'monotonicMs'>;
  #warmed = false;

  /** Throws when two tools share a name or one takes a name of the runtime (`E-CAP-014`, `E-CAP-013`). */
  constructor(tools: readonly Tool[], clock: Pick<Clock, 'monotonicMs'>) {
    const problems = nameProblems(tools);
    if (problems.length > 0) throw new DiagnosticList(problems);
    const sorted = [...tools].sort((a, b) => (a.name < b.name ? -1 : 1));
    this.tools = sorted;
    this.names = sorted.map(({ name }) => name);
    this.definitions = sorted.map(({ name, description, inputSchema }) => ({ name, description, inputSchema }));
    this.#tools = new Map(
      sorted.map((tool) => [tool.name, { tool, argumentCheck: new ArgumentCheck(tool.inputSchema) }]),
    );
    this.#clock = clock;
  }

  /** Makes the first tools ready while the model is still thinking: a component that starts then is waited for by nobody. */
  warm(): void {
    if (this.#warmed) return;
    this.#warmed = true;
    for (const { tool, argumentCheck } of [...this.#tools.values()].slice(0, mostWarmed)) {
      tool.warm?.();
      argumentCheck.warm();
    }
  }

  /** Carries out one call of the model; unknown names and unfit arguments come back as results. */
  dispatch(call: RequestedCall, context: DispatchContext): Promise<DispatchedCall> {
    const find = (name: string): CallableTool | undefined => this.#tools.get(name);
    const toolsFor = (calling: DispatchContext): OtherTools => ({
      kindOf: (name) => find(name)?.tool.kind,
      dispatch: (inner, step) => this.dispatch(inner, { ...calling, place: `${calling.place}/s${step}` }),
    });
    return dispatchCall(call, context, { find, names: this.names, clock: this.#clock, toolsFor });
  }
}

function nameProblems(tools: readonly Tool[]): Diagnostic[] {
  const problems: Diagnostic[] = [];
  const seen = new Map<string, Tool>();
  for (const tool of tools) {
    const other = seen.get(tool.name);
    if (tool.kind !== 'runtime' && runtimeToolNames.has(tool.name)) {
      problems.push(new Diagnostic('E-CAP-013', `${described(tool)} takes the name of a runtime tool`));
    } else if (other !== undefined) {
      problems.push(new Diagnostic('E-CAP-014', `${described(other)} and ${described(tool)} share one name`));
    }
    seen.set(tool.name, tool);
  }
  return problems;
}

function described({ kind, name, artifact }: Tool): string {
  if (artifact !== undefined) return `the tool ${name} of the artifact ${artifact}`;
  if (kind === 'shell') return `the shell command ${name}`;
  return kind === 'runtime' ? `the runtime tool ${name}` : `the artifact ${name}`;
}

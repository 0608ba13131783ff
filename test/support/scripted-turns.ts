/** One tool call of a scripted turn: its id, the tool and the arguments. */
export type ScriptedCall = readonly [id: string, name: string, input: unknown];

/** The turns of a script, as JSON, which is YAML. */
export function script(...turns: readonly object[]): string {
  return JSON.stringify(turns);
}

/** A turn that calls tools in order; `extra` may hold `chunks`, `thinking` and other keys of a turn. */
export function calls(made: readonly ScriptedCall[], extra: object = {}): object {
  const content = made.map(([id, name, input]) => ({ type: 'tool_call', id, name, input }));
  return { content, stop_reason: 'tool_call', ...extra };
}

/** A turn that ends the task. */
export function says(text: string, extra: object = {}): object {
  return { content: [{ type: 'text', text }], stop_reason: 'end_turn', ...extra };
}

/** A turn that asks with the bundled tool. */
export function asks(prompt: string, id = 'ask_1'): object {
  return calls([[id, 'svc-tool-request-input', { prompt }]]);
}

/** A turn that runs a command with sh. */
export function runs(command: string): object {
  return calls([['run_1', 'sh', { command }]]);
}

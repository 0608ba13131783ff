/** What a tool is asked and what it answers: the types of `svc:tool/run@0.1.0` as a component sees them. */

import { wellFormed } from './text.ts';

export interface ToolInput {
  /** The arguments as JSON text. They have passed the `input_schema` of svc.yaml. */
  readonly arguments: string;
  /** The id that the model gave the call; null when it gave none. */
  readonly callId: string | null;
}

export interface ToolOutput {
  readonly status: 'passed' | 'failed';
  /** What the model receives. */
  readonly content: string;
  /** True when `content` is not the whole result. */
  readonly truncated: boolean;
}

/** The answer of a call that did what was asked. Half characters in `content` are replaced. */
export function passed(content: string, truncated = false): ToolOutput {
  return { status: 'passed', content: wellFormed(content), truncated };
}

/** The answer of a call that did not do what was asked: the model reads `content` and goes on. Half characters are replaced. */
export function failed(content: string): ToolOutput {
  return { status: 'failed', content: wellFormed(content), truncated: false };
}

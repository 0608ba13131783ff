import { wellFormed } from './well-formed.ts';

/** The types of `svc:tool/run@0.1.0` as a guest sees them. */

export interface ToolInput {
  /** The arguments as JSON text. */
  readonly arguments: string;
  readonly callId: string | null;
}

export interface ToolOutput {
  readonly status: 'passed' | 'failed';
  readonly content: string;
  /** True when `content` is not the whole result. */
  readonly truncated: boolean;
}

export function passed(content: string, truncated = false): ToolOutput {
  return { status: 'passed', content: wellFormed(content), truncated };
}

export function failed(content: string): ToolOutput {
  return { status: 'failed', content: wellFormed(content), truncated: false };
}

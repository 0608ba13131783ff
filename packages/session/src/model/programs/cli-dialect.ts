/** What `svc` has to know of a coding program to drive it. */

import type { InferenceResponse } from '../driver.ts';

/** What one run of a program is to do. */
export interface CliRequest {
  /** Empty where the manifest names none: the program's own choice then. */
  readonly model: string;
  readonly system: string;
  readonly prompt: string;
  /** `inference.max_turns`. */
  readonly maxTurns: number;
  readonly maxTokens: number;
  /** The program's own id of a conversation that goes on; null for a new one. */
  readonly resume: string | null;
  /** Where the program finds the capsule's tools; null when the capsule has no tools. */
  readonly toolsUrl: string | null;
  /** The variable that holds the bearer token for them: the token itself stands on no command line. */
  readonly tokenVariable: string;
}

/** How to run a program. */
export interface CliStart {
  /** Behind what the manifest gives the program itself. */
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** Written to it, and closed. */
  readonly stdin: string;
}

/** What a line of a program means for the inference. */
export type CliEvent =
  | { readonly kind: 'text' | 'thinking'; readonly text: string }
  /** The end of the run, good or bad. */
  | { readonly kind: 'response'; readonly response: InferenceResponse }
  /** The program cannot go on, or wrote what is not of its dialect. */
  | { readonly kind: 'failed'; readonly error: string };

/** Reads the lines of one run. */
export interface CliDecoder {
  /** The events of one parsed line; none for a line of an unknown type. */
  decode(value: unknown): readonly CliEvent[];
  /** The program's own words for why there is no response, when the output is over without one. */
  lastError(): string | null;
}

/** The way one program wants to be asked and answers (docs/drivers.md "claude and codex"). */
export interface CliDialect {
  /** The variable in which the program expects the key of its provider. */
  readonly keyVariable: string;
  /** Other variables with which a user may have signed in. */
  readonly loginVariables: readonly string[];
  /** Whether the program stops by itself after `inference.max_turns`; the calls of another are counted. */
  readonly boundsTurns: boolean;
  start(request: CliRequest): CliStart;
  decoder(): CliDecoder;
}

/** The name of the tool server, as programs show it to the model. */
export const serverName = 'svc';

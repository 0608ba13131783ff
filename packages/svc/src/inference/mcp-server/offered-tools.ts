import type { ToolAnswer, ToolDefinition } from '../driver.ts';

/** What one inference offers to the program that carries it out. */
export interface OfferedTools {
  readonly definitions: readonly ToolDefinition[];
  /** Carries out one call. What it rejects with reaches the program as a failure without details. */
  call(request: OfferedCall): Promise<ToolAnswer>;
}

export interface OfferedCall {
  readonly name: string;
  readonly input: unknown;
}

/** A command that a person types to a capsule: the params of `tasks/command`. */

import { isJsonObject, type JsonObject } from './json-object.ts';
import { contextIdProblem } from './message.ts';

export interface TypedCommand {
  /** A line for the shell of the capsule; half a character, which no program takes, is U+FFFD. */
  readonly command: string;
  /** Whether the conversation of the context gets what the command gave. */
  readonly isTold: boolean;
  readonly contextId?: string;
}

export type ParsedCommand =
  | { readonly kind: 'command'; readonly typed: TypedCommand }
  /** `problem` names the field. */
  | { readonly kind: 'invalid'; readonly problem: string };

export function encodeCommand({ command, isTold: told, contextId }: TypedCommand): JsonObject {
  return contextId === undefined ? { command, told } : { command, told, contextId };
}

/** Unknown keys are ignored. */
export function parseCommand(params: unknown): ParsedCommand {
  if (!isJsonObject(params)) return { kind: 'invalid', problem: 'params must be an object' };
  const { command, told, contextId } = params;
  if (typeof command !== 'string') return { kind: 'invalid', problem: 'command must be a string' };
  if (command.trim() === '') return { kind: 'invalid', problem: 'command must not be empty' };
  if (typeof told !== 'boolean') return { kind: 'invalid', problem: 'told must be true or false' };
  const problem = contextIdProblem(contextId);
  if (problem !== undefined) return { kind: 'invalid', problem: `contextId ${problem}` };
  const typed = { command: command.toWellFormed(), isTold: told };
  return { kind: 'command', typed: typeof contextId === 'string' ? { ...typed, contextId } : typed };
}

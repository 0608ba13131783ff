/** A question that a task asks a person: its name, what is asked, and an answer to it, the params of `tasks/answer`. */

import type { AskedApproval } from './approval.ts';
import { isJsonObject, type JsonObject } from './json-object.ts';

/** Names one question. */
export interface QuestionName {
  readonly taskId: string;
  /** `q` and a number that counts the questions of the task from 1. */
  readonly waitId: string;
}

/** A question that waits for its answer. */
export interface Question extends QuestionName {
  readonly prompt: string;
  /** There for a call that waits for approval: no text answers it. */
  readonly approval?: AskedApproval;
}

export interface QuestionAnswer extends QuestionName {
  /** Half a character, which no file and no provider takes, is U+FFFD. */
  readonly text: string;
}

export type ParsedAnswer =
  | { readonly kind: 'answer'; readonly answer: QuestionAnswer }
  /** `problem` names the field. */
  | { readonly kind: 'invalid'; readonly problem: string };

export function encodeAnswer({ taskId: id, waitId: wait, text }: QuestionAnswer): JsonObject {
  return { id, wait, text };
}

/** Unknown keys are ignored. */
export function parseAnswer(params: unknown): ParsedAnswer {
  if (!isJsonObject(params)) return { kind: 'invalid', problem: 'params must be an object' };
  const { id, wait, text } = params;
  if (typeof id !== 'string') return { kind: 'invalid', problem: 'id must be a string' };
  if (typeof wait !== 'string') return { kind: 'invalid', problem: 'wait must be a string' };
  if (typeof text !== 'string') return { kind: 'invalid', problem: 'text must be a string' };
  return { kind: 'answer', answer: { taskId: id, waitId: wait, text: text.toWellFormed() } };
}

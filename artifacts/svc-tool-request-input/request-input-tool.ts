/** Asks the user a question of the model, and gives back the answer. */

import { failed, passed, type ToolOutput } from '@svc/guest/tool.ts';
import { isObject, parseJson, textIn } from '@svc/guest/json.ts';

export type Ask = (prompt: string) => { readonly answer: string } | { readonly refusal: string };

/** Asks the question of a call's arguments; the content is the answer, or the reason why nobody gave one. */
export function answer(argumentsText: string, ask: Ask): ToolOutput {
  const args = parseJson(argumentsText);
  const prompt = isObject(args) ? textIn(args, 'prompt') : '';
  if (prompt.trim() === '') return failed('prompt is missing or empty');
  const reply = ask(prompt);
  return 'answer' in reply ? passed(reply.answer) : failed(reply.refusal);
}

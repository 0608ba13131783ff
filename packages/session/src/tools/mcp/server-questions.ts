/** Puts the questions of an MCP server to the sender of the task. */

import { printable, quoted, shortened } from '@svc/kit/diagnostics/printable.ts';
import { asJsonObject, type JsonObject } from '@svc/protocol/json-object.ts';
import type { InputAnswer } from '../tool.ts';

/** Forms that one call may put, and fields that one form may have. */
const [maxForms, maxFields] = [4, 8];
const maxChoices = 50;
const maxWords = 2000;
const maxName = 100;
const maxTries = 3;

type Value = string | number | boolean | string[];

/** The result of `elicitation/create`. `cancel` says that nobody answered. */
export type FormAnswer =
  | { readonly action: 'accept'; readonly content: Record<string, Value> }
  | { readonly action: 'decline' | 'cancel' };

/** What a server did that ends the call which it asks for. The message is a clause after its name. */
export class AskedTooMuch extends Error {}

/** A choice, by the value that the server gets and the word that a person sees. */
interface Choice {
  readonly value: string;
  readonly title: string;
}

/** The questions of one call. */
export class CallQuestions {
  readonly #server: string;
  readonly #ask: (prompt: string) => Promise<InputAnswer>;
  #forms = 0;

  /** `ask` puts one question and waits for its answer. */
  constructor(server: string, ask: (prompt: string) => Promise<InputAnswer>) {
    this.#server = server;
    this.#ask = ask;
  }

  /**
   * Asks for each field of a form in its order (MCP 2025-11-25 and 2026-07-28, "Elicitation"). An empty answer declines the form, and so does a third
   * one that does not fit its field. Rejects with `AskedTooMuch` for more forms, fields or choices than may be.
   */
  async form({ message, requestedSchema }: JsonObject): Promise<FormAnswer> {
    this.#forms += 1;
    if (this.#forms > maxForms) throw new AskedTooMuch(`asked more than ${maxForms} questions in one call`);
    const schema = asJsonObject(requestedSchema);
    const fields = Object.entries(asJsonObject(schema?.['properties']) ?? {});
    if (fields.length > maxFields) throw new AskedTooMuch(`asked for more than ${maxFields} fields in one question`);
    const words = `the server of ${this.#server} asks: ${inert(String(message), maxWords)}`;
    if (fields.length === 0) return await this.#confirmed(words);
    const content: [string, Value][] = [];
    for (const [name, field] of fields) {
      const answer = await this.#field(words, name, asJsonObject(field) ?? {});
      if (typeof answer === 'object' && 'action' in answer) return answer;
      content.push([name, answer]);
    }
    return { action: 'accept', content: Object.fromEntries(content) };
  }

  async #confirmed(words: string): Promise<FormAnswer> {
    const prompt = `${words}\n${warning}\nAnswer yes to agree; an empty answer declines.`;
    const answer = await this.#ask(prompt);
    if (answer.kind === 'timed-out') return { action: 'cancel' };
    return booleanOf(answer.text.trim()) === true ? { action: 'accept', content: {} } : { action: 'decline' };
  }

  async #field(
    words: string,
    name: string,
    field: JsonObject,
  ): Promise<Value | Exclude<FormAnswer, { content: object }>> {
    const choices = choicesOf(field);
    if (choices !== null && choices.length > maxChoices) {
      throw new AskedTooMuch(`gave more than ${maxChoices} choices in one question`);
    }
    const wanted = wantedOf(field, choices);
    let fault = '';
    for (let tries = 0; tries < maxTries; tries += 1) {
      const prompt = [words, warning, `${fault}${titleOf(name, field)}: ${wanted}; an empty answer declines.`].join(
        '\n',
      );
      const answer = await this.#ask(prompt);
      if (answer.kind === 'timed-out') return { action: 'cancel' };
      const text = answer.text.trim();
      if (text === '') return { action: 'decline' };
      const value = valueOf(text, field, choices);
      if (value !== null) return value;
      fault = `${quoted(shortened(text, maxName))} does not fit. `;
    }
    return { action: 'decline' };
  }
}

const warning = 'Give no password or key here.';

function inert(text: string, most: number): string {
  return printable(shortened(text.trim(), most));
}

function titleOf(name: string, { title, description }: JsonObject): string {
  const shown = inert(typeof title === 'string' && title.trim() !== '' ? title : name, maxName);
  return typeof description === 'string' ? `${shown} (${inert(description, maxWords)})` : shown;
}

function wantedOf({ type }: JsonObject, choices: readonly Choice[] | null): string {
  if (choices !== null) {
    const listed = choices.map(({ title }) => inert(title, maxName)).join(', ');
    return type === 'array' ? `any of ${listed}, with commas between them` : `one of ${listed}`;
  }
  if (type === 'boolean') return 'yes or no';
  if (type === 'integer') return 'a whole number';
  return type === 'number' ? 'a number' : 'a text';
}

/** Returns null if a field is free. A list of choices may stand in `items`, and its words beside or within it. */
function choicesOf(field: JsonObject): readonly Choice[] | null {
  const holder = field['type'] === 'array' ? (asJsonObject(field['items']) ?? {}) : field;
  const titled = holder['oneOf'] ?? holder['anyOf'];
  if (Array.isArray(titled)) {
    return titled.flatMap((each: unknown) => {
      const { const: value, title = value } = asJsonObject(each) ?? {};
      return typeof value === 'string' && typeof title === 'string' ? [{ value, title }] : [];
    });
  }
  const { enum: values } = holder;
  if (!Array.isArray(values)) return null;
  const names: readonly unknown[] = Array.isArray(holder['enumNames']) ? holder['enumNames'] : [];
  return values.flatMap((value: unknown, at) => {
    const title = names[at];
    return typeof value === 'string' ? [{ value, title: typeof title === 'string' ? title : value }] : [];
  });
}

/** Returns null if a text does not fit. */
function valueOf(text: string, field: JsonObject, choices: readonly Choice[] | null): Value | null {
  const { type } = field;
  if (choices !== null) {
    if (type !== 'array') return chosen(text, choices);
    const values = text.split(',').map((each) => chosen(each.trim(), choices));
    return values.every((value) => value !== null) && fits(values.length, field, ['minItems', 'maxItems'])
      ? values
      : null;
  }
  if (type === 'boolean') return booleanOf(text);
  if (type === 'integer' || type === 'number') {
    const number = /^[-+]?\d{1,15}(?:\.\d{1,15})?$/.test(text) ? Number(text) : null;
    if (number === null || (type === 'integer' && !Number.isInteger(number))) return null;
    return fits(number, field, ['minimum', 'maximum']) ? number : null;
  }
  return type === 'string' && fits(Array.from(text).length, field, ['minLength', 'maxLength']) ? text : null;
}

function chosen(text: string, choices: readonly Choice[]): string | null {
  const found =
    choices.find(({ value, title }) => text === value || text === title) ??
    choices.find(({ title }) => text.toLowerCase() === title.toLowerCase());
  return found?.value ?? null;
}

function booleanOf(text: string): boolean | null {
  if (/^(?:y|yes|true)$/i.test(text)) return true;
  return /^(?:n|no|false)$/i.test(text) ? false : null;
}

function fits(size: number, field: JsonObject, [least, most]: readonly [string, string]): boolean {
  const [low, high] = [field[least], field[most]];
  return !(typeof low === 'number' && size < low) && !(typeof high === 'number' && size > high);
}

/** Goes on with another model: the session ends, and the next one begins with its conversation. */

import type { CommandContext } from '@svc/terminal/screen/command-context.ts';
import { say } from '@svc/terminal/screen/shown.ts';
import { askOllama } from '../run/first-minute/ask-ollama.ts';
import { chooseModel } from '../run/first-minute/choose-model.ts';
import { strangerAt } from '../run/first-minute/listener-owner.ts';
import type { ChatOptions } from './chat-options.ts';
import type { ChatSession } from './chat-session.ts';

/** A chat that is to go on with another model: its session has ended. */
export interface ChangedModel {
  readonly session: string;
  readonly model: string;
}

interface ModelOfChat {
  readonly chat: ChatSession;
  readonly context: CommandContext;
  /** Whether the capsule was started for this chat, and without a manifest. */
  readonly isOwnTask: boolean;
}

/** Ends the chat with `again` where the model can be asked. Throws `E-MAN-004` where it cannot, as `svc --model` does. */
export class ModelChange {
  readonly #of: ModelOfChat;
  #model: string | null = null;

  constructor(of: ModelOfChat) {
    this.#of = of;
  }

  readonly to = async (name: string): Promise<void> => {
    const { chat, context, isOwnTask } = this.#of;
    if (!isOwnTask)
      return chat.say(say`the manifest of the capsule says which model answers, or whoever started it: it stays\n`);
    const { model } = await chooseModel({
      flag: name,
      env: context.env,
      askOllama,
      strangerAt: (address) => strangerAt(address, process.getuid?.() ?? -1),
    });
    this.#model = name;
    chat.say(say`- goes on with ${model}\n`);
    chat.end('again');
  };

  /** What the chat goes on with, once it has ended with `again`. */
  of(session: string): ChangedModel {
    if (this.#model === null) throw new Error('no model was chosen');
    return { session, model: this.#model };
  }
}

/** The flags of the chat that goes on. A key that was named for the server of the model before goes to no other. */
export function withModel(
  { keyEnv: _key, insecureHttp: _insecure, context: _context, ...options }: ChatOptions,
  model: string,
): ChatOptions {
  return { ...options, model };
}

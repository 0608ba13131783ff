/** Puts what a command of a person gave into a conversation. */

import type { Message } from '../model/driver.ts';

const told = '[I have run this command myself, and tell you what it gave.]';
const heard = '[I have read it.]';

/** As the user says it, behind `before`, and what the assistant answers: providers want an answer before the next message. `content` is fenced. */
export function toldMessages(before: string, content: string): readonly Message[] {
  return [
    { role: 'user', content: [{ type: 'text', text: `${before}${told}\n\n${content}` }] },
    { role: 'assistant', content: [{ type: 'text', text: heard }] },
  ];
}

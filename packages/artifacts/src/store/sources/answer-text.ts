/** Reads what a registry or GitHub says about a refusal. */

import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import { printable } from '@svc/kit/diagnostics/printable.ts';
import type { Secret } from '@svc/kit/diagnostics/secret.ts';
import { parseJson } from '@svc/protocol/json-object.ts';
import { decodeRefusal } from '@svc/protocol/refusal.ts';
import type { HttpAnswer } from '@svc/kit/net/http-client.ts';

const maxErrorBytes = 64 * 1024;
const longestShown = 300;

/** What a refusal says. */
export interface ErrorText {
  /** `error` of its JSON body as it came; empty when there is none. */
  readonly error: string;
  /** `error` and `message` as a person is shown them, behind a colon; empty when it says nothing. */
  readonly shown: string;
}

/** Reads the body of a refusal. Never fails: the status counts, whatever comes after it. The key is not shown, should it be echoed. */
export async function readErrorText(answer: HttpAnswer, key: Secret | null): Promise<ErrorText> {
  const { error, message } = decodeRefusal(parseJson((await textOf(answer)) ?? '')) ?? { error: null, message: null };
  const both = [error ?? '', message ?? ''].filter((text) => text !== '').join('. ');
  const safe = key === null ? both : both.replaceAll(key.reveal(), '[secret]');
  return { error: error ?? '', shown: safe === '' ? '' : `: ${printable(safe.slice(0, longestShown))}` };
}

async function textOf(answer: HttpAnswer): Promise<string | null> {
  try {
    return await answer.text(maxErrorBytes);
  } catch (error) {
    if (error instanceof Diagnostic) return null;
    throw error;
  }
}

/** Names the reason of a provider's failure that lasts: whoever sends the same request again has the same answer. */

/** What is wrong: the account, the length of the conversation, the key, the model's name, or the request. */
export type LastingReason = 'quota' | 'context' | 'key' | 'model' | 'request';

const length =
  /context[ _-]?(?:length|window|size|limit)|exceed_context|maximum (?:context|(?:prompt|input|model) length)|(?:input|prompt) token count\b.{0,30} exceeds|range of input length|max message tokens|(?:prompt|input|request|conversation) (?:is )?too (?:long|large)|too many (?:input |prompt )?tokens|tokens must be reduced|reduce (?:the length|your (?:message|prompt))/i;
const account =
  /\bquota\b|insufficient[ _](?:quota|balance|credits?|funds)|(?:^|[^a-z])billing|(?:no|out of|more|add \d+) credits|payment[ _]required|(?:spending|usage|credit) limit|balance is too low/i;
/** A limit that opens again at midnight, or a month later. */
const farOff = /[ _-]per[ _-](?:day|month)\b/i;
/** Limits of a minute are said in the same words. */
const soon = /per[ _-]?(?:minute|min|second)\b|(?:retry|try again) (?:in|after) \d/i;
const key = /(?:invalid|incorrect|missing)[ _](?:x-)?api[ _-]?key|authentication_error|unauthorized/i;
const model = /model_not_found|model [^ ]{1,100} (?:does not exist|not found)|no such model|unknown model/i;
/** Names of kinds of errors, none of them a word that a message would hold by chance. */
const request =
  /invalid_request|invalid_argument|invalid_parameter|bad_?request|badrequesterror|permission_(?:error|denied)|not_found_error|request_too_large|unprocessable|validation_error|extra_forbidden|tool_use_failed|unsupported_(?:parameter|value)/i;

/** The reason that the words of a provider name, or the name of its kind of error; null for one that may pass, and for none. */
export function lastingReason(words: string): LastingReason | null {
  if (length.test(words)) return 'context';
  if (farOff.test(words)) return 'quota';
  if (account.test(words)) return soon.test(words) ? null : 'quota';
  if (key.test(words)) return 'key';
  if (model.test(words)) return 'model';
  return request.test(words) ? 'request' : null;
}

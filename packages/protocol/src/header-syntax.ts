/** What the head of an HTTP message can carry. */

const token = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
const fieldValue = /^[\t\x20-\x7e\x80-\xff]*$/;

/** Whether a text is a token, as the name of a header and a method are (RFC 9110 §5.6.2). */
export function isHttpToken(text: string): boolean {
  return token.test(text);
}

/**
 * Whether a text can be the value of a header: each character stands for the one byte as which it is written. Blanks at its ends count as part of it
 * (RFC 9110 §5.5). A line break would end the header, and what came behind it would be one of its own.
 */
export function isHeaderValue(text: string): boolean {
  return fieldValue.test(text);
}

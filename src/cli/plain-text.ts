// What ECMA-48 calls a control sequence, a control string with its terminator, and the short sequences. Each part is one run of
// characters, so that no text of any length makes the search slow or deep.
const controlSequence = '(?:\u001B\\[|\u009B)[0-?]*[ -/]*[@-~]';
const controlString =
  '(?:\u001B[\\]PX^_]|[\u0090\u0098\u009D-\u009F])[^\u0007\u001B\u009C]*(?:\u0007|\u001B\\\\|\u009C)';
const shortSequence = '\u001B[ -/]*[0-~]';
const escapeSequence = new RegExp([controlSequence, controlString, shortSequence].join('|'), 'g');

/** Marks that turn the direction of a text around, so that it reads as something else. */
const directionMarks = /[\u202A-\u202E\u2066-\u2069]/g;

/** Text of others for a terminal, without escape sequences, marks of direction and controls but tab and line feed. */
export function plainText(text: string): string {
  return text
    .replaceAll(escapeSequence, '')
    .replaceAll(directionMarks, '')
    .replaceAll(/(?![\t\n])\p{Cc}/gu, '');
}

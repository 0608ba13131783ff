import { stripVTControlCharacters } from 'node:util';

/** Text of others for a terminal, without escape sequences and controls but tab and line feed. */
export function plainText(text: string): string {
  return stripVTControlCharacters(text).replaceAll(/(?![\t\n])\p{Cc}/gu, '');
}

const markerWord = 'untrustedcontent';
const broken = '[broken]';

interface Patterns {
  /** Everything a reader may take for the opening bracket of a marker. */
  readonly opener: RegExp;
  /** What may stand between the letters of a marker without a reader noticing: blanks, controls, marks, dashes. */
  readonly passedOver: RegExp;
  readonly slash: RegExp;
  /** Letters that look like the marker's, beside what compatibility decomposition already folds. */
  readonly lookAlikes: ReadonlyMap<string, string>;
}

let made: Patterns | undefined;

/** Made when something is first fenced: the character classes take their time, and a start fences nothing. */
function patterns(): Patterns {
  // Written in ASCII, as all of the start file is: it is read byte by byte.
  made ??= {
    opener:
      /[<\u{226e}\u{ff1c}\u{fe64}\u{2039}\u{ab}\u{226a}\u{3008}\u{27e8}\u{2329}\u{2c2}\u{1438}\u{276e}]|&(?:lt|#0*60|#x0*3c);?/giu,
    passedOver: /^[\s\p{Z}\p{C}\p{M}\p{Default_Ignorable_Code_Point}\p{Pd}_\u{2212}\u{2d7}\u{2043}~.]$/u,
    slash: /^[/\\\u{2044}\u{2215}\u{29f8}\u{2571}\u{27cb}|]$/u,
    lookAlikes: new Map(
      Object.entries({
        u: 'υսᴜμ',
        n: 'пηνոɴռ',
        t: 'тτᴛ',
        r: 'гʀꭇᴦ',
        s: 'ѕꜱ5$ʂ',
        e: 'еεᴇ3єҽ',
        d: 'ԁᴅɗ',
        c: 'сϲᴄ',
        o: 'оοօᴏ0σ',
      }).flatMap(([letter, others]) => Array.from(others, (other): [string, string] => [other, letter])),
    ),
  };
  return made;
}

/**
 * Puts text that somebody else wrote between the markers by which the model knows it as data (contracts §5).
 * Whatever in `content` could be read as a marker, also by a lenient reader, gets `[broken]` after its bracket; nothing
 * else of it changes. `source` is `tool:<name>` or `task:<origin>`.
 */
export function fenceUntrusted(source: string, content: string): string {
  const inner = breakMarkers(content);
  const lineEnd = inner === '' || inner.endsWith('\n') ? '' : '\n';
  return `<untrusted-content source=${source.replaceAll(/[^\w:.@+-]/g, '_')}>\n${inner}${lineEnd}</untrusted-content>`;
}

function breakMarkers(content: string): string {
  let result = '';
  let copied = 0;
  for (const match of content.matchAll(patterns().opener)) {
    const after = match.index + match[0].length;
    if (!startsMarker(content, after)) continue;
    result += content.slice(copied, after) + broken;
    copied = after;
  }
  return result + content.slice(copied);
}

/** Reads on from a bracket until a character is no part of a marker, so that all brackets together cost one pass. */
function startsMarker(content: string, from: number): boolean {
  const { lookAlikes, passedOver, slash } = patterns();
  let matched = 0;
  for (let index = from; index < content.length;) {
    const character = String.fromCodePoint(content.codePointAt(index) ?? 0);
    index += character.length;
    for (const part of foldCharacter(character)) {
      if (passedOver.test(part) || (matched === 0 && slash.test(part))) continue;
      if ((lookAlikes.get(part) ?? part) !== markerWord[matched]) return false;
      matched += 1;
      if (matched === markerWord.length) return true;
    }
  }
  return false;
}

function foldCharacter(character: string): string {
  return character.normalize('NFKD').toLowerCase();
}

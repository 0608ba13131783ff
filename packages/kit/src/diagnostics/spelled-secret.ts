/** Finds a secret in text, however JSON and URLs spell its characters, also where a text was cut within it. */

/** The ways in which a piece of the secret is written: a run of characters that are always written alike, or of one other. */
interface Piece {
  readonly spellings: readonly string[];
  /** By their first character, and by their last: most of the many spellings of a character cannot be where another character stands. */
  readonly beginning: ReadonlyMap<string, readonly string[]>;
  readonly ending: ReadonlyMap<string, readonly string[]>;
}

/** What `svc` puts where it cuts a text, and what may stand between that and what is left. */
const cutMark = '…';
const aroundCut = ['', '\n', ...[1, 2, 4, 8, 16].map((slashes) => `${'\\'.repeat(slashes)}n`)];
const maxAround = 17;

/** So often a text of JSON may stand in a text of JSON: the record of a log of a message with arguments that hold a file. */
const deepestJson = 5;
const unplain = /[^A-Za-z0-9._-]+/gu;

/** The shortest part of a cut secret: what is shorter could begin anything. */
const shortestPart = 4;
/** A shorter run is in too many texts to be looked for by itself. */
const shortestAnchor = 4;

/** A part of a text, from its first character to before `end`. */
export interface Span {
  readonly start: number;
  readonly end: number;
}

/**
 * One secret of at least four characters. Each of its characters may be as it is, escaped as JSON does, up to five times over, or as a URL or a
 * URL in a URL does, whatever stands for the others: an encoder decides of each alone.
 */
export class SpelledSecret {
  readonly value: string;
  readonly #runs: readonly string[];
  /** The longest run of characters that are always written alike. Empty where all are short: the beginning is looked for then. */
  readonly #anchor: string;
  readonly #begins: Finder;
  readonly #ends: Finder;
  #known: Spelled | null = null;

  constructor(value: string) {
    this.value = value;
    this.#runs = runsOf(value);
    this.#anchor = anchorOf(this.#runs);
    const characters = Array.from(value);
    this.#begins = new Finder(characters.slice(0, shortestPart).join(''));
    this.#ends = new Finder(characters.slice(-shortestPart).join(''));
  }

  /** Made when a text first needs it: most secrets are in none. */
  get #spelled(): Spelled {
    return (this.#known ??= spelledOf(this.#runs, this.#anchor));
  }

  /** Whether the text is worth a look: nearly none is. */
  mayBeIn(text: string): boolean {
    return this.#find(text, 0) !== -1;
  }

  #find(text: string, from: number): number {
    return this.#anchor === '' ? this.#begins.startIn(text, from) : text.indexOf(this.#anchor, from);
  }

  /** Where it stands in the text as a whole. */
  *spans(text: string): Generator<Span> {
    let shownTo = 0;
    for (let at = 0; ;) {
      const found = this.#find(text, at);
      if (found === -1) return;
      const starts = backwards(text, found, this.#spelled.before).places.filter((place) => place >= shownTo);
      const start = Math.min(...starts);
      const end = Math.max(...forwards(text, found + this.#anchor.length, this.#spelled.after).places);
      at = found + 1;
      if (start > found || end < found) continue;
      yield { start, end };
      shownTo = end;
      at = end;
    }
  }

  /** Where the text has it around `at`; null where nothing of it would be on both sides. */
  around(text: string, at: number): Span | null {
    const from = Math.max(0, at - this.#spelled.longest);
    for (const { start, end } of this.spans(text.slice(from, at + this.#spelled.longest))) {
      if (from + start < at && at < from + end) return { start: from + start, end: from + end };
    }
    return null;
  }

  /** Where its beginning stands at the end of the text, of at least four characters but not all; the length of the text where it does not. */
  beginningAtEnd(text: string): number {
    for (let at = Math.max(0, text.length - this.#spelled.longest); ;) {
      const start = this.#begins.startIn(text, at);
      if (start === -1) return text.length;
      if (forwards(text, start, this.#spelled.pieces).isCut) return start;
      at = start + 1;
    }
  }

  /** Beginnings of it, of at least four characters, that stand before the mark of a cut. */
  *cutBeginnings(text: string): Generator<Span> {
    for (let at = 0; ;) {
      const start = this.#begins.startIn(text, at);
      const mark = start === -1 ? -1 : text.indexOf(cutMark, start);
      if (mark === -1) return;
      const span = this.#upTo(text, start, mark);
      if (span !== null) yield span;
      at = span?.end ?? Math.max(start + 1, mark - this.#spelled.longest - maxAround);
    }
  }

  #upTo(text: string, start: number, mark: number): Span | null {
    if (mark - start > this.#spelled.longest + maxAround) return null;
    for (const between of aroundCut) {
      const end = mark - between.length;
      if (!text.startsWith(between, end)) continue;
      const part = text.slice(start, end);
      if (this.#begins.startIn(part, 0) === 0 && forwards(part, 0, this.#spelled.pieces).isCut) return { start, end };
    }
    return null;
  }

  /** Ends of it, of at least four characters, that stand behind the mark of a cut. */
  *cutEnds(text: string): Generator<Span> {
    const pieces = this.#spelled.pieces.toReversed();
    for (let at = text.indexOf(cutMark); at !== -1;) {
      const found = this.#ends.startIn(text, at);
      if (found === -1) return;
      at = found + 1;
      const from = Math.max(0, found - this.#spelled.longest - maxAround);
      const mark = text.slice(from, found).lastIndexOf(cutMark);
      if (mark === -1) continue;
      const ends = this.#ends.endsAt(text, found);
      for (const between of aroundCut) {
        const start = from + mark + 1 + between.length;
        if (start > found || !text.startsWith(between, start - between.length)) continue;
        const end = ends.find((each) => backwards(text.slice(start, each), each - start, pieces).isCut);
        if (end === undefined) continue;
        yield { start, end };
        at = end;
        break;
      }
    }
  }
}

interface Spelled {
  readonly pieces: readonly Piece[];
  /** Those before the anchor, the last first. */
  readonly before: readonly Piece[];
  readonly after: readonly Piece[];
  /** No spelling has more characters. */
  readonly longest: number;
}

function spelledOf(runs: readonly string[], anchor: string): Spelled {
  const pieces = piecesOf(runs);
  const at = runs.indexOf(anchor);
  const before = pieces.slice(0, Math.max(0, at)).toReversed();
  const longest = pieces.reduce((sum, piece) => sum + Math.max(...piece.spellings.map(({ length }) => length)), 0);
  return { pieces, before, after: pieces.slice(at + 1), longest };
}

function anchorOf(runs: readonly string[]): string {
  const longest = runs.reduce((most, run) => (run.length > most.length && isPlain(run) ? run : most), '');
  return longest.length < shortestAnchor ? '' : longest;
}

/** Finds a few characters in all their spellings. Made ready when it is first asked. */
class Finder {
  readonly #characters: string;
  #pieces: readonly Piece[] | null = null;
  /** Text where there is one spelling only. */
  #wanted: string | RegExp | null = null;

  constructor(characters: string) {
    this.#characters = characters;
  }

  /** The first place from `at`; -1 if nothing begins there. */
  startIn(text: string, at: number): number {
    const wanted = (this.#wanted ??= wantedOf(this.#characters));
    if (typeof wanted === 'string') return text.indexOf(wanted, at);
    wanted.lastIndex = at;
    for (let found = wanted.exec(text); found !== null; found = wanted.exec(text)) {
      if (this.endsAt(text, found.index).length > 0) return found.index;
      wanted.lastIndex = found.index + 1;
    }
    return -1;
  }

  /** Where they end that begin at `start`. */
  endsAt(text: string, start: number): readonly number[] {
    this.#pieces ??= piecesOf(runsOf(this.#characters));
    return forwards(text, start, this.#pieces).places;
  }
}

/** Text for characters of one spelling, or an expression for the first two runs: of more, it would take milliseconds to compile. */
function wantedOf(text: string): string | RegExp {
  if (isPlain(text)) return text;
  const pieces = runsOf(text).slice(0, 2).map(spellingsOf);
  return new RegExp(pieces.map((piece) => `(?:${piece.map(escaped).join('|')})`).join(''), 'g');
}

interface Followed {
  /** Where all pieces are through. */
  readonly places: readonly number[];
  /** Whether the text ends within them. */
  readonly isCut: boolean;
}

/** Follows the pieces through the text from `from` on. */
function forwards(text: string, from: number, pieces: readonly Piece[]): Followed {
  return follow(from, pieces, (place, { beginning }, reach) => {
    if (place === text.length) return true;
    let isCut = false;
    for (const spelling of beginning.get(text.charAt(place)) ?? []) {
      if (text.startsWith(spelling, place)) reach(place + spelling.length);
      else if (text.length - place < spelling.length && spelling.startsWith(text.slice(place))) isCut = true;
    }
    return isCut;
  });
}

/** The same from `from` back to the beginning of the text; the pieces, too, from the last. */
function backwards(text: string, from: number, pieces: readonly Piece[]): Followed {
  return follow(from, pieces, (place, { ending }, reach) => {
    if (place === 0) return true;
    let isCut = false;
    for (const spelling of ending.get(text.charAt(place - 1)) ?? []) {
      if (text.endsWith(spelling, place)) reach(place - spelling.length);
      else if (place < spelling.length && spelling.endsWith(text.slice(0, place))) isCut = true;
    }
    return isCut;
  });
}

/** Several spellings can fit at once, where backslashes follow each other: all places are kept that they lead to. `step` says whether the text ends within one. */
function follow(
  from: number,
  pieces: readonly Piece[],
  step: (place: number, piece: Piece, reach: (place: number) => void) => boolean,
): Followed {
  let places: number[] = [from];
  let isCut = false;
  for (const piece of pieces) {
    const next: number[] = [];
    const reach = (place: number): void => void (next.includes(place) || next.push(place));
    for (const place of places) if (step(place, piece, reach)) isCut = true;
    places = next;
    if (places.length === 0) break;
  }
  return { places, isCut };
}

/** What is always written alike, and any other character as often as it is repeated: an encoder writes it the same way each time. */
function runsOf(text: string): readonly string[] {
  return text.match(/[A-Za-z0-9._-]+|([^])\1*/gu) ?? [];
}

/** Characters that every encoder leaves as they are. */
function isPlain(text: string): boolean {
  return /^[A-Za-z0-9._-]+$/.test(text);
}

/** Most characters that are not plain are in a secret many times. */
function piecesOf(runs: readonly string[]): readonly Piece[] {
  const known = new Map<string, Piece>();
  return runs.map((run) => {
    const piece = known.get(run) ?? pieceOf(spellingsOf(run));
    known.set(run, piece);
    return piece;
  });
}

function pieceOf(spellings: readonly string[]): Piece {
  return {
    spellings,
    beginning: grouped(spellings, (spelling) => spelling.charAt(0)),
    ending: grouped(spellings, (spelling) => spelling.charAt(spelling.length - 1)),
  };
}

function grouped(spellings: readonly string[], of: (spelling: string) => string): Map<string, string[]> {
  const groups = new Map<string, string[]>();
  for (const spelling of spellings) groups.set(of(spelling), [...(groups.get(of(spelling)) ?? []), spelling]);
  return groups;
}

function spellingsOf(text: string): readonly string[] {
  if (isPlain(text)) return [text];
  const codes = text.split('').map((unit) => unit.charCodeAt(0).toString(16).padStart(4, '0'));
  const numbered = [escapes('\\u', codes), escapes('\\u', codes.map(upper))];
  const once = [text, ...inJson(text), ...numbered];
  // A form has a plus for a space.
  const all = new Set([...once, text.replaceAll(' ', '+')]);
  let level: readonly string[] = once;
  for (let depth = 1; depth < deepestJson; depth += 1) {
    level = [...new Set(level.flatMap(inJson))];
    for (const spelling of level) all.add(spelling);
  }
  for (const url of once.flatMap(inUrl)) all.add(url).add(url.replaceAll('%', '%25'));
  return [...all];
}

function escapes(sign: string, codes: readonly string[]): string {
  return codes.map((code) => sign + code).join('');
}

function upper(text: string): string {
  return text.toUpperCase();
}

/** As JSON has it, with a slash as it is or escaped, and a quote by its sign or its number. */
function inJson(text: string): readonly string[] {
  const json = JSON.stringify(text).slice(1, -1);
  return [json, json.replaceAll('/', '\\/'), json.replaceAll('\\"', '\\u0022')];
}

/** What is not plain by the numbers of its bytes, in small letters and in capitals. */
function inUrl(text: string): readonly string[] {
  const numbers = (piece: string): string => escapes('%', Array.from(Buffer.from(piece), hex));
  return [text.replaceAll(unplain, numbers), text.replaceAll(unplain, (piece) => upper(numbers(piece)))];
}

function hex(byte: number): string {
  return byte.toString(16).padStart(2, '0');
}

function escaped(text: string): string {
  return text.replaceAll(/[\\^$.*+?()[\]{}|/-]/g, String.raw`\$&`);
}

/** A fenced block of a Markdown file, whose info string says what the reader does with it. */
export type Listing =
  | { readonly kind: 'file'; readonly path: string; readonly text: string }
  | {
      readonly kind: 'commands';
      readonly text: string;
      readonly fails: boolean;
      /** Run beside the others; `until-shown` is ended once its output is there. */
      readonly terminal: 'own' | 'other' | 'until-shown';
      /** What the guide shows of the output, an ellipsis for anything; null when it shows nothing. */
      readonly output: string | null;
    }
  /** All that the other terminal shows, once its command has ended. */
  | { readonly kind: 'other-ended'; readonly output: string };

export interface Section {
  readonly title: string;
  readonly listings: readonly Listing[];
}

/**
 * The listings of a guide by its `##` headings. A block is a file (`ts file=<path>`), commands (`sh`, `sh fails`, `sh other-terminal`,
 * `sh until-shown`), the output of the commands right before it (`text`), or that of the other terminal (`text other-terminal`). Throws for
 * any other, so that no listing goes unread.
 */
export function sectionsOf(markdown: string): readonly Section[] {
  return markdown
    .split(/^## /m)
    .map((text, index) => ({
      title: index === 0 ? '' : (text.split('\n')[0] ?? ''),
      listings: listingsOf(text),
    }))
    .filter(({ listings }) => listings.length > 0);
}

function listingsOf(markdown: string): readonly Listing[] {
  const listings: Listing[] = [];
  for (const [, info = '', text = ''] of markdown.matchAll(/^```(.+)\n([^]*?)^```$/gm)) {
    const [language = '', ...words] = info.split(' ');
    const path = words.find((word) => word.startsWith('file='))?.slice('file='.length);
    const last = listings.at(-1);
    if (path !== undefined) listings.push({ kind: 'file', path, text });
    else if (language === 'sh') listings.push(commandsOf(text, words));
    else if (info === 'text other-terminal') listings.push({ kind: 'other-ended', output: text });
    else if (info === 'text' && last?.kind === 'commands' && last.output === null) {
      listings[listings.length - 1] = { ...last, output: text };
    } else throw new Error(`nothing is done with the listing \`${info}\`:\n${text}`);
  }
  return listings;
}

function commandsOf(text: string, words: readonly string[]): Listing {
  const terminal = words.includes('other-terminal') ? 'other' : words.includes('until-shown') ? 'until-shown' : 'own';
  return { kind: 'commands', text, fails: words.includes('fails'), terminal, output: null };
}

/** Matches what a guide shows, an ellipsis for anything. */
export function shownAs(output: string): RegExp {
  const parts = output.trim().split('…');
  return new RegExp(parts.map((part) => part.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&')).join('[^]*?'));
}

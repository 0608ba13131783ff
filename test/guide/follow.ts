import { type Listing, shownAs } from './listings.ts';
import type { Ended, Reader } from './reader.ts';

/** Does what a reader does with a listing. Returns null if it went as the guide says, else what happened. */
export async function follow(reader: Reader, listing: Listing): Promise<string | null> {
  switch (listing.kind) {
    case 'file':
      reader.write(listing.path, listing.text);
      return null;
    case 'other-ended':
      return difference(await reader.otherEnded(), { fails: false, output: listing.output });
    case 'commands':
      if (listing.terminal === 'own') return difference(await reader.type(listing), listing);
      await reader.typeUntilShown(listing);
      return null;
  }
}

interface Shown {
  readonly fails: boolean;
  readonly output: string | null;
}

function difference({ code, output }: Ended, { fails, output: shown }: Shown): string | null {
  const isAsShown = shown === null || new RegExp(`^${shownAs(shown).source}$`).test(output.trim());
  if (isAsShown && (code !== 0) === fails) return null;
  return `exit code ${code} and:\n${output}\ninstead of:\n${shown ?? ''}`;
}

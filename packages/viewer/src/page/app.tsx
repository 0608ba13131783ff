/** Leads from the address to what is shown: the list of sessions, or one of them. */

import type { JSX } from 'preact';

import type { Source } from '../store/source.ts';
import { address } from './address.ts';
import { SessionLoader } from './session-page.tsx';
import { SessionsList } from './sessions-list.tsx';
import type { WorkerMaker } from './workers.ts';

interface AppProps {
  /** Is null if the page has no token. */
  readonly source: Source | null;
  readonly makeWorker: WorkerMaker;
}

export function App({ source, makeWorker }: AppProps): JSX.Element {
  if (source === null) return <NoToken />;
  const session = source.isServed ? address.value.session : source.id;
  if (source.isServed && session === null) return <SessionsList source={source} />;
  return <SessionLoader key={session} id={session ?? ''} source={source} makeWorker={makeWorker} />;
}

function NoToken(): JSX.Element {
  return (
    <main class="lone">
      <h1>This page has no token</h1>
      <p>
        Open the whole address that <code>svc view</code> has printed last. Each tab needs it once: the token is kept
        for one tab alone.
      </p>
    </main>
  );
}

/** Opens a session for as long as a component looks at it. */

import { useEffect, useMemo } from 'preact/hooks';

import type { ViewedFacts } from '@svc/protocol/viewed-session.ts';
import { Session } from '../store/session.ts';
import type { Source } from '../store/source.ts';
import { type Tab, View } from '../store/view.ts';
import { type Loading, useLoading } from './loading.tsx';
import type { WorkerMaker } from './workers.ts';

export interface OpenedSession {
  readonly view: View;
  readonly facts: Loading<ViewedFacts>;
}

/** The trace is read while the server looks what else there is to know. Of one session only: its user has the id as its key. */
export function useOpened(id: string, source: Source, makeWorker: WorkerMaker, tab?: Tab): OpenedSession {
  const view = useMemo(() => new View(new Session(makeWorker(), source.place(id)), tab), []);
  useEffect(() => () => view.close(), []);
  const facts = useLoading(() => source.facts(id), []);
  useEffect(() => {
    if (facts.kind === 'there') view.session.learn(facts.value);
  }, [facts.kind]);
  return { view, facts };
}

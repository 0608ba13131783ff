/** The texts of a step: why it failed, what it changed, what it was given and what it gave. */

import type { JSX } from 'preact';

import type { StepDetail } from '../messages.ts';
import type { View } from '../store/view.ts';
import * as kinds from '../trace/kind-numbers.ts';
import { isCall, isPlanStep } from '../trace/kinds.ts';
import { loaded, useLoading } from './loading.tsx';
import { Diff, TextBlock } from './theirs.tsx';

export function StepTexts({ detail, view }: { readonly detail: StepDetail; readonly view: View }): JSX.Element {
  const { row, texts, edit, arguments: given } = detail;
  const kind = view.session.columns.kindOf(row);
  const hasOutput = kind === kinds.model || kind === kinds.question || isCall(kind) || isPlanStep(kind);
  return (
    <>
      {texts.map(({ label, isWhy, text }) => (
        <>
          <h3>{label}</h3>
          <TextBlock text={text} kind={isWhy ? 'why' : ''} />
        </>
      ))}
      {edit !== null && (
        <>
          <h3>Change</h3>
          <Diff edit={edit} />
        </>
      )}
      {given !== null && (
        <>
          <h3>Arguments</h3>
          <TextBlock text={given} />
        </>
      )}
      {hasOutput && <Output row={row} view={view} />}
    </>
  );
}

const partLabels = { text: 'Text', thinking: 'Thinking', output: 'Output', answer: 'Answer' } as const;

/** What a step gave, out of the journal. */
export function Output({
  row,
  view,
  isBare = false,
}: {
  readonly row: number;
  readonly view: View;
  readonly isBare?: boolean;
}): JSX.Element {
  const output = useLoading(() => view.session.ask('output', row), [row, view.session.journal.value === null]);
  return loaded(output, ({ parts }) => (
    <>
      {parts.map(({ kind, text }) => (
        <>
          {!isBare && <h3>{partLabels[kind]}</h3>}
          <TextBlock text={text} kind={kind === 'text' || kind === 'answer' ? 'prose' : kind} />
        </>
      ))}
    </>
  ));
}

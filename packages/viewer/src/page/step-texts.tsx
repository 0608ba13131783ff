/** The texts of a step: why it failed, what it changed, what it was given and what it gave. */

import type { JSX } from 'preact';

import type { StepDetail } from '@svc/protocol/viewed-session.ts';
import { howDrawn } from './drawn-markdown.tsx';
import { Diff, TextBlock } from './theirs.tsx';

export function StepTexts({ detail }: { readonly detail: StepDetail }): JSX.Element {
  const { texts, edit, arguments: given } = detail;
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
      <Parts detail={detail} />
    </>
  );
}

const partLabels = { text: 'Text', thinking: 'Thinking', output: 'Output', answer: 'Answer' } as const;

/** What a step gave, out of the journal. */
export function Parts({
  detail,
  isBare = false,
}: {
  readonly detail: StepDetail;
  readonly isBare?: boolean;
}): JSX.Element {
  return (
    <>
      {detail.parts.map(({ kind, text }) => (
        <>
          {!isBare && <h3>{partLabels[kind]}</h3>}
          <TextBlock
            text={text}
            kind={kind === 'text' || kind === 'answer' ? 'prose' : kind}
            draw={kind === 'text' ? howDrawn() : undefined}
          />
        </>
      ))}
    </>
  );
}

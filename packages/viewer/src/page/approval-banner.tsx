/** The banner of a call that waits for approval: what would happen, then the answers to choose from. */

import type { JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';

import type { ViewedApproval } from '@svc/protocol/viewed-session.ts';
import { SourceFault } from '../worker/byte-sources.ts';
import { type BannerProps, useSettled } from './question-banner.tsx';
import { theirs } from './theirs.tsx';

type ApprovalBannerProps = Omit<BannerProps, 'question'> & { readonly approval: ViewedApproval };

/** By what they send. A call that cannot be repeated to the byte is not offered for the session. */
const answers = [
  { label: 'No', decision: 'deny', option: 'once' },
  { label: 'Yes, once', decision: 'allow', option: 'once' },
  { label: 'Yes, in this session', decision: 'allow', option: 'session' },
  { label: 'Yes, in every session', decision: 'allow', option: 'manifest' },
] as const;

export function ApprovalBanner({ approval, taskText, facts, source, onUnsent }: ApprovalBannerProps): JSX.Element {
  const [said, setSaid] = useState('');
  const [isSending, setSending] = useState(false);
  const isSettled = useSettled();
  const refused = useRef('');
  useEffect(() => () => onUnsent(refused.current), []);
  const { id, digest, rows, asker, options } = approval;

  const send = async ({ decision, option }: (typeof answers)[number]): Promise<void> => {
    if (!isSettled || isSending || !source.isServed) return;
    setSending(true);
    setSaid('Sending…');
    try {
      const fault = await source.call(facts.id, 'approvals/answer', { id, digest, decision, option });
      setSaid(fault === '' ? 'Answered.' : fault);
      // The capsule says what waits; an answer that it took is not sent twice.
      if (fault === '') return;
      refused.current = `Your answer did not count. ${fault}`;
      // The banner may have gone while the answer was on its way.
      onUnsent(refused.current);
      setSending(false);
    } catch (error) {
      if (!(error instanceof SourceFault)) throw error;
      setSaid(error.message);
      setSending(false);
    }
  };

  return (
    <section class="banner" aria-label="A call waits for approval">
      <div class="banner-text">
        <h2>
          A call waits for approval
          <span class="faint theirs">{theirs(taskText.slice(0, 200))}</span>
        </h2>
        <p class="theirs">{theirs(asker)}</p>
        <pre class="block asked" dir="ltr">
          {theirs(rows.join('\n'))}
        </pre>
      </div>
      {facts.readOnly ? (
        <p class="note">This page may only read. svc approve, in a terminal, answers it.</p>
      ) : (
        <div class="answer">
          {answers
            .filter(({ decision, option }) => decision === 'deny' || options.includes(option))
            .map((answer) => (
              <button
                key={answer.label}
                class="button"
                aria-disabled={!isSettled || isSending}
                onClick={() => void send(answer)}
              >
                {answer.option === 'session' && approval.of !== null
                  ? `Yes, in the session of ${approval.of}`
                  : answer.label}
              </button>
            ))}
          <output class="said theirs">{theirs(said)}</output>
        </div>
      )}
    </section>
  );
}

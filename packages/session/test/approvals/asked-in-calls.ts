import type { Approvals as Settings } from '@svc/artifacts/manifest/approvals.ts';
import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import type { OpenApproval } from '@svc/protocol/approval.ts';
import type { ApprovalRecord } from '@svc/record/sessions/approval-log.ts';
import { calls, says } from '../../../../test/support/fake-driver.ts';
import { SessionFixture } from '../../../../test/support/session-fixture.ts';
import { Approvals } from '../../src/approvals/approvals.ts';
import { LiveRecorder, type HistoryEvent } from '../../src/recorder/recorder.ts';
import type { Tool } from '../../src/tools/tool.ts';

interface CallsOf {
  readonly tool: Tool;
  /** The arguments of each call. */
  readonly made: readonly object[];
  readonly settings: Pick<Settings, 'default' | 'opaque' | 'rules'>;
  /** The record that cannot be written. */
  readonly failsAt?: string | undefined;
}

/** A session whose model calls one tool so often, in one answer, and is done; and what a person does in the middle of the calls. */
export function askedInCalls({ tool, made, settings, failsAt }: CallsOf) {
  const log: ApprovalRecord[] = [];
  const history: HistoryEvent[] = [];
  let approvals: Approvals | null = null;
  const fixture = new SessionFixture({
    turns: [calls(...made.map((args): [string, object] => [tool.name, args])), says('Done.')],
    tools: [tool],
    recorder: (clock) => new LiveRecorder((event) => void history.push(event), clock),
    approvals: (recorder, clock) =>
      (approvals = new Approvals({
        rules: settings,
        ways: ['terminal'],
        timeoutMs: 60_000,
        recorder,
        clock,
        log: {
          write: (record) => {
            if (record.k === failsAt) throw new Diagnostic('E-IO-002', 'no space left');
            log.push(record);
          },
          close: () => {},
        },
        unattended: async () => null,
        capsule: 'c',
        redact: (text) => text.replaceAll('hunter2', '[secret]'),
      })),
  });
  fixture.session.board.submit({ text: 'Go.', origin: 'user', trust: 'trusted' });
  const running = fixture.session.run();
  /** The questions that wait: at most one. */
  const list = (): readonly OpenApproval[] => approvals?.list() ?? [];
  const open = async (number = 1): Promise<OpenApproval> => {
    await fixture.frame(() => list()[0]?.id.endsWith(`_q${number}`) === true);
    const [first] = list();
    if (first === undefined) throw new Error('nothing waits');
    return first;
  };
  const answer = async (decision: 'allow' | 'deny', option: 'once' | 'session' = 'once', number = 1) => {
    const { id, digest } = await open(number);
    return approvals?.answer({ id, digest, decision, option, note: null }, { principal: 'person', way: 'terminal' })
      .kind;
  };
  const told = (): readonly string[] =>
    (fixture.driver.requests.at(-1)?.messages ?? []).flatMap((message) =>
      message.role === 'tool' ? message.content.map((block) => (block.type === 'text' ? block.text : '')) : [],
    );
  return { fixture, running, log, history, list, open, answer, told };
}

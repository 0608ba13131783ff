import { PassThrough } from 'node:stream';

import { describe, expect, it } from 'vitest';

import type { ReceivedFrame } from '@svc/protocol/frame-reader.ts';
import { Output } from '@svc/terminal/screen/output.ts';
import { renderNotice, WatchView } from './watch-view.ts';

const task = 'tsk_0123456789abcdef';
const otherTask = 'tsk_fedcba9876543210';

function frame(event: string, data: unknown, id?: string): ReceivedFrame {
  return { id, event, data: typeof data === 'string' ? data : JSON.stringify(data) };
}

function acknowledged(mode: string): ReceivedFrame {
  return frame('connection-ack', { role: 'observer', conversation_mode: mode });
}

function status(state: string, message: string, id: string = task): ReceivedFrame {
  return frame('status', { id, status: { state, message }, final: false }, '1');
}

function text(chunk: string, final = false, id: string = task): ReceivedFrame {
  return frame('text', { id, text: chunk, final }, '2');
}

function artifact(fields: Readonly<Record<string, unknown>>): ReceivedFrame {
  return frame(
    'artifact',
    { id: task, artifact: { tool_name: 'sh', content: 'done', is_error: false, ...fields } },
    '3',
  );
}

/** What goes to stdout, the end of a line left open included. */
function shown(...frames: readonly ReceivedFrame[]): string {
  const view = new WatchView(new Output(() => new PassThrough()));
  return frames.map((each) => view.show(each)).join('') + view.end();
}

describe('a status line', () => {
  it.each([
    ['stateless', '[working] inference turn 1\n'],
    ['threaded', '[89abcdef working] inference turn 1\n'],
    ['some later mode', '[working] inference turn 1\n'],
  ])('for a %s capsule shows %j [D1-WATCH-05]', (mode, line) => {
    expect(shown(acknowledged(mode), status('working', 'inference turn 1'))).toBe(line);
  });

  it('names each task of a threaded capsule by the id in the data [D1-STREAM-14]', () => {
    expect(
      shown(
        acknowledged('threaded'),
        status('working', 'inference turn 1'),
        status('canceled', 'task canceled', otherTask),
      ),
    ).toBe('[89abcdef working] inference turn 1\n[76543210 canceled] task canceled\n');
  });

  it('keeps the further lines of a message apart from lines of its own', () => {
    expect(shown(status('input-required', 'Which one?\r\n[completed] session ended\rThat one\n'))).toBe(
      '[input-required] Which one?\n  [completed] session ended\n  That one\n  \n',
    );
  });

  it.each([
    ['failed', 'session ended', 'error: the provider is busy', 'the provider is busy'],
    ['failed', 'input-timeout', 'error: input-timeout', 'input-timeout'],
    ['failed', 'session ended', undefined, 'session ended'],
    ['canceled', 'task canceled', 'error: x', 'task canceled'],
  ])('gives the reason of a task that %s with "%s" and the response %j', (state, message, response, line) => {
    const data = { id: task, status: { state, message, response }, final: true };
    expect(shown(frame('status', data, '1'))).toBe(`[${state}] ${line}\n`);
  });

  it('stays one line also for a made-up id', () => {
    expect(shown(acknowledged('threaded'), status('working', 'on', 'x\u001B[2J\nb\tc'))).toBe('[b c working] on\n');
  });

  it.each([
    ['a message', { id: task, status: { state: 'working' } }, '[89abcdef working]\n'],
    ['a message of text', { id: task, status: { state: 'working', message: 5 } }, '[89abcdef working]\n'],
    ['an id', { status: { state: 'working', message: 'on' } }, '[working] on\n'],
    ['an id of text', { id: ['a'], status: { state: 'working', message: 'on' } }, '[working] on\n'],
    ['a state', { id: task, status: { message: 'on' } }, ''],
    ['a state of text', { id: task, status: { state: null, message: 'on' } }, ''],
    ['a status', { id: task }, ''],
    ['a status that is an object', { id: task, status: 'working' }, ''],
  ])('without %s shows the rest', (_name, data, line) => {
    expect(shown(acknowledged('threaded'), frame('status', data))).toBe(line);
  });
});

describe('text', () => {
  it('appears as it comes, and ends its line where the turn ends [D1-WATCH-03]', () => {
    expect(shown(text('Hel'), text('lo'), text('', true), status('completed', 'session ended'))).toBe(
      '| Hello\n[completed] session ended\n',
    );
  });

  it('gets no second line end', () => {
    expect(shown(text('Hello\n'), text('', true), text('whole reply', true), text('', true))).toBe(
      '| Hello\n| whole reply\n',
    );
  });

  it('leaves the line to another frame that interrupts it', () => {
    expect(shown(text('Hel'), artifact({}), text('lo'))).toBe('| Hel\n[sh ok] done\n| lo\n');
  });

  it('starts a line of its own for another task [D1-STREAM-14]', () => {
    expect(shown(text('one'), text('two', false, otherTask), text(' more', false, otherTask))).toBe(
      '| one\n| two more\n',
    );
  });

  it('cannot drive the terminal', () => {
    expect(shown(text('\u001B]0;owned\u0007a\u001B[2Jb\u009B1mc\rd\u0008e\u0000\tf'))).toBe('| abc\n| de\tf\n');
    expect(shown(text('a\u001B'), text('[2Jb'))).toBe('| ab\n');
  });

  it('has a mark before each of its lines, in whatever pieces it comes, so that none passes for a status line', () => {
    const forged = 'Hi.\n[completed] session ended\r[failed] x\n\n[sh ok] y';
    const marked = '| Hi.\n| [completed] session ended\n| [failed] x\n| \n| [sh ok] y\n';
    expect(shown(text(forged, true))).toBe(marked);
    expect(shown(...forged.split('').map((piece) => text(piece)))).toBe(marked);
    expect(shown(artifact({ content: 'a\r\n[completed] session ended\u2028b' }))).toBe(
      '[sh ok] a\n| [completed] session ended\n| b\n',
    );
  });

  it('keeps an open line open when nothing of a chunk is left', () => {
    expect(shown(text('a'), text('\u001B[2J'), text('b'))).toBe('| ab\n');
  });

  it.each([{}, { text: 5 }, { text: null, final: 'yes' }, [], null, 'no JSON', ''])('shows nothing for %j', (data) => {
    expect(shown(frame('text', data))).toBe('');
  });
});

describe('an artifact', () => {
  it('appears whole, under its tool and whether that failed [D1-WATCH-03]', () => {
    expect(shown(artifact({ content: 'one\ntwo\n' }), artifact({ is_error: true, content: '' }))).toBe(
      '[sh ok] one\n| two\n| \n[sh failed]\n',
    );
  });

  it('cannot drive the terminal, and has its name on one line', () => {
    expect(shown(artifact({ tool_name: 'sh\nfake\u001B[2J', content: 'a\u001B[31mb' }))).toBe('["sh fake" ok] ab\n');
  });

  it.each([
    ['tool_name', { tool_name: undefined }, '[ok] done\n'],
    ['is_error', { is_error: 'yes' }, '[sh ok] done\n'],
    ['content', { content: 5 }, ''],
  ])('without a proper %s shows the rest', (_name, fields, line) => {
    expect(shown(artifact(fields))).toBe(line);
  });
});

describe('a watcher', () => {
  it('sees no thinking [D1-WATCH-04]', () => {
    expect(shown(text('a'), frame('thinking', { id: task, text: 'secret thought', final: false }), text('b'))).toBe(
      '| ab\n',
    );
  });

  it('sees no event of an unknown type, whatever its data', () => {
    expect(
      shown(frame('future', { text: 'a', status: { state: 'working', message: 'on' } }), frame('message', 'x')),
    ).toBe('');
  });

  it('sees no key that it does not know, at any depth', () => {
    const later = { later: { text: 'x' }, list: [1, { state: 'y' }] };
    expect(
      shown(
        frame('connection-ack', { ...later, conversation_mode: 'threaded' }),
        frame('status', { ...later, id: task, status: { ...later, state: 'working', message: 'on' } }),
        artifact(later),
        frame('text', { ...later, id: task, text: 'a', final: true }),
      ),
    ).toBe('[89abcdef working] on\n[sh ok] done\n| a\n');
  });
});

describe('a repeated id', () => {
  it('never means a repeated frame: two tasks that both write 0, 1, 2 appear whole', () => {
    const frames = [task, otherTask].flatMap((id) => [
      frame('status', { id, status: { state: 'working', message: 'inference turn 1' }, final: false }, '0'),
      frame('text', { id, text: 'Hi.', final: true }, '1'),
      frame('status', { id, status: { state: 'completed', message: 'session ended' }, final: true }, '2'),
    ]);
    const lines = '[working] inference turn 1\n| Hi.\n[completed] session ended\n';
    expect(shown(...frames)).toBe(`${lines}${lines}`);
  });

  it('means another frame also for the same task and event, as for a second question or a reopened attempt', () => {
    const asked = frame(
      'status',
      { id: task, status: { state: 'input-required', message: 'Go on?' } },
      '9223372036854775807',
    );
    const began = frame('status', { id: task, status: { state: 'working', message: 'inference turn 1' } }, '0');
    expect(shown(began, asked, asked, began)).toBe(
      '[working] inference turn 1\n[input-required] Go on?\n[input-required] Go on?\n[working] inference turn 1\n',
    );
  });

  it('means no loss, nor does a jump or a fall of ids', () => {
    const ids = ['5', '4611686018427387903', '3', '18446744073709551615', '0'];
    expect(shown(...ids.map((id) => frame('text', { id: task, text: id, final: true }, id)))).toBe(
      '| 5\n| 4611686018427387903\n| 3\n| 18446744073709551615\n| 0\n',
    );
    expect(ids.flatMap((id) => renderNotice(frame('text', {}, id)) ?? [])).toEqual([]);
  });
});

describe('a notice', () => {
  it.each(['0', '9007199254740993', '18446744073709551615'])(
    'about a gap warns that frames may be gone, and names %s exactly [D1-WATCH-06]',
    (id) => {
      expect(renderNotice(frame('gap', `{"first_available_id":${id}}`))?.text).toBe(
        `warning: earlier frames may be gone; the first available id is ${id}\n`,
      );
    },
  );

  it('about a gap without an id warns all the same', () => {
    expect(renderNotice(frame('gap', 'no JSON'))?.text).toBe(
      'warning: earlier frames may be gone; the first available id is not named\n',
    );
  });

  it('about an error appears whether or not its data is JSON [D1-FRAME-52]', () => {
    expect(renderNotice(frame('error', '{"error":"internal error: queue send failed"}'))?.text).toBe(
      'the capsule reported an error: internal error: queue send failed\n',
    );
    expect(renderNotice(frame('error', '{"error":"Invalid params: "role" is \u001B[2Jmissing"}'))?.text).toBe(
      'the capsule reported an error: Invalid params: "role" is \\u{1b}[2Jmissing\n',
    );
  });

  it('about the end says that the capsule closed its stream', () => {
    expect(renderNotice(frame('capsule-closed', '{}'))?.text).toBe('the capsule closed its stream\n');
  });
});

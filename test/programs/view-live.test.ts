import { readFileSync } from 'node:fs';
import { describe, expect, it, onTestFinished } from 'vitest';

import { RawSocket } from '../support/raw-socket.ts';
import { StandInCapsule, statusFrame } from '../support/stand-in-capsule.ts';
import { staysUp, type StreamedCapsule, useStreamedCapsules } from '../support/streamed-capsule.ts';
import { ReadStream, ViewProcess } from '../support/view-process.ts';

const patience = { timeout: 120_000 };
/** How long frames flow; `VIEW_SECONDS=60` for the figure that is promised. */
const seconds = Number(process.env['VIEW_SECONDS'] ?? 8);
const capsules = useStreamedCapsules();
const mebibyte = 1024 * 1024;
const task = 'tsk_0123456789ab7000800000000000a001';

interface Viewed {
  readonly capsule: StreamedCapsule;
  readonly view: ViewProcess;
  readonly id: string;
  readonly card: Readonly<Record<string, unknown>>;
}

async function running(): Promise<Viewed> {
  const capsule = await capsules.script({ manifest: staysUp });
  const { session_id: id, url } = capsule.line;
  const answer = await fetch(`http://${url}/.well-known/agent-card.json`);
  const card = (await answer.json()) as Record<string, unknown>;
  return { capsule, view: await ViewProcess.start(capsule.workspace, [id]), id, card };
}

/** Ends the capsule as a crash does, and puts another of the same session in its place. */
async function resumed({ capsule, card }: Viewed): Promise<StandInCapsule> {
  await killed(capsule);
  const again = await StandInCapsule.start(capsule.workspace, card);
  onTestFinished(() => again.close());
  return again;
}

async function killed({ process }: StreamedCapsule): Promise<void> {
  process.child.kill('SIGKILL');
  await process.ended;
}

/** Bytes that a process holds in memory. */
function residentBytes({ process }: ViewProcess): number {
  const [, kilobytes = '0'] =
    /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${process.child.pid}/status`, 'utf8')) ?? [];
  return Number(kilobytes) * 1024;
}

describe('the events of a page', () => {
  it('equal those of the capsule, from where it is asked', patience, async () => {
    const { capsule, view, id } = await running();
    await capsule.send('Paint.');
    const all = new ReadStream(await view.open(`/s/${id}/events`));
    await all.until('"state":"completed"');
    const again = await capsule.send('Paint again.');
    await all.until(`event: task_settled\ndata: {"task_id":"${again.id}"`);
    expect(all.text).toMatch(/^event: connection-ack\ndata: .*\n\nevent: snapshot\ndata: .*\n\n/);
    const ids = [...all.text.matchAll(/^id: (\d+)$/gm)].map(([, number]) => Number(number));
    expect(ids.length).toBeGreaterThan(0);
    const from = new ReadStream(
      await view.open(`/s/${id}/events`, { headers: { 'last-event-id': String(Math.max(...ids)) } }),
    );
    await from.until('event: snapshot\n');
    expect(from.text).not.toMatch(/^id: /m);
    await capsule.terminate();
    expect(await all.untilOver()).toMatch(/event: capsule-closed\ndata: \{\}\n\n$/);
    expect((await view.ask(`/s/${id}/events`)).status).toBe(410);
  });

  it('go on when the capsule has died and is there again, and none comes twice', patience, async () => {
    const viewed = await running();
    const { view, id } = viewed;
    const events = new ReadStream(await view.open(`/s/${id}/events`));
    await events.until('event: snapshot\n');
    const first = await resumed(viewed);
    const stream = await first.stream();
    stream.write(statusFrame(1, task, 'one') + statusFrame(2, task, 'two') + 'event: usage\ndata: {"a":1}\n\n');
    stream.write(statusFrame(3, task, 'never whole').slice(0, 40));
    await events.until('event: usage\n');
    first.close();
    const second = await StandInCapsule.start(viewed.capsule.workspace, viewed.card);
    onTestFinished(() => second.close());
    const replay = ['one', 'two', '3'].map((said, index) => statusFrame(index + 1, task, said));
    (await second.stream()).write(replay.join(''));
    await events.until('"message":"3"');
    (await second.stream()).end('event: capsule-closed\ndata: {}\n\n');
    const text = await events.untilOver();
    expect([...first.asked, ...second.asked]).toEqual(['0', '0']);
    expect(
      [...text.matchAll(/^id: (\d+)\nevent: status\ndata: .*"message":"(.*?)"/gm)].map(([, number, said]) => [
        number,
        said,
      ]),
    ).toEqual([
      ['1', 'one'],
      ['2', 'two'],
      ['3', '3'],
    ]);
    expect(text).toContain('\nevent: capsule-gone\ndata: {}\n\n');
    expect(text).not.toContain('never whole');
    expect(text).toMatch(/event: capsule-closed\ndata: \{\}\n\n$/);
  });

  it('exclude those of another session that has its port by now', patience, async () => {
    const viewed = await running();
    const events = new ReadStream(await viewed.view.open(`/s/${viewed.id}/events`));
    await events.until('event: snapshot\n');
    await killed(viewed.capsule);
    await events.until('event: capsule-gone\n');
    const id = 'ses_0123456789ab7000800000000000a009';
    const stranger = await StandInCapsule.start(
      viewed.capsule.workspace,
      { ...viewed.card, session_id: id },
      viewed.id,
    );
    onTestFinished(() => stranger.close());
    await expect.poll(() => stranger.cards, { timeout: 20_000 }).toBeGreaterThan(1);
    expect(stranger.asked).toEqual([]);
    expect(events.isOver).toBe(false);
  });

  it('cost no memory for a page that does not read', patience, async () => {
    const viewed = await running();
    const { view, id } = viewed;
    const again = await resumed(viewed);
    const slow = await RawSocket.open(view.line.port);
    onTestFinished(() => slow.close());
    slow.socket.pause();
    slow.send([`GET /s/${id}/events HTTP/1.1`, view.host, view.bearer, '', ''].join('\r\n'));
    const stream = await again.stream();
    const before = residentBytes(view);
    // Until nothing of it is taken any more.
    const frames = Array.from({ length: 2000 }, (_, index) => statusFrame(index, task, 'x'.repeat(500))).join('');
    let sent = 0;
    let isTaken = true;
    while (isTaken && sent < 256 * mebibyte) {
      sent += frames.length;
      isTaken = await new Promise<boolean>((resolve) => {
        const waited = setTimeout(() => resolve(false), 2000);
        stream.write(frames, () => {
          clearTimeout(waited);
          resolve(true);
        });
      });
    }
    expect(isTaken).toBe(false);
    expect(sent).toBeLessThan(64 * mebibyte);
    expect(residentBytes(view) - before).toBeLessThan(20 * mebibyte);
    expect((await view.ask('/sessions')).status).toBe(200);
  });

  it('reach a page at 2,000 a second without the server growing', patience, async () => {
    const viewed = await running();
    const { view, id } = viewed;
    const again = await resumed(viewed);
    const events = await view.open(`/s/${id}/events`);
    const reader = events.body?.getReader();
    if (reader === undefined) throw new Error('there is no body');
    const stream = await again.stream();
    let [seen, rest] = [0, ''];
    const reading = (async () => {
      const decoder = new TextDecoder();
      while (seen < seconds * 2000) {
        const next = await reader.read();
        if (next.done) return;
        const pieces = (rest + decoder.decode(next.value as Uint8Array, { stream: true })).split('\n\n');
        rest = pieces.pop() ?? '';
        seen += pieces.filter((piece) => piece.startsWith('id: ')).length;
      }
    })();
    let warm = 0;
    for (let batch = 0; batch < seconds * 20; batch += 1) {
      const frames = Array.from({ length: 100 }, (_, index) => statusFrame(batch * 100 + index, task, 'x'.repeat(300)));
      stream.write(frames.join(''));
      await new Promise((resolve) => setTimeout(resolve, 50));
      if (batch === 20) warm = residentBytes(view);
    }
    await reading;
    expect(seen).toBe(seconds * 2000);
    expect(residentBytes(view) - warm).toBeLessThan(20 * mebibyte);
  });
});

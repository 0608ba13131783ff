import { describe, expect, it } from 'vitest';

import { parseDestination, type NetworkDestination } from '@svc/kit/net/network-destination.ts';
import { AskedHosts } from './asked-hosts.ts';
import { QuestionTurns } from './question-turns.ts';

function place(host: string): NetworkDestination {
  const reading = parseDestination(`https://${host}`);
  if (reading.kind !== 'destination') throw new Error(host);
  return reading.destination;
}

/** A person who answers when the test says so. */
class Person {
  readonly asked: string[] = [];
  readonly #answers: ((isGranted: boolean | Error) => void)[] = [];
  wants = true;
  readonly turns = new QuestionTurns();
  readonly hosts = new AskedHosts(
    {
      wanted: () => this.wants,
      ask: async (host) =>
        await new Promise((resolve, reject) => {
          this.asked.push(host);
          this.#answers.push((answer) => (answer instanceof Error ? reject(answer) : resolve(answer)));
        }),
    },
    this.turns,
  );

  async answers(answer: boolean | Error): Promise<void> {
    this.#answers.shift()?.(answer);
    await settled();
  }
}

async function settled(): Promise<void> {
  await new Promise((resolve) => setImmediate(resolve));
}

const held = (): AbortSignal => new AbortController().signal;

describe('the hosts that a command asks for', () => {
  it('make one question at a time, and one each however many requests wait for it', async () => {
    const person = new Person();
    const answers = ['a.example', 'b.example', 'a.example'].map((host) => person.hosts.mayReach(place(host), held()));
    await settled();
    expect(person.asked).toEqual(['https://a.example']);
    await person.answers(true);
    expect(person.asked).toEqual(['https://a.example', 'https://b.example']);
    await person.answers(false);
    expect(await Promise.all(answers)).toEqual([true, false, true]);
    expect(await person.hosts.mayReach(place('b.example'), held())).toBe(false);
    expect(person.asked).toHaveLength(2);
  });

  it('make eight questions at most, whatever a program tries', async () => {
    const person = new Person();
    const tried = Array.from({ length: 1000 }, (_, n) => person.hosts.mayReach(place(`h${n}.example`), held()));
    for (let n = 0; n < 20; n += 1) await person.answers(false);
    expect(await Promise.all(tried)).not.toContain(true);
    expect(person.asked).toHaveLength(8);
  });

  it('make no question where no request waits any more, where the command is over, and where nobody is there', async () => {
    const person = new Person();
    const gone = new AbortController();
    void person.hosts.mayReach(place('a.example'), held());
    const given = person.hosts.mayReach(place('b.example'), gone.signal);
    const late = person.hosts.mayReach(place('c.example'), held());
    await settled();
    gone.abort();
    const over = person.turns.over();
    await person.answers(true);
    await over;
    expect(await Promise.all([given, late])).toEqual([false, false]);
    expect(await person.hosts.mayReach(place('d.example'), held())).toBe(false);
    expect(person.asked).toEqual(['https://a.example']);
    const absent = new Person();
    absent.wants = false;
    expect(await absent.hosts.mayReach(place('a.example'), held())).toBe(false);
    expect(absent.asked).toEqual([]);
  });

  it('stay refused where the question cannot be put, and its end is waited for', async () => {
    const person = new Person();
    const answer = person.hosts.mayReach(place('a.example'), held());
    await settled();
    expect(person.turns.open).not.toBeNull();
    await person.answers(new Error('canceled'));
    expect(await answer).toBe(false);
    await person.turns.over();
    expect(person.turns.open).toBeNull();
  });
});

import { says, type Turn } from '../../../test/support/fake-driver.ts';

/** A turn that says chunks as they are handed to it, and then all of them together. */
export class Speaker {
  #say: (text: string) => void = () => {};
  #end: () => void = () => {};
  readonly #ready: Promise<void>;
  #text = '';
  readonly turn: Turn;

  constructor() {
    let begin = (): void => {};
    this.#ready = new Promise((resolve) => {
      begin = resolve;
    });
    this.turn = async (_request, call) => {
      this.#say = call.onText;
      begin();
      await new Promise<void>((resolve) => {
        this.#end = resolve;
        call.signal.addEventListener('abort', () => resolve(), { once: true });
      });
      return says(this.#text);
    };
  }

  async say(text: string): Promise<void> {
    await this.#ready;
    this.#text += text;
    this.#say(text);
  }

  async end(): Promise<void> {
    await this.#ready;
    this.#end();
  }
}

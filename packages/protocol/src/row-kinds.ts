/** The kinds of rows of a trace that a page asks for by their names: each is the place of its type in the list of who reads the lines, which a test holds. */

export const sessionStart = 0;
export const taskReceived = 1;
export const taskStart = 2;
export const model = 3;
export const tool = 4;
export const skill = 5;
export const command = 6;
export const background = 7;
export const question = 8;
export const compaction = 9;
export const hookError = 10;
export const reopened = 11;
export const canceled = 12;
export const taskEnd = 13;
export const ceiling = 14;
export const child = 21;
export const planStep = 23;
export const sessionEnd = 27;
export const refusal = 28;
export const refusals = 29;
export const egress = 30;
export const fileChange = 31;
/** Steps of plans that run a command, or ask another capsule. */
export const planCommand = 34;
export const planChild = 35;
/** The model was asked by a hook: that is no turn of a task. */
export const hookModel = 36;
/** A line that is no JSON object, or one without a type. */
export const damaged = 254;
/** A line of a type that this version does not know. */
export const unknown = 255;

/** A call of the model's answer: it has a place of its own in the journal. */
export function isCall(kind: number): boolean {
  return kind === tool || kind === skill || kind === command;
}

export function isModel(kind: number): boolean {
  return kind === model || kind === hookModel;
}

export function isPlanStep(kind: number): boolean {
  return kind === planStep || kind === planCommand || kind === planChild;
}

/** The kinds of rows that a trace has: what a person calls them, and in which lane of the timeline they are drawn. */

/** The lanes of the timeline, from top to bottom. */
export const lanes = ['Model', 'Tools', 'Commands', 'Children', 'Waiting'] as const;

const [model, tools, commands, children, waiting, none] = [0, 1, 2, 3, 4, -1];

interface Kind {
  /** The `event_type` of its lines. */
  readonly type: string;
  readonly label: string;
  readonly lane: number;
}

/** A row has the place of its kind in this list. */
const known: readonly Kind[] = [
  { type: 'session_start', label: 'Session', lane: none },
  { type: 'task_received', label: 'Task', lane: none },
  { type: 'task_start', label: 'Attempt', lane: none },
  { type: 'inference', label: 'Model', lane: model },
  { type: 'tool_call', label: 'Tool', lane: tools },
  { type: 'skill_call', label: 'Skill', lane: tools },
  { type: 'shell', label: 'Command', lane: commands },
  { type: 'background_command', label: 'Background', lane: commands },
  { type: 'task_input_required', label: 'Question', lane: waiting },
  { type: 'compaction', label: 'Compaction', lane: model },
  { type: 'hook_error', label: 'Hook', lane: none },
  { type: 'task_reopened', label: 'Reopened', lane: none },
  { type: 'task_canceled', label: 'Canceled', lane: none },
  { type: 'task_end', label: 'Task end', lane: none },
  { type: 'spend_ceiling_reached', label: 'Ceiling', lane: none },
  { type: 'resource_list', label: 'Files asked for', lane: none },
  { type: 'resource_read', label: 'File asked for', lane: none },
  { type: 'resource_refusals', label: 'Refusals', lane: none },
  { type: 'peer_handle_mint', label: 'Shared file', lane: none },
  { type: 'peer_handle_redeem', label: 'Shared file', lane: none },
  { type: 'peer_file_fetch', label: 'Fetched file', lane: none },
  { type: 'delegation', label: 'Child', lane: children },
  { type: 'plan_start', label: 'Plan', lane: none },
  { type: 'plan_step', label: 'Plan step', lane: tools },
  { type: 'plan_end', label: 'Plan', lane: none },
  { type: 'logs_limit_reached', label: 'Logs', lane: none },
  { type: 'push_lost', label: 'Notifications', lane: none },
  { type: 'session_end', label: 'Session end', lane: none },
  { type: 'refusal', label: 'Refusal', lane: none },
  { type: 'refusals', label: 'Refusals', lane: none },
  { type: 'egress', label: 'Connection', lane: none },
  { type: 'file_change', label: 'File', lane: none },
  { type: 'retry', label: 'Retry', lane: none },
  { type: 'approval', label: 'Approval', lane: waiting },
];

/** A line that is no JSON object, or one without a type. */
export const damagedKind = 254;
/** A line of a type that this page does not know. */
export const unknownKind = 255;

const numbers = new Map(known.map(({ type }, index) => [type, index]));

/** The kind of a type; `unknownKind` for one of a later version. */
export function kindOfType(type: string): number {
  return numbers.get(type) ?? unknownKind;
}

/** The kind of a type that is in the list. */
function own(type: string): number {
  const kind = numbers.get(type);
  if (kind === undefined) throw new Error(`no kind is called ${type}`);
  return kind;
}

/** Kinds that others ask for by their names. */
export const kinds = {
  sessionStart: own('session_start'),
  taskReceived: own('task_received'),
  taskStart: own('task_start'),
  model: own('inference'),
  tool: own('tool_call'),
  skill: own('skill_call'),
  command: own('shell'),
  background: own('background_command'),
  question: own('task_input_required'),
  compaction: own('compaction'),
  hookError: own('hook_error'),
  reopened: own('task_reopened'),
  canceled: own('task_canceled'),
  taskEnd: own('task_end'),
  ceiling: own('spend_ceiling_reached'),
  child: own('delegation'),
  planStep: own('plan_step'),
  sessionEnd: own('session_end'),
  refusal: own('refusal'),
  refusals: own('refusals'),
  egress: own('egress'),
  fileChange: own('file_change'),
} as const;

/** The lane of each kind; -1 for one that is in none. */
export const laneOfKind: Int8Array = new Int8Array(256).fill(none);
for (const [index, { lane }] of known.entries()) laneOfKind[index] = lane;

export function labelOf(kind: number): string {
  return known[kind]?.label ?? (kind === damagedKind ? 'Damaged line' : 'Event');
}

/** A call of the model's answer: it has a place of its own in the journal. */
export function isCall(kind: number): boolean {
  return kind === kinds.tool || kind === kinds.skill || kind === kinds.command;
}

/** What is true of a row, as bits. */
export const flags = { failed: 1, truncated: 2, untrusted: 4, exited: 8, refused: 16 } as const;
/** Rows that "Failed only" leaves; `exited` is a command that ended with another code than 0, as its detail says first. */
export const wentWrong: number = flags.failed | flags.refused | flags.exited;

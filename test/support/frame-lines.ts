/** The status frames that nearly every task writes, as `FrameStream.lines` shows them, without their id. */

export function working(turn: number, task = 'task-1'): string {
  return `status {"id":"${task}","status":{"state":"working","message":"inference turn ${turn}"},"final":false}`;
}

export function completed(task = 'task-1'): string {
  return `status {"id":"${task}","status":{"state":"completed","message":"session ended"},"final":true}`;
}

export function canceled(task = 'task-1'): string {
  return `status {"id":"${task}","status":{"state":"canceled","message":"task canceled"},"final":true}`;
}

/** `prompt` as JSON. */
export function waiting(prompt: string, context = 'ctx-1', task = 'task-1'): string {
  return `status {"id":"${task}","context_id":"${context}","status":{"state":"input-required","message":${prompt}},"final":false}`;
}

export function resumed(context = 'ctx-1', task = 'task-1'): string {
  return `status {"id":"${task}","context_id":"${context}","status":{"state":"working","message":"resumed"},"final":false}`;
}

/** The whole reply of a task that streamed none of it. */
export function reply(text: string, task = 'task-1'): string {
  return `text {"id":"${task}","text":"${text}","final":true}`;
}

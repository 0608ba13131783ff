/** Records the project of a command, with a warning where that cannot be done. */

import { rememberProject } from '@svc/capsule/launch/known-projects.ts';
import type { CommandContext } from '@svc/terminal/screen/command-context.ts';
import { render } from '@svc/terminal/screen/render-failure.ts';
import { placesOf } from './project.ts';

/** Records the project of a manifest where it has a `svc.lock`. What was installed stays where that cannot be written: `W-REG-032`. */
export async function rememberOwn(context: CommandContext, manifest: string): Promise<void> {
  const warning = await rememberProject(context.home, placesOf(context, manifest).manifestDir);
  if (warning !== null) context.stderr.write(render([warning], context));
}

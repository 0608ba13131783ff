/** Makes the variables by which toolchains work within the limits of a session. */

import { containedTemporary } from './contained-environment.ts';
import type { ProcessGrants } from './launch/process-grants.ts';

/** Programs that start a Java virtual machine. */
const java = new Set(['java', 'javac', 'jar', 'javadoc', 'jshell', 'mvn', 'gradle', 'ant', 'kotlinc', 'scala', 'sbt']);

/**
 * A Java virtual machine counts the memory of the host, and no limit of the process, unless a control group says less. Go puts the programs that it tests among
 * temporary files, and a composed root runs no program there.
 */
export function toolchainVariables(
  { commands, workdirExec, limits }: Pick<ProcessGrants, 'commands' | 'workdirExec' | 'limits'>,
  workdir: string,
): Readonly<Record<string, string>> {
  return {
    ...(commands.some((name) => java.has(name)) ? { JAVA_TOOL_OPTIONS: `-XX:MaxRAM=${limits.memory}` } : {}),
    ...(workdirExec && commands.includes('go') ? { GOTMPDIR: containedTemporary(workdir) } : {}),
  };
}

/** Makes the variables by which toolchains work within the limits of a session. */

import { containedHome, containedTemporary } from './contained-environment.ts';
import type { ProcessGrants } from './launch/process-grants.ts';

/** Programs that start a Java virtual machine. */
const java = new Set(['java', 'javac', 'jar', 'javadoc', 'jshell', 'mvn', 'gradle', 'ant', 'kotlinc', 'scala', 'sbt']);

/**
 * A Java virtual machine counts the memory of the host, and no limit of the process, unless a control group says less; and it takes the home that the
 * system has of its user for the one of its process. Go puts the programs that it tests among temporary files, and a composed root runs no program there.
 */
export function toolchainVariables(
  { commands, workdirExec, limits }: Pick<ProcessGrants, 'commands' | 'workdirExec' | 'limits'>,
  workdir: string,
): Readonly<Record<string, string>> {
  return {
    ...(commands.some((name) => java.has(name)) ? { JAVA_TOOL_OPTIONS: javaOptions(limits.memory, workdir) } : {}),
    ...(workdirExec && commands.includes('go') ? { GOTMPDIR: containedTemporary(workdir) } : {}),
  };
}

/** Java splits them at blanks, except between two marks. */
function javaOptions(memory: number, workdir: string): string {
  const home = containedHome(workdir);
  const mark = ['"', "'"].find((each) => !home.includes(each));
  return [`-XX:MaxRAM=${memory}`, ...(mark === undefined ? [] : [`-Duser.home=${mark}${home}${mark}`])].join(' ');
}

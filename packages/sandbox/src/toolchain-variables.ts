/** Makes the variables by which toolchains work within the limits of a session. */

import { isLoopbackHost } from '@svc/kit/http/hygiene.ts';
import type { ContainmentClass } from '@svc/protocol/containment-class.ts';
import { containedHome, containedTemporary, egressPortOf, reachesHosts } from './contained-environment.ts';
import type { ProcessGrants } from './launch/process-grants.ts';

/** Programs that start a Java virtual machine. */
const java = new Set(['java', 'javac', 'jar', 'javadoc', 'jshell', 'mvn', 'gradle', 'ant', 'kotlinc', 'scala', 'sbt']);

type ToolchainGrants = Pick<
  ProcessGrants,
  'commands' | 'workdirExec' | 'limits' | 'networkAllow' | 'asksHosts' | 'bound'
>;

/**
 * A Java virtual machine counts the memory of the host, and no limit of the process, unless a control group says less; it takes the home that the
 * system has of its user for the one of its process, and looks for a proxy in its own properties alone. Go puts the programs that it tests among
 * temporary files, and a composed root runs no program there.
 */
export function toolchainVariables(
  grants: ToolchainGrants,
  workdir: string,
  achieved: ContainmentClass,
): Readonly<Record<string, string>> {
  const { commands, workdirExec, limits } = grants;
  const options = (): string =>
    [`-XX:MaxRAM=${limits.memory}`, ...homeOption(workdir), ...proxyOptions(grants, achieved)].join(' ');
  return {
    ...(commands.some((name) => java.has(name)) ? { JAVA_TOOL_OPTIONS: options() } : {}),
    ...(workdirExec && commands.includes('go') ? { GOTMPDIR: containedTemporary(workdir) } : {}),
  };
}

/** Java splits options at blanks, except between two marks. */
function homeOption(workdir: string): readonly string[] {
  const home = containedHome(workdir);
  const mark = ['"', "'"].find((each) => !home.includes(each));
  return mark === undefined ? [] : [`-Duser.home=${mark}${home}${mark}`];
}

/**
 * The options by which Java finds the proxy of a sealed process. Java goes straight to loopback, where a program may have servers of its own, unless an
 * empty list makes no exception.
 */
function proxyOptions(grants: ToolchainGrants, achieved: ContainmentClass): readonly string[] {
  if (achieved !== 'sealed' || !reachesHosts(grants)) return [];
  const { networkAllow, bound } = grants;
  return [
    ...['http', 'https'].flatMap((each) => [
      `-D${each}.proxyHost=127.0.0.1`,
      `-D${each}.proxyPort=${egressPortOf({ bound })}`,
    ]),
    ...(networkAllow.some(({ host }) => isLoopbackHost(host)) ? ['-Dhttp.nonProxyHosts='] : []),
  ];
}

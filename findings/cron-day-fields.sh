#!/bin/sh
# One line of a crontab, three meanings. A day of the month and a day of the week mean "either", except where one of them is `*`. Libraries
# differ in what else counts as `*`. `1-31`: for croner 11.0.1, cron-parser 5.10.6 and croniter 7.0.0 it is not, and the job runs every day;
# for cron 4.4.0 and cron-schedule 6.0.0 it is, and the job runs on Mondays. `*/2`: for cronsim 2.8 it is, and the job runs on Mondays with an
# odd date; for the others the job runs on odd dates and not only on Mondays.
# Seen with Node 20.19 and Python 3.11.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
echo '{"type":"module"}' >package.json
npm install --silent --no-audit --no-fund --ignore-scripts \
  croner@11.0.1 cron-parser@5.10.6 cron@4.4.0 cron-schedule@6.0.0
python3 -m venv python
python/bin/pip install --quiet --disable-pip-version-check croniter==7.0.0 cronsim==2.8
cat >next.js <<'JS'
import { CronTime } from 'cron';
import { CronExpressionParser } from 'cron-parser';
import { parseCronExpression } from 'cron-schedule';
import { Cron } from 'croner';

const from = new Date('2026-01-01T00:00:00Z');
const libraries = {
  croner: (line) => new Cron(line, { timezone: 'UTC' }).nextRuns(3, from),
  'cron-parser': (line) => CronExpressionParser.parse(line, { currentDate: from, tz: 'UTC' }).take(3).map((next) => next.toDate()),
  cron(line) {
    const time = new CronTime(line, 'UTC');
    const days = [from];
    while (days.length < 4) days.push(time.getNextDateFrom(days.at(-1), 'UTC').toJSDate());
    return days.slice(1);
  },
  'cron-schedule': (line) => parseCronExpression(line).getNextDates(3, from),
};
for (const line of process.argv.slice(2))
  for (const [name, next] of Object.entries(libraries))
    console.log(`${line} ${name}: ${next(line).map((date) => date.toISOString().slice(5, 10)).join(' ')}`);
JS
cat >next.py <<'PY'
import sys
from datetime import datetime, timezone

from croniter import croniter
from cronsim import CronSim

start = datetime(2026, 1, 1, tzinfo=timezone.utc)
for line in sys.argv[1:]:
    days = croniter(line, start)
    print(f"{line} croniter:", *(days.get_next(datetime).strftime("%m-%d") for _ in range(3)))
    days = CronSim(line, start)
    print(f"{line} cronsim:", *(next(days).strftime("%m-%d") for _ in range(3)))
PY
seen=$(
  TZ=UTC node next.js '0 0 1-31 * 1' '0 0 */2 * 1'
  python/bin/python next.py '0 0 1-31 * 1' '0 0 */2 * 1'
)
echo "$seen"
[ "$seen" = '0 0 1-31 * 1 croner: 01-02 01-03 01-04
0 0 1-31 * 1 cron-parser: 01-02 01-03 01-04
0 0 1-31 * 1 cron: 01-05 01-12 01-19
0 0 1-31 * 1 cron-schedule: 01-05 01-12 01-19
0 0 */2 * 1 croner: 01-03 01-05 01-07
0 0 */2 * 1 cron-parser: 01-03 01-05 01-07
0 0 */2 * 1 cron: 01-03 01-05 01-07
0 0 */2 * 1 cron-schedule: 01-03 01-05 01-07
0 0 1-31 * 1 croniter: 01-02 01-03 01-04
0 0 1-31 * 1 cronsim: 01-02 01-03 01-04
0 0 */2 * 1 croniter: 01-03 01-05 01-07
0 0 */2 * 1 cronsim: 01-05 01-19 02-09' ]

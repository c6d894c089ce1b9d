"""The instance table: every value is sourced, declared facts win, nothing is guessed, and it loads at once."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

import pytest

from eks_training.facts import refresh
from eks_training.facts.instances import TABLE, DeclaredFacts, UnknownFact, load_instances, read_table

pytestmark = pytest.mark.schema

ROOT = Path(__file__).resolve().parents[2]
UPSTREAM = Path(os.environ.get("EKS_TRAINING_UPSTREAM", ROOT.parent / "shared" / "upstream"))
CATALOGUE = UPSTREAM / "instances" / "ec2-accelerated.json"
IDENTITY = {"instance_type", "family", "notes", "declared", "sources"}
"""Not facts of AWS: names, and remarks that explain other fields."""


def test_every_stated_value_has_a_source_and_a_date() -> None:
    table = load_instances()
    for name in table.names():
        facts = table.get(name)
        assert facts is not None
        for field in set(facts.__slots__) - IDENTITY:
            if getattr(facts, field) is not None:
                source = facts.sources[field]
                assert source.where and source.date, (name, field)
    assert len(table.names()) > 300


@pytest.mark.parametrize(
    ("name", "vcpus", "memory_gib", "arch", "accelerator"),
    [
        ("p5.48xlarge", 192, 2048, "amd64", ("gpu", "h100", 8)),
        ("p6-b300.48xlarge", 192, 4096, "amd64", ("gpu", "b300", 8)),
        ("trn2.48xlarge", 192, 2048, "amd64", ("neuron", "trainium2", 16)),
        ("m7g.large", 2, 8, "arm64", None),
        ("t3.large", 2, 8, "amd64", None),
    ],
)
def test_known_types(
    name: str, vcpus: int, memory_gib: int, arch: str, accelerator: tuple[str, str, int] | None
) -> None:
    facts = load_instances().get(name)
    assert facts is not None
    assert (facts.vcpus, facts.memory_mib, facts.arch) == (vcpus, memory_gib * 1024, arch)
    found = facts.accelerator
    assert (found and (found.kind, found.model, found.count)) == accelerator


def test_unknown_stays_unknown() -> None:
    facts = load_instances().get("p6e-gb200.36xlarge")
    assert facts is not None
    assert facts.efa_supported is True
    assert facts.efa_capable_cards() is None
    assert facts.missing_for_launch() == ("efa_interfaces", "efa_cards")


def test_no_efa_is_known_and_needs_nothing() -> None:
    facts = load_instances().get("g5.xlarge")
    assert facts is not None
    assert facts.efa_capable_cards() == ()
    assert facts.missing_for_launch() == ()


@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        ("p5.48xlage", "p5.48xlarge"),
        ("p6b200.48xlarge", "p6-b200.48xlarge"),
        ("p5.480xlarge", "p5.48xlarge"),
        ("P5.48XLARGE", "p5.48xlarge"),
        ("trn2-48xlarge", "trn2.48xlarge"),
    ],
)
def test_nearest_leads_with_what_was_meant(typed: str, expected: str) -> None:
    assert load_instances().nearest(typed)[0] == expected


def test_nearest_of_a_wrong_size_stays_in_the_family() -> None:
    assert set(load_instances().nearest("p5.24xlarge", n=2)) == {"p5.4xlarge", "p5.48xlarge"}


def test_nearest_of_nonsense_is_empty() -> None:
    assert load_instances().nearest("zzzzzzzz") == ()


def test_declared_facts_win_and_leave_the_table_alone() -> None:
    table = load_instances()
    declared = table.declare("p5.48xlarge", DeclaredFacts(efa_interfaces=31), source="cluster.yaml")
    facts, shipped = declared.get("p5.48xlarge"), table.get("p5.48xlarge")
    assert facts is not None and shipped is not None
    assert (facts.efa_interfaces, shipped.efa_interfaces) == (31, 32)
    assert facts.declared == {"efa_interfaces"}
    assert facts.sources["efa_interfaces"].where == "cluster.yaml"
    assert facts.sources["vcpus"] == shipped.sources["vcpus"]


def test_a_type_can_be_declared_from_nothing_and_step_by_step() -> None:
    table = load_instances().declare("x9.large", DeclaredFacts(vcpus=2), source="cluster.yaml")
    table = table.declare("x9.large", DeclaredFacts(network_cards=1), source="cluster.yaml")
    facts = table.get("x9.large")
    assert facts is not None
    assert (facts.vcpus, facts.network_cards, facts.memory_mib, facts.karpenter) == (2, 1, None, False)
    assert "x9.large" in table.names()
    assert load_instances().get("x9.large") is None


def test_a_fact_that_does_not_exist_cannot_be_declared() -> None:
    with pytest.raises(UnknownFact, match="gpus"):
        load_instances().declare("x9.large", {"gpus": 8}, source="cluster.yaml")  # type: ignore[typeddict-unknown-key]


def test_another_schema_is_refused() -> None:
    with pytest.raises(ValueError, match="schema 2"):
        read_table('{"schema": 1}')


def test_the_table_loads_in_twenty_milliseconds() -> None:
    def once() -> float:
        start = time.perf_counter()
        read_table(TABLE.read_text(encoding="utf-8")).get("p5.48xlarge")
        return time.perf_counter() - start

    assert min(once() for _ in range(5)) < 0.020
    assert TABLE.stat().st_size < 1 << 20


def test_the_shipped_table_is_what_the_catalogue_gives() -> None:
    if not CATALOGUE.exists():
        pytest.skip("the upstream data folder is not at hand; set EKS_TRAINING_UPSTREAM")
    shipped = json.loads(TABLE.read_text(encoding="utf-8"))
    for name, (row, cited) in refresh.accelerated_rows(json.loads(CATALOGUE.read_text(encoding="utf-8"))).items():
        profile, *values = shipped["instances"][name]
        assert json.loads(json.dumps(list(row.values()))) == values, name
        assert shipped["profiles"][profile] == cited, name
    assert shipped["columns"] == ["profile", *refresh.COLUMNS]


KARPENTER_DOC = """### `m7i.large`
#### Labels
 |karpenter.k8s.aws/instance-cpu|2|
 |karpenter.k8s.aws/instance-memory|8192|
 |kubernetes.io/arch|amd64|
#### Resources
 |pods|29|
### `x1.large`
"""
LIMITS = """\t"m7i.large": {
\t\tIPv4PerInterface:        10,
\t\tNetworkCards: []NetworkCard{
\t\t\t{
\t\t\t\tMaximumNetworkInterfaces: 3,
\t\t\t\tNetworkCardIndex:         0,
\t\t\t},
\t\t},
\t},
"""


def _karpenter(folder: Path, doc: str = KARPENTER_DOC) -> Path:
    texts = {refresh.DOC: doc, refresh.LIMITS: LIMITS, refresh.BANDWIDTH: '\t\t"m7i.large": 781,\n'}
    for key, text in texts.items():
        (folder / refresh.FILES[key]).write_text(text, encoding="utf-8")
    return folder


def test_refresh_is_deterministic_and_reads_back(tmp_path: Path) -> None:
    (tmp_path / "in.json").write_text(json.dumps({"instances": {}, "sources": _cited()}), encoding="utf-8")
    arguments = ["--accelerated", str(tmp_path / "in.json"), "--karpenter", str(_karpenter(tmp_path)), "--out"]
    assert refresh.main([*arguments, str(tmp_path / "one.json")]) == 0
    assert refresh.main([*arguments, str(tmp_path / "two.json")]) == 0
    text = (tmp_path / "one.json").read_text(encoding="utf-8")
    assert text == (tmp_path / "two.json").read_text(encoding="utf-8")
    facts = read_table(text).get("m7i.large")
    assert facts is not None
    assert (facts.vcpus, facts.network_gbps, facts.interfaces_per_card, facts.efa_interfaces) == (2, 0.781, (3,), 0)
    assert facts.sources["network_gbps"].date == "2026-08-21"


def test_refresh_says_what_it_cannot_use(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "in.json").write_text(json.dumps({"instances": {}, "sources": {}}), encoding="utf-8")
    arguments = ["--accelerated", str(tmp_path / "in.json"), "--karpenter", str(tmp_path), "--out", str(tmp_path / "o")]
    assert refresh.main(arguments) == 2
    assert "instance-types.md" in capsys.readouterr().err
    _karpenter(tmp_path, doc="nothing")
    assert refresh.main(arguments) == 2
    assert "no general-purpose instance type" in capsys.readouterr().err


def _cited() -> dict[str, dict[str, str]]:
    return {key: {"repo": "r", "commit": "c", "date": "2026-08-21T01:02:03Z"} for key in refresh.FILES}

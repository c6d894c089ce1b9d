"""Rebuild `instances.json` from the public tables it was extracted from.

    python -m eks_training.facts.refresh --accelerated FILE --karpenter DIR --out FILE

`--accelerated` is a catalogue of accelerated and EFA-capable types whose every field names its source.
`--karpenter` is a folder with three files of aws/karpenter-provider-aws at the commit that the catalogue cites:
`instance-types.md` (website/content/en/docs/reference) and `zz_generated.vpclimits.go`, `zz_generated.bandwidth.go`
(pkg/providers/instancetype). They give the general-purpose types of a system pool.

The output is a pure function of the inputs: sorted, one instance a line, no clock. So a refresh is a reviewable diff.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

DOC, LIMITS, BANDWIDTH = "karpenter-instance-types-doc", "karpenter-vpclimits-table", "karpenter-bandwidth-table"
FILES = {DOC: "instance-types.md", LIMITS: "zz_generated.vpclimits.go", BANDWIDTH: "zz_generated.bandwidth.go"}

COLUMNS = (
    "vcpus", "memory_mib", "arch", "accelerator", "neuron_cores", "network_gbps", "network_cards",
    "interfaces_per_card", "ipv4_per_interface", "efa_supported", "efa_interfaces", "efa_cards",
    "instance_store_gb", "karpenter", "notes",
)  # fmt: skip
RENAMED = {
    "neuron": "neuron_cores",
    "max_network_cards": "network_cards",
    "max_interfaces_per_card": "interfaces_per_card",
    "efa_capable_card_indexes": "efa_cards",
    "in_karpenter_catalogue": "karpenter",
}
GENERAL_PURPOSE = frozenset({
    "m5", "m6i", "m6a", "m6g", "m7i", "m7a", "m7g", "m8i", "m8a", "m8g", "c6i", "c6a", "c6g", "c7i", "c7a", "c7g",
    "c8i", "c8g", "r6i", "r7i", "r7g", "r8i", "t3", "t3a", "t4g",
})  # fmt: skip
TOO_SMALL = frozenset({"nano", "micro", "small"})
READ_ON = "read 2026-12-01"

Row = dict[str, Any]


class RefreshError(ValueError):
    """The inputs cannot give a table: a file is missing, has another shape, or contradicts the other input."""


def accelerated_rows(catalogue: Mapping[str, Any]) -> dict[str, tuple[Row, dict[str, str]]]:
    """Map each type of the catalogue to its values by column and its `field -> source id` mapping."""
    rows: dict[str, tuple[Row, dict[str, str]]] = {}
    for name, raw in catalogue["instances"].items():
        row = {RENAMED.get(key, key): value for key, value in raw.items()}
        row["neuron_cores"] = raw["neuron"]["cores"] if raw["neuron"] else None
        if raw["accelerator"]:
            row["accelerator"] = [raw["accelerator"][key] for key in ("kind", "name", "count", "memory_mib_each")]
        cited = {RENAMED.get(str(key), str(key)): str(source) for key, source in raw["sources"].items()}
        cited["karpenter"] = DOC
        kept = {column: row[column] for column in COLUMNS}
        rows[name] = (kept, {key: cited[key] for key in sorted(cited) if _states(kept, key)})
    return rows


def general_purpose_rows(folder: Path) -> dict[str, tuple[Row, dict[str, str]]]:
    """Map each general-purpose type of the Karpenter files to its values and sources.

    Raises `RefreshError` when a file is missing or no type is found in it.
    """
    doc, limits, bandwidth = (_read(folder / FILES[key]) for key in (DOC, LIMITS, BANDWIDTH))
    cards = _limits(limits)
    megabits = {name: int(value) for name, value in re.findall(r'^\s*"([^"]+)":\s*(\d+),', bandwidth, re.M)}
    rows: dict[str, tuple[Row, dict[str, str]]] = {}
    for name, body in re.findall(r"^### `([^`]+)`\n(.*?)(?=^#{2,3} |\Z)", doc, re.M | re.S):
        family, size = name.split(".", 1)
        if family not in GENERAL_PURPOSE or size in TOO_SMALL or size.startswith("metal"):
            continue
        labels = dict(re.findall(r"^ \|([^|]+)\|([^|]+)\|$", body, re.M))
        efa = int(labels.get("vpc.amazonaws.com/efa", 0))
        row: Row = dict.fromkeys(COLUMNS)
        row |= {
            "vcpus": int(labels["karpenter.k8s.aws/instance-cpu"]),
            "memory_mib": int(labels["karpenter.k8s.aws/instance-memory"]),
            "arch": labels["kubernetes.io/arch"],
            "efa_supported": efa > 0,
            "efa_interfaces": efa,
            "instance_store_gb": int(labels.get("karpenter.k8s.aws/instance-local-nvme", 0)),
            "karpenter": True,
            "notes": [],
        }
        cited = {column: DOC for column, value in row.items() if value is not None and column != "notes"}
        if name in cards:
            row |= cards[name]
            cited |= dict.fromkeys(cards[name], LIMITS)
        if name in megabits:
            row["network_gbps"] = _whole(megabits[name] / 1000)
            cited["network_gbps"] = BANDWIDTH
        rows[name] = (row, dict(sorted(cited.items())))
    if not rows:
        raise RefreshError(f"{folder / FILES[DOC]}: no general-purpose instance type found; the layout has changed")
    return rows


def build(catalogue: Mapping[str, Any], karpenter: Path) -> str:
    """Return the text of `instances.json`. Raises `RefreshError` on a contradiction between the two inputs."""
    accelerated, general = accelerated_rows(catalogue), general_purpose_rows(karpenter)
    for name in accelerated.keys() & general.keys():
        for column in ("vcpus", "memory_mib", "network_cards", "efa_interfaces"):
            left, right = accelerated[name][0][column], general[name][0][column]
            if left != right:
                raise RefreshError(f"{name}: {column} is {left} in the catalogue but {right} in the Karpenter files")
    rows = general | accelerated
    profiles = sorted({_profile(cited) for _, cited in rows.values()})
    index = {text: number for number, text in enumerate(profiles)}
    lines = [
        f"  {json.dumps(name)}: " + json.dumps([index[_profile(cited)], *row.values()], separators=(",", ":"))
        for name, (row, cited) in sorted(rows.items())
    ]
    head = {"schema": 2, "columns": ["profile", *COLUMNS], "sources": _sources(catalogue)}
    body = [
        json.dumps(head, indent=1, sort_keys=True)[:-2] + ",",
        ' "profiles": [\n  ' + ",\n  ".join(profiles) + "\n ],",
        ' "instances": {\n' + ",\n".join(lines) + "\n }\n}\n",
    ]
    return "\n".join(body)


def _sources(catalogue: Mapping[str, Any]) -> dict[str, dict[str, str]]:
    """Web pages carry no commit date; they get the day on which they were read, marked as such."""
    out: dict[str, dict[str, str]] = {}
    for key, raw in catalogue["sources"].items():
        where = raw.get("page") or f"{raw['repo']}{'@' + raw['commit'] if 'commit' in raw else ''}"
        detail = raw.get("path") or raw.get("thread") or ""
        day = str(raw.get("date", READ_ON)).split("T")[0]
        out[key] = {"where": f"{where} {detail}".strip(), "date": day}
    return out


def _profile(cited: Mapping[str, str]) -> str:
    return json.dumps(cited, sort_keys=True)


def _states(row: Row, key: str) -> bool:
    return row.get(key.split(".")[0]) is not None


def _limits(text: str) -> dict[str, Row]:
    found: dict[str, Row] = {}
    for name, body in re.findall(r'^\t"([^"]+)": \{\n(.*?)^\t\},', text, re.M | re.S):
        pairs = re.findall(r"MaximumNetworkInterfaces: (\d+),\s*NetworkCardIndex:\s*(\d+)", body)
        per_card = [int(count) for count, _ in sorted(pairs, key=lambda pair: int(pair[1]))]
        address = re.search(r"IPv4PerInterface:\s*(\d+)", body)
        if per_card and address:
            found[name] = {
                "network_cards": len(per_card),
                "interfaces_per_card": per_card,
                "ipv4_per_interface": int(address[1]),
            }
    return found


def _whole(value: float) -> float | int:
    return int(value) if value == int(value) else value


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise RefreshError(f"{path}: {error.strerror or error}") from error


def main(argv: Sequence[str] | None = None) -> int:
    """Write the table. Exit code 0, or 2 with one line on stderr when an input cannot be used."""
    parser = argparse.ArgumentParser(prog="python -m eks_training.facts.refresh", description="Rebuild instances.json")
    parser.add_argument("--accelerated", type=Path, required=True, help="catalogue of accelerated types (JSON)")
    parser.add_argument("--karpenter", type=Path, required=True, help="folder with the three Karpenter files")
    parser.add_argument("--out", type=Path, required=True, help="file to write")
    options = parser.parse_args(argv)
    try:
        text = build(json.loads(_read(options.accelerated)), options.karpenter)
    except (RefreshError, KeyError, json.JSONDecodeError) as error:
        print(f"refresh: {type(error).__name__}: {error}", file=sys.stderr)
        return 2
    options.out.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())

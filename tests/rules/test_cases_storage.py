"""Storage faults that people met in public, each with the rule and the place that answers it.

A `§` in a text stands before the place that the finding must point at.
"""

from __future__ import annotations

import textwrap

import pytest

from eks_training.facts import facts_for
from eks_training.finding import Finding, has_errors
from eks_training.loading import load_bytes
from eks_training.rulebook import Subject, check
from eks_training.rules.example import BASE

pytestmark = pytest.mark.arithmetic


def findings(text: str) -> tuple[Finding, ...]:
    loaded = load_bytes(text.encode(), "cluster.yaml")
    if loaded.document is None or loaded.spec is None:
        return loaded.findings
    return check(loaded.document, Subject(loaded.spec, facts_for(loaded.spec)))


def marked(storage: str) -> tuple[str, set[tuple[int, int]]]:
    """The whole file, and the places of the marks as line and column."""
    text, places = BASE + textwrap.dedent(storage).lstrip("\n"), set()
    while (at := text.find("§")) >= 0:
        places.add((text.count("\n", 0, at) + 1, at - text.rfind("\n", 0, at)))
        text = text[:at] + text[at + 1 :]
    return text, places


def lustre(create: str) -> str:
    return f"storage:\n  lustre:\n    work:\n      create: {{{create}}}\n"


def existing(fields: str) -> str:
    return f"storage:\n  lustre:\n    work:\n      §existing: {{id: fs-0aa11bb22cc33dd44, dns_name: a.org{fields}}}\n"


LINKED = """
    storage:
      lustre:
        work:
          create:
            deployment: SCRATCH_2
            capacity_gib: 1200
            associations:
              one: {bucket: data, prefix: a/, path: /a}
              two: {%s}
      buckets:
        data: {existing: {bucket_name: example-data}}
        far: {existing: {bucket_name: example-far, region: eu-west-1}}
        keyed: {create: {encryption: kms}}
"""
TIERED = "deployment: PERSISTENT_2, storage_class: INTELLIGENT_TIERING, read_cache: {sizing: NO_CACHE}"
SSD = "deployment: PERSISTENT_2, capacity_gib: 1200, throughput_mbps_per_tib: 250"


@pytest.mark.parametrize(
    ("storage", "rule"),
    [
        pytest.param(
            lustre("deployment: SCRATCH_2, capacity_gib: 1200, throughput_mbps_per_tib: §125"), "FSX004", id="O-FSX-1"
        ),
        pytest.param(lustre("deployment: SCRATCH_2, capacity_gib: §3600"), "FSX003", id="O-FSX-2"),
        pytest.param(lustre("deployment: SCRATCH_2, capacity_gib: §600"), "FSX003", id="O-FSX-2-small"),
        pytest.param(
            lustre("deployment: PERSISTENT_2, capacity_gib: 2400, throughput_mbps_per_tib: §200"),
            "FSX006",
            id="O-FSX-3",
        ),
        pytest.param(
            lustre("deployment: PERSISTENT_2, capacity_gib: 2400").replace("create", "§create"),
            "FSX005",
            id="O-FSX-3-missing",
        ),
        pytest.param(lustre(f"{SSD}, §import_path: 's3://ex-data/in'"), "CFG003", id="O-FSX-4"),
        pytest.param(lustre(f"{SSD}, §export_path: 's3://ex-data/out'"), "CFG003", id="O-FSX-4-export"),
        pytest.param(lustre(f"{SSD}, §auto_import_policy: NEW"), "CFG003", id="O-FSX-4-policy"),
        pytest.param(existing(", deployment: PERSISTENT_2"), "CFG004", id="O-FSX-5-missing"),
        pytest.param(
            existing(", deployment: PERSISTENT_2, mount_name: §fsx").replace("§e", "e"), "FSX060", id="O-FSX-5-fsx"
        ),
        pytest.param(
            existing(", deployment: SCRATCH_1, mount_name: §a1b2").replace("§e", "e"), "FSX061", id="O-FSX-5-scratch-1"
        ),
        pytest.param(
            lustre('deployment: SCRATCH_2, capacity_gib: 2400, lustre_version: §"2.10"'), "FSX009", id="O-FSX-8"
        ),
        pytest.param(
            lustre("deployment: SCRATCH_2, capacity_gib: 2400, lustre_version: §2.10"), "FSX009", id="O-FSX-8-number"
        ),
        pytest.param(
            existing(", mount_name: a1b2, lustre_version: §'2.10'").replace("§e", "e"), "FSX062", id="O-FSX-8-existing"
        ),
        pytest.param(
            "storage: {efs: {home: {create: {access_points: {§user: {path: /home, uid: 1000}}}}}}\n",
            "CFG004",
            id="O-EFS-1-one-of-two",
        ),
        pytest.param(
            "storage: {efs: {home: {create: {access_points: {user: {path: /home, uid: §0, gid: 100}}}}}}\n",
            "EFS007",
            id="O-EFS-1-root",
        ),
        pytest.param(
            "storage: {efs: {home: {create: {§mount_target_azs: [us-east-2a], "
            "access_points: {user: {path: /home, uid: 1000, gid: 100}}}}}}\n",
            "CFG003",
            id="O-EFS-2",
        ),
        pytest.param(
            lustre(f"deployment: SCRATCH_2, capacity_gib: 1200, {'§'}backups: {{retention_days: 7}}"),
            "FSX007",
            id="trap-22",
        ),
        pytest.param(lustre(f"{TIERED}, throughput_mbps: 4000, capacity_gib: §1200"), "FSX021", id="tiering-capacity"),
        pytest.param(lustre(f"{TIERED}, throughput_mbps: §5000"), "FSX024", id="tiering-throughput"),
        pytest.param(lustre(f"{TIERED}, throughput_mbps: §2004000"), "FSX024", id="tiering-maximum"),
        pytest.param(lustre(f"{SSD.replace('1200', '19200')}, efa: §true"), "FSX051", id="efa-without-metadata"),
        pytest.param(
            lustre(
                "deployment: PERSISTENT_2, capacity_gib: §19200, throughput_mbps_per_tib: 125, efa: true, "
                "metadata: {mode: AUTOMATIC}"
            ),
            "FSX053",
            id="efa-capacity",
        ),
        pytest.param(
            lustre(f"{SSD}, metadata: {{mode: USER_PROVISIONED, iops: §36001}}"), "FSX043", id="metadata-iops"
        ),
        pytest.param(LINKED % "bucket: §dta, prefix: b/, path: /b", "DRA001", id="bucket-misspelt"),
        pytest.param(LINKED % "bucket: data, prefix: b/, path: §/a/b", "DRA003", id="paths-nested"),
        pytest.param(LINKED % "bucket: data, prefix: b/, path: §/a/", "DRA003", id="paths-equal-but-for-a-slash"),
        pytest.param(LINKED % "bucket: data, prefix: b/, path: §/", "DRA004", id="root-not-alone"),
        pytest.param(LINKED % "bucket: data, prefix: §a/b/, path: /b", "DRA005", id="prefixes-nested"),
        pytest.param((LINKED % "bucket: data, path: /b").replace("two", "§two"), "DRA005", id="whole-bucket"),
        pytest.param(LINKED % "bucket: far, path: /b, §auto_import: [NEW]", "DRA011", id="import-across-regions"),
        pytest.param(LINKED % "bucket: §far, path: /b, auto_export: [NEW]", "DRA012", id="export-across-regions"),
        pytest.param(LINKED % "bucket: §keyed, path: /b", "DRA009", id="trap-17-kms"),
        pytest.param(LINKED % "bucket: data, prefix: b/, path: /b, auto_export: [NEW, §NEW]", "DRA013", id="event"),
        pytest.param(
            "storage: {buckets: {ckpt: {create: {}, mount: true, grants: [{namespace: a, service_account: b, "
            "access: §write}]}}}\n",
            "BKT005",
            id="trap-25-mountpoint",
        ),
        pytest.param("storage: {buckets: {b: {create: {bucket_name: §192.168.5.4}}}}\n", "BKT002", id="address"),
        pytest.param("storage: {removal: delete, buckets: {b: {§create: {}}}}\n", "BKT006", id="trap-26-delete"),
    ],
)
def test_fault_is_found_at_its_place(storage: str, rule: str) -> None:
    text, places = marked(storage)
    found = findings(text)
    assert [(item.rule, item.span and (item.span.line, item.span.column)) for item in found] == [
        (rule, place) for place in places
    ]


@pytest.mark.parametrize(
    "storage",
    [
        pytest.param(lustre("deployment: SCRATCH_2, capacity_gib: 1200"), id="O-FSX-1"),
        pytest.param(lustre("deployment: SCRATCH_2, capacity_gib: 4800"), id="O-FSX-2"),
        *(
            pytest.param(
                lustre(f"deployment: PERSISTENT_2, capacity_gib: 2400, throughput_mbps_per_tib: {tier}"), id=str(tier)
            )
            for tier in (125, 250, 500, 1000)
        ),
        pytest.param(LINKED % "bucket: data, prefix: b/, path: /b, auto_import: [NEW, DELETED]", id="O-FSX-4"),
        pytest.param(LINKED % "bucket: data, prefix: ab/, path: /ab", id="same-beginning-is-not-nested"),
        pytest.param(existing(", deployment: PERSISTENT_2, mount_name: a1b2cdef").replace("§", ""), id="O-FSX-5"),
        pytest.param(existing(", deployment: SCRATCH_1, mount_name: fsx").replace("§", ""), id="O-FSX-5-scratch-1"),
        pytest.param(existing(", mount_name: fsx").replace("§", ""), id="O-FSX-5-type-unknown"),
        pytest.param(existing(", mount_name: a1, lustre_version: '2.12'").replace("§", ""), id="O-FSX-8-2.12-mounts"),
        pytest.param(
            lustre(f"{TIERED}, throughput_mbps: 8000, metadata: {{mode: USER_PROVISIONED, iops: 6000}}, efa: true"),
            id="tiering-with-efa",
        ),
        pytest.param(lustre(f"{SSD}, metadata: {{mode: USER_PROVISIONED, iops: 192000}}"), id="metadata-maximum"),
        pytest.param(
            "storage: {efs: {home: {create: {access_points: {user: {path: /home, uid: 1000, gid: 100, "
            "permissions: 0700}}}}}}\n",
            id="O-EFS-1",
        ),
        pytest.param(
            "storage: {efs: {home: {create: {access_points: {a: {path: /h, uid: 1, gid: 1}, "
            "b: {path: /h, uid: 1, gid: 1}}}}}}\n",
            id="one-directory-one-identity",
        ),
        pytest.param(
            "storage: {buckets: {ckpt: {create: {}, grants: [{namespace: a, service_account: b, access: write}]}}}\n",
            id="written-and-not-mounted",
        ),
    ],
)
def test_right_storage_is_accepted(storage: str) -> None:
    assert findings(marked(storage)[0]) == ()


def test_a_size_off_the_grid_names_its_neighbours() -> None:
    (finding,) = findings(BASE + lustre("deployment: SCRATCH_2, capacity_gib: 3600"))
    assert finding.found == "3600 GiB is not on the grid"
    assert finding.expected.endswith("nearest: 2400 and 4800")
    assert finding.hint == "set capacity_gib to 2400 or 4800"


def test_a_misspelt_bucket_gets_its_nearest_name() -> None:
    (finding,) = findings(marked(LINKED % "bucket: dta, path: /b, prefix: b/")[0])
    assert finding.hint == "did you mean `data`?"


def granted(account: str, more: str = "") -> str:
    grant = f"{{namespace: kube-system, service_account: §{account}, access: read}}"
    return f"storage: {{buckets: {{data: {{create: {{}}, grants: [{grant}]{more}}}}}}}\n"


@pytest.mark.parametrize(
    ("account", "more"), [("aws-node", ""), ("ebs-csi-controller-sa", ""), ("s3-csi-driver-sa", ", mount: true")]
)
def test_accounts_of_addons_take_no_grant(account: str, more: str) -> None:
    text, places = marked(granted(account, more))
    (finding,) = findings(text)
    assert finding.rule == "BKT011"
    assert finding.span is not None and {(finding.span.line, finding.span.column)} == places
    assert findings(text.replace("kube-system", "training")) == ()


def test_accounts_of_what_is_not_installed_take_a_grant() -> None:
    for account in ("karpenter", "s3-csi-driver-sa", "efs-csi-controller-sa"):
        assert findings(marked(granted(account))[0]) == ()


def test_the_account_of_karpenter_takes_no_grant_where_it_runs() -> None:
    text = marked(granted("karpenter"))[0].replace(
        "    nodes: 4\n", "    provisioner: karpenter\n    nodes: {max: 4}\n"
    )
    (finding,) = findings(text)
    assert (finding.rule, finding.found) == ("BKT011", "kube-system/karpenter, which has the role of Karpenter")


def test_backups_and_links_exclude_each_other() -> None:
    text = marked(LINKED % "bucket: data, prefix: b/, path: /b")[0].replace(
        "deployment: SCRATCH_2",
        "deployment: PERSISTENT_2\n        throughput_mbps_per_tib: 250\n        backups: {retention_days: 7}",
    )
    found = findings(text)
    assert [item.rule for item in found] == ["DRA008"]
    assert has_errors(found)
    assert found[0].related[0].span is not None


def test_all_faults_come_in_one_run_in_the_order_of_the_file() -> None:
    text = BASE + (
        "storage:\n  lustre:\n    a: {create: {deployment: SCRATCH_2, capacity_gib: 100, throughput_mbps: 1}}\n"
        "    b: {}\n  buckets:\n    c: {}\n"
    )
    found = findings(text)
    assert [item.rule for item in found] == ["FSX003", "FSX026", "FSX001", "BKT001"]
    assert [item.span for item in found] == sorted(item.span for item in found if item.span)

"""What the storage stack says for every kind of FSx for Lustre file system."""

from __future__ import annotations

from typing import Any

import pytest

from tests.stacks.storage_synthesis import EVERYTHING, storage_stacks, which
from tests.synthesis import Template, of_type, only

pytestmark = pytest.mark.template

FILE_SYSTEM = "AWS::FSx::FileSystem"
LINK = "AWS::FSx::DataRepositoryAssociation"
INGRESS, EGRESS = "AWS::EC2::SecurityGroupIngress", "AWS::EC2::SecurityGroupEgress"
SCRATCH = "deployment: SCRATCH_2, capacity_gib: 2400"
SSD = "deployment: PERSISTENT_2, capacity_gib: 4800, throughput_mbps_per_tib: 250"
TIERED = """deployment: PERSISTENT_2, storage_class: INTELLIGENT_TIERING, throughput_mbps: 4000,
  metadata: {mode: USER_PROVISIONED, iops: 6000}, read_cache: {sizing: PROPORTIONAL_TO_THROUGHPUT_CAPACITY}"""
EFA = """deployment: PERSISTENT_2, capacity_gib: 4800, throughput_mbps_per_tib: 1000, metadata: {mode: AUTOMATIC},
  efa: true"""
KINDS = {"scratch": SCRATCH, "ssd": SSD, "tiered": TIERED, "efa": EFA}


def lustre(create: str) -> Template:
    return storage_stacks(f"{{lustre: {{fast: {{create: {{{create}}}}}}}}}").storage


def settings(create: str) -> dict[str, Any]:
    found: dict[str, Any] = only(lustre(create), FILE_SYSTEM)["LustreConfiguration"]
    return found


def rules(template: Template, kind: str) -> list[dict[str, Any]]:
    return [item["Properties"] for item in of_type(template, kind).values()]


@pytest.mark.parametrize("kind", KINDS)
def test_every_lustre_names_its_version_and_lies_in_the_training_subnet(kind: str) -> None:
    stacks = storage_stacks(f"{{lustre: {{fast: {{create: {{{KINDS[kind]}}}}}}}}}")
    properties = only(stacks.storage, FILE_SYSTEM)
    assert properties["FileSystemType"] == "LUSTRE"
    assert properties["FileSystemTypeVersion"] == "2.15"
    (subnet,) = properties["SubnetIds"]
    output = subnet["Fn::GetStackOutput"]
    assert output["StackName"] == stacks.plan.network.stack
    logical_id = stacks.network["Outputs"][output["OutputName"]]["Value"]["Ref"]
    made = stacks.network["Resources"][logical_id]["Properties"]
    assert made["CidrBlock"] == stacks.plan.network.training_subnet.cidr
    assert made["AvailabilityZone"] == "us-east-2b"


@pytest.mark.parametrize("kind", KINDS)
def test_no_lustre_has_a_link_inside_the_file_system(kind: str) -> None:
    assert not {"ImportPath", "ExportPath", "AutoImportPolicy", "ImportedFileChunkSize"} & set(settings(KINDS[kind]))


def test_scratch_has_only_what_scratch_takes() -> None:
    properties = only(lustre(SCRATCH), FILE_SYSTEM)
    assert (properties["StorageCapacity"], properties["StorageType"]) == (2400, "SSD")
    assert properties["LustreConfiguration"] == {"DeploymentType": "SCRATCH_2", "DataCompressionType": "LZ4"}


def test_persistent_ssd() -> None:
    properties = only(lustre(SSD), FILE_SYSTEM)
    assert (properties["StorageCapacity"], properties["StorageType"]) == (4800, "SSD")
    assert properties["LustreConfiguration"] == {
        "DeploymentType": "PERSISTENT_2",
        "PerUnitStorageThroughput": 250,
        "DataCompressionType": "LZ4",
    }


def test_intelligent_tiering_has_throughput_and_cache_but_no_size() -> None:
    properties = only(lustre(TIERED), FILE_SYSTEM)
    assert properties["StorageType"] == "INTELLIGENT_TIERING"
    assert "StorageCapacity" not in properties
    assert properties["LustreConfiguration"] == {
        "DeploymentType": "PERSISTENT_2",
        "ThroughputCapacity": 4000,
        "DataReadCacheConfiguration": {"SizingMode": "PROPORTIONAL_TO_THROUGHPUT_CAPACITY"},
        "MetadataConfiguration": {"Mode": "USER_PROVISIONED", "Iops": 6000},
        "DataCompressionType": "LZ4",
    }


def test_efa_is_switched_on_with_metadata() -> None:
    found = settings(EFA)
    assert found["EfaEnabled"] is True
    assert found["MetadataConfiguration"] == {"Mode": "AUTOMATIC"}


def test_compression_backups_and_maintenance() -> None:
    found = settings(
        SSD + ', compression: NONE, maintenance_window: "7:03:30", '
        'backups: {retention_days: 7, start_time: "04:00", copy_tags: false}'
    )
    assert found["DataCompressionType"] == "NONE"
    assert found["WeeklyMaintenanceStartTime"] == "7:03:30"
    assert found["AutomaticBackupRetentionDays"] == 7
    assert found["DailyAutomaticBackupStartTime"] == "04:00"
    assert found["CopyTagsToBackups"] is False


@pytest.mark.parametrize("kind", ["scratch", "ssd", "tiered"])
def test_lustre_ports_between_nodes_and_servers(kind: str) -> None:
    template = lustre(KINDS[kind])
    found = {
        (which(rule["GroupId"]), which(rule["SourceSecurityGroupId"]), rule["FromPort"], rule["ToPort"])
        for rule in rules(template, INGRESS)
    }
    assert {rule["IpProtocol"] for rule in rules(template, INGRESS)} == {"tcp"}
    pairs = [("servers", "servers"), ("servers", "nodes"), ("nodes", "servers")]
    assert found == {(*pair, *ports) for pair in pairs for ports in ((988, 988), (1018, 1023))}
    assert rules(template, EGRESS) == []
    # No egress of its own: CloudFormation then leaves EC2's rule that lets everything out.
    assert "SecurityGroupEgress" not in only(template, "AWS::EC2::SecurityGroup")


def test_efa_takes_all_traffic_both_ways_on_both_sides() -> None:
    template = lustre(EFA)
    pairs = {("servers", "servers"), ("servers", "nodes"), ("nodes", "servers")}
    assert {
        (which(rule["GroupId"]), which(rule["SourceSecurityGroupId"])) for rule in rules(template, INGRESS)
    } == pairs
    assert {
        (which(rule["GroupId"]), which(rule["DestinationSecurityGroupId"])) for rule in rules(template, EGRESS)
    } == pairs
    both = [*rules(template, INGRESS), *rules(template, EGRESS)]
    assert {rule["IpProtocol"] for rule in both} == {"-1"}
    assert not any("FromPort" in rule or "CidrIp" in rule for rule in both)


@pytest.mark.parametrize("kind", KINDS)
def test_lustre_waits_for_every_rule(kind: str) -> None:
    template = lustre(KINDS[kind])
    (made,) = of_type(template, FILE_SYSTEM).values()
    expected = {*of_type(template, INGRESS), *of_type(template, EGRESS)}
    assert expected
    assert set(made["DependsOn"]) == expected
    (group,) = of_type(template, "AWS::EC2::SecurityGroup")
    assert made["Properties"]["SecurityGroupIds"] == [{"Fn::GetAtt": [group, "GroupId"]}]


def test_associations_are_resources_that_wait_for_the_bucket() -> None:
    template = storage_stacks(EVERYTHING).storage
    (file_system,) = of_type(template, FILE_SYSTEM)
    links = {item["Properties"]["FileSystemPath"]: item for item in of_type(template, LINK).values()}
    corpora, results = links["/datasets"], links["/outputs"]
    assert corpora["Properties"] == {
        "FileSystemId": {"Ref": file_system},
        "FileSystemPath": "/datasets",
        "DataRepositoryPath": "s3://example-datasets/corpora/",
        "BatchImportMetaDataOnCreate": True,
        "ImportedFileChunkSize": 1024,
        "S3": {"AutoImportPolicy": {"Events": ["NEW", "CHANGED", "DELETED"]}},
    }
    assert "DependsOn" not in corpora
    (policy,) = results["DependsOn"]
    assert template["Resources"][policy]["Type"] == "AWS::S3::BucketPolicy"
    bucket = template["Resources"][policy]["Properties"]["Bucket"]["Ref"]
    assert results["Properties"]["DataRepositoryPath"] == {"Fn::Join": ["", ["s3://", {"Ref": bucket}, "/"]]}
    assert results["Properties"]["BatchImportMetaDataOnCreate"] is False
    assert results["Properties"]["S3"] == {"AutoExportPolicy": {"Events": ["NEW", "CHANGED"]}}


def test_a_kept_lustre_keeps_its_security_group_and_rules() -> None:
    template = lustre(EFA)
    for kind in ("AWS::EC2::SecurityGroup", INGRESS, EGRESS):
        assert {item["DeletionPolicy"] for item in of_type(template, kind).values()} == {"RetainExceptOnCreate"}


@pytest.mark.parametrize("kind", KINDS)
def test_no_lustre_is_left_unexplained(kind: str) -> None:
    assert storage_stacks(f"{{lustre: {{fast: {{create: {{{KINDS[kind]}}}}}}}}}").complaints == ()

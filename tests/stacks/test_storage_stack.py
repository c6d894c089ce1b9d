"""What the storage stack says for EFS and S3, and as a whole; FSx for Lustre is in test_storage_lustre.py."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from eks_training.plan import Plan
from eks_training.plan.value import Output
from tests.stacks.storage_synthesis import EVERYTHING, storage_stacks, which
from tests.synthesis import of_type, only

pytestmark = pytest.mark.template

FILE_SYSTEM = "AWS::FSx::FileSystem"
STATEFUL = (
    FILE_SYSTEM,
    "AWS::EFS::FileSystem",
    "AWS::EFS::AccessPoint",
    "AWS::S3::Bucket",
    "AWS::S3::BucketPolicy",
    "AWS::KMS::Key",
)
DELETED = EVERYTHING.replace("{\n", "{removal: delete,\n", 1)
EXISTING = """{lustre: {old: {existing: {id: fs-0123456789abcdef0, mount_name: abcdefgh,
    dns_name: fs-0123456789abcdef0.fsx.us-east-2.amazonaws.com}}},
  efs: {homes: {existing: {id: fs-0123456789abcdef1, access_points: {users: fsap-0123456789abcdef0}}}},
  buckets: {datasets: {existing: {bucket_name: example-datasets}}}}"""


def published(plan: Plan) -> set[str]:
    storage = plan.storage
    values = [
        *(value for item in storage.lustre for value in (item.id, item.dns_name, item.mount_name)),
        *(value for item in storage.efs for value in (item.id, *(point.id for point in item.access_points))),
        *(value for item in storage.buckets for value in (item.bucket_name, item.kms_key_arn)),
    ]
    return {value.key for value in values if isinstance(value, Output)}


def test_efs_is_encrypted_backed_up_and_elastic() -> None:
    properties = only(storage_stacks(EVERYTHING).storage, "AWS::EFS::FileSystem")
    assert properties["Encrypted"] is True
    assert properties["BackupPolicy"] == {"Status": "ENABLED"}
    assert properties["ThroughputMode"] == "elastic"


def test_efs_without_backups() -> None:
    text = EVERYTHING.replace("homes: {create: {", "homes: {create: {backups: false, throughput: bursting, ")
    properties = only(storage_stacks(text).storage, "AWS::EFS::FileSystem")
    assert properties["BackupPolicy"] == {"Status": "DISABLED"}
    assert properties["ThroughputMode"] == "bursting"


def test_efs_has_one_mount_target_in_each_zone_of_nodes() -> None:
    stacks = storage_stacks(EVERYTHING)
    targets = of_type(stacks.storage, "AWS::EFS::MountTarget").values()
    zones = []
    for target in targets:
        output = target["Properties"]["SubnetId"]["Fn::GetStackOutput"]["OutputName"]
        subnet = stacks.network["Outputs"][output]["Value"]["Ref"]
        zones.append(stacks.network["Resources"][subnet]["Properties"]["AvailabilityZone"])
    assert sorted(zones) == ["us-east-2a", "us-east-2b"]


def test_efs_admits_nfs_from_nodes_only() -> None:
    template = storage_stacks(EVERYTHING).storage
    groups = {
        name: item["Properties"]["SecurityGroupIngress"]
        for name, item in of_type(template, "AWS::EC2::SecurityGroup").items()
        if "SecurityGroupIngress" in item["Properties"]
    }
    ((group, (rule,)),) = groups.items()
    assert (rule["IpProtocol"], rule["FromPort"], rule["ToPort"]) == ("tcp", 2049, 2049)
    assert which(rule["SourceSecurityGroupId"]) == "nodes"
    for target in of_type(template, "AWS::EFS::MountTarget").values():
        assert target["Properties"]["SecurityGroups"] == [{"Fn::GetAtt": [group, "GroupId"]}]
    assert group not in json.dumps(of_type(template, "AWS::EC2::SecurityGroupIngress"))


def test_access_points_enforce_their_identity() -> None:
    found = {
        item["Properties"]["RootDirectory"]["Path"]: item["Properties"]
        for item in of_type(storage_stacks(EVERYTHING).storage, "AWS::EFS::AccessPoint").values()
    }
    assert found["/home"]["PosixUser"] == {"Uid": "1000", "Gid": "100"}
    assert found["/home"]["RootDirectory"]["CreationInfo"] == {
        "OwnerUid": "1000",
        "OwnerGid": "100",
        "Permissions": "0750",
    }
    assert found["/shared"]["PosixUser"] == {"Uid": "2000", "Gid": "2000"}


def test_efs_demands_tls_and_an_access_point() -> None:
    allow, deny = only(storage_stacks(EVERYTHING).storage, "AWS::EFS::FileSystem")["FileSystemPolicy"]["Statement"]
    assert allow["Effect"] == "Allow"
    assert allow["Action"] == ["elasticfilesystem:ClientMount", "elasticfilesystem:ClientWrite"]
    assert allow["Condition"] == {
        "Bool": {"elasticfilesystem:AccessedViaMountTarget": "true"},
        "ArnLike": {
            "elasticfilesystem:AccessPointArn": "arn:aws:elasticfilesystem:us-east-2:111122223333:access-point/*"
        },
    }
    assert (deny["Effect"], deny["Action"]) == ("Deny", "*")
    assert deny["Condition"] == {"Bool": {"aws:SecureTransport": "false"}}


def test_root_is_only_root_when_an_access_point_says_so() -> None:
    text = EVERYTHING.replace("uid: 2000, gid: 2000", "uid: 0, gid: 0")
    allow, _ = only(storage_stacks(text).storage, "AWS::EFS::FileSystem")["FileSystemPolicy"]["Statement"]
    assert "elasticfilesystem:ClientRootAccess" in allow["Action"]


def encryption(bucket: dict[str, Any]) -> dict[str, Any]:
    (rule,) = bucket["BucketEncryption"]["ServerSideEncryptionConfiguration"]
    found: dict[str, Any] = rule
    return found


def buckets(text: str) -> dict[str, dict[str, Any]]:
    """Properties of the buckets by what encrypts them."""
    found = [item["Properties"] for item in of_type(storage_stacks(text).storage, "AWS::S3::Bucket").values()]
    return {encryption(item)["ServerSideEncryptionByDefault"]["SSEAlgorithm"]: item for item in found}


@pytest.mark.parametrize("algorithm", ["AES256", "aws:kms"])
def test_buckets_are_private_versioned_and_owned(algorithm: str) -> None:
    properties = buckets(EVERYTHING)[algorithm]
    assert set(properties["PublicAccessBlockConfiguration"].values()) == {True}
    assert len(properties["PublicAccessBlockConfiguration"]) == 4
    assert properties["VersioningConfiguration"] == {"Status": "Enabled"}
    assert properties["OwnershipControls"] == {"Rules": [{"ObjectOwnership": "BucketOwnerEnforced"}]}
    assert "BucketName" not in properties
    assert "NotificationConfiguration" not in properties


def test_bucket_with_its_own_key() -> None:
    template = storage_stacks(EVERYTHING).storage
    (key,) = of_type(template, "AWS::KMS::Key")
    assert only(template, "AWS::KMS::Key")["EnableKeyRotation"] is True
    rule = encryption(buckets(EVERYTHING)["aws:kms"])
    assert rule["BucketKeyEnabled"] is True
    assert rule["ServerSideEncryptionByDefault"]["KMSMasterKeyID"] == {"Fn::GetAtt": [key, "Arn"]}


def test_lifecycle_cleans_up_uploads_and_old_versions() -> None:
    (rule,) = buckets(EVERYTHING)["aws:kms"]["LifecycleConfiguration"]["Rules"]
    assert rule["Status"] == "Enabled"
    assert rule["AbortIncompleteMultipartUpload"] == {"DaysAfterInitiation": 3}
    assert rule["NoncurrentVersionExpiration"] == {"NoncurrentDays": 14}
    assert "ExpirationInDays" not in rule


def test_every_bucket_refuses_plain_http() -> None:
    template = storage_stacks(EVERYTHING).storage
    secured = set()
    for policy in of_type(template, "AWS::S3::BucketPolicy").values():
        (statement,) = policy["Properties"]["PolicyDocument"]["Statement"]
        assert (statement["Effect"], statement["Action"], statement["Principal"]) == ("Deny", "s3:*", {"AWS": "*"})
        assert statement["Condition"] == {"Bool": {"aws:SecureTransport": "false"}}
        secured.add(policy["Properties"]["Bucket"]["Ref"])
    assert secured == set(of_type(template, "AWS::S3::Bucket"))


def test_fixed_bucket_name() -> None:
    template = storage_stacks("{buckets: {checkpoints: {create: {bucket_name: example-fixed-name}}}}").storage
    assert only(template, "AWS::S3::Bucket")["BucketName"] == "example-fixed-name"


@pytest.mark.parametrize(
    ("text", "policies"),
    [(EVERYTHING, ("RetainExceptOnCreate", "Retain")), (DELETED, ("Delete", "Delete"))],
    ids=["default", "delete"],
)
def test_what_deleting_does_to_data(text: str, policies: tuple[str, str]) -> None:
    template = storage_stacks(text).storage
    for kind in STATEFUL:
        resources = of_type(template, kind)
        assert resources, kind
        for name, item in resources.items():
            assert (item["DeletionPolicy"], item["UpdateReplacePolicy"]) == policies, name


def test_one_item_can_differ_from_the_rest() -> None:
    text = EVERYTHING.replace("fast: {create: {", "fast: {create: {removal: delete, ")
    template = storage_stacks(text).storage
    (fast,) = of_type(template, FILE_SYSTEM).values()
    (homes,) = of_type(template, "AWS::EFS::FileSystem").values()
    assert (fast["DeletionPolicy"], homes["DeletionPolicy"]) == ("Delete", "RetainExceptOnCreate")


def test_logical_ids_of_data_are_those_on_the_list() -> None:
    """A new logical id makes CloudFormation replace the data by something empty: change the list only on purpose."""
    listed = json.loads((Path(__file__).parent / "stateful_ids.json").read_text())
    template = storage_stacks(EVERYTHING).storage
    assert {kind: sorted(of_type(template, kind)) for kind in STATEFUL} == listed


@pytest.mark.parametrize("text", [EVERYTHING, DELETED], ids=["default", "delete"])
def test_outputs_are_those_of_the_plan(text: str) -> None:
    stacks = storage_stacks(text)
    assert set(stacks.storage["Outputs"]) == published(stacks.plan)
    outputs = {key: output["Value"] for key, output in stacks.storage["Outputs"].items()}
    (file_system,) = of_type(stacks.storage, FILE_SYSTEM)
    assert outputs["LustreFastId"] == {"Ref": file_system}
    assert outputs["LustreFastDnsName"] == {"Fn::GetAtt": [file_system, "DNSName"]}
    assert outputs["LustreFastMountName"] == {"Fn::GetAtt": [file_system, "LustreMountName"]}
    for key, kind in (
        ("EfsHomesId", "AWS::EFS::FileSystem"),
        ("EfsHomesUsersAccessPointId", "AWS::EFS::AccessPoint"),
        ("BucketCheckpointsName", "AWS::S3::Bucket"),
    ):
        assert stacks.storage["Resources"][outputs[key]["Ref"]]["Type"] == kind


def test_what_exists_creates_nothing() -> None:
    stacks = storage_stacks(EXISTING)
    assert not stacks.plan.storage.creates
    beside = EXISTING.replace("buckets: {", "buckets: {new: {create: {}}, ")
    template = storage_stacks(beside).storage
    assert {item["Type"] for item in template["Resources"].values()} == {"AWS::S3::Bucket", "AWS::S3::BucketPolicy"}
    assert set(template["Outputs"]) == {"BucketNewName"}


def test_names_that_differ_in_a_hyphen_stay_apart() -> None:
    create = "{create: {deployment: SCRATCH_2, capacity_gib: 1200}}"
    template = storage_stacks(f"{{lustre: {{fast: {create}, fast-id: {create}}}}}").storage
    assert len(of_type(template, FILE_SYSTEM)) == 2


@pytest.mark.parametrize("text", [EVERYTHING, DELETED], ids=["default", "delete"])
def test_nothing_is_left_unexplained(text: str) -> None:
    assert storage_stacks(text).complaints == ()

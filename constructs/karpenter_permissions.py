"""What the Karpenter controller may do: six policies, each scoped to this cluster by tags.

The set follows the one that Karpenter publishes for 1.14 (aws/karpenter-provider-aws@1d92708, 2026-08-21, getting
started, cloudformation.yaml): launches only with the cluster's tags, ends only what carries them, and covers placement
groups and capacity reservations.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from aws_cdk import Stack, Token
from aws_cdk import aws_iam as iam

Conditions = Mapping[str, Mapping[str, object]]


@dataclass(frozen=True)
class ControllerScope:
    """What the statements are scoped to; a Stack gives partition, Region and account."""

    stack: Stack
    cluster_name: str
    node_role_arn: str
    queue_arn: str

    def ec2(self, *kinds: str, account: str = "*") -> list[str]:
        """ARNs of every EC2 resource of these kinds in the Region."""
        where = f"arn:{self.stack.partition}:ec2:{self.stack.region}:{account}"
        return [f"{where}:{kind}/*" for kind in kinds]

    @property
    def instance_profiles(self) -> str:
        """ARN of every instance profile of the account."""
        return f"arn:{self.stack.partition}:iam::{self.stack.account}:instance-profile/*"

    @property
    def cluster_arn(self) -> str:
        """ARN of the cluster."""
        return f"arn:{self.stack.partition}:eks:{self.stack.region}:{self.stack.account}:cluster/{self.cluster_name}"

    @property
    def owned(self) -> str:
        """The tag key that marks what belongs to the cluster."""
        return f"kubernetes.io/cluster/{self.cluster_name}"

    def wildcards(self, statements: Sequence[iam.PolicyStatement]) -> list[str]:
        """The resources with a wildcard, spelt as the security rule pack prints them."""
        found = {resource for statement in statements for resource in statement.resources if "*" in resource}
        return sorted(f"Resource::{self._shown(resource)}" for resource in found)

    def _shown(self, resource: str) -> str:
        """A resource with what is known only at deployment by its CloudFormation name."""
        stack = self.stack
        for value, name in ((stack.partition, "Partition"), (stack.region, "Region"), (stack.account, "AccountId")):
            if Token.is_unresolved(value):
                resource = resource.replace(value, f"<AWS::{name}>")
        return resource


_MADE = ("fleet", "instance", "volume", "network-interface", "launch-template", "spot-instances-request")
_LAUNCH = ["ec2:RunInstances", "ec2:CreateFleet"]
_POOL = "karpenter.sh/nodepool"
_CLASS = "karpenter.k8s.aws/ec2nodeclass"
_NAME = "eks:eks-cluster-name"
_REGION = "topology.kubernetes.io/region"


def policies(scope: ControllerScope) -> dict[str, list[iam.PolicyStatement]]:
    """Statements by the name of the policy that holds them."""
    return {
        "NodeLifecycle": _node_lifecycle(scope),
        "IamIntegration": _iam_integration(scope),
        "EksIntegration": [_allow("ApiServerEndpointDiscovery", ["eks:DescribeCluster"], [scope.cluster_arn])],
        "Interruption": [
            _allow(
                "InterruptionQueue", ["sqs:DeleteMessage", "sqs:GetQueueUrl", "sqs:ReceiveMessage"], [scope.queue_arn]
            )
        ],
        "ZonalShift": [
            _allow(
                "ZonalShiftStatus",
                ["arc-zonal-shift:GetManagedResource"],
                ["*"],
                {"StringEquals": {"arc-zonal-shift:ResourceIdentifier": scope.cluster_arn}},
            )
        ],
        "ResourceDiscovery": _discovery(scope),
    }


def _allow(
    sid: str, actions: Sequence[str], resources: Sequence[str], conditions: Conditions | None = None
) -> iam.PolicyStatement:
    return iam.PolicyStatement(sid=sid, actions=list(actions), resources=list(resources), conditions=conditions)


def _asked(scope: ControllerScope) -> dict[str, str]:
    return {f"aws:RequestTag/{scope.owned}": "owned", f"aws:RequestTag/{_NAME}": scope.cluster_name}


def _carried(scope: ControllerScope) -> Conditions:
    return {
        "StringEquals": {f"aws:ResourceTag/{scope.owned}": "owned"},
        "StringLike": {f"aws:ResourceTag/{_POOL}": "*"},
    }


def _node_lifecycle(scope: ControllerScope) -> list[iam.PolicyStatement]:
    pool_asked = {f"aws:RequestTag/{_POOL}": "*"}
    return [
        _allow(
            "UseSharedResources",
            _LAUNCH,
            [
                *scope.ec2("image", "snapshot", account=""),
                *scope.ec2("security-group", "subnet", "capacity-reservation", "placement-group"),
            ],
        ),
        _allow("UseOwnLaunchTemplates", _LAUNCH, scope.ec2("launch-template"), _carried(scope)),
        _allow(
            "LaunchWithTags",
            [*_LAUNCH, "ec2:CreateLaunchTemplate"],
            scope.ec2(*_MADE),
            {"StringEquals": _asked(scope), "StringLike": pool_asked},
        ),
        _allow(
            "TagAtCreation",
            ["ec2:CreateTags"],
            scope.ec2(*_MADE),
            {
                "StringEquals": {
                    **_asked(scope),
                    "ec2:CreateAction": ["RunInstances", "CreateFleet", "CreateLaunchTemplate"],
                },
                "StringLike": pool_asked,
            },
        ),
        _allow(
            "TagOwnInstances",
            ["ec2:CreateTags"],
            scope.ec2("instance"),
            {
                **_carried(scope),
                "StringEqualsIfExists": {f"aws:RequestTag/{_NAME}": scope.cluster_name},
                "ForAllValues:StringEquals": {"aws:TagKeys": [_NAME, "karpenter.sh/nodeclaim", "Name"]},
            },
        ),
        _allow(
            "EndOwnResources",
            ["ec2:TerminateInstances", "ec2:DeleteLaunchTemplate"],
            scope.ec2("instance", "launch-template"),
            _carried(scope),
        ),
    ]


def _iam_integration(scope: ControllerScope) -> list[iam.PolicyStatement]:
    asked = {**_asked(scope), f"aws:RequestTag/{_REGION}": scope.stack.region}
    carried = {
        f"aws:ResourceTag/{scope.owned}": "owned",
        f"aws:ResourceTag/{_REGION}": scope.stack.region,
    }
    class_asked = {f"aws:RequestTag/{_CLASS}": "*"}
    class_carried = {f"aws:ResourceTag/{_CLASS}": "*"}
    return [
        _allow(
            "PassNodeRole",
            ["iam:PassRole"],
            [scope.node_role_arn],
            {"StringEquals": {"iam:PassedToService": ["ec2.amazonaws.com", "ec2.amazonaws.com.cn"]}},
        ),
        _allow(
            "MakeInstanceProfiles",
            ["iam:CreateInstanceProfile"],
            [scope.instance_profiles],
            {"StringEquals": asked, "StringLike": class_asked},
        ),
        _allow(
            "TagInstanceProfiles",
            ["iam:TagInstanceProfile"],
            [scope.instance_profiles],
            {"StringEquals": {**carried, **asked}, "StringLike": {**class_carried, **class_asked}},
        ),
        _allow(
            "UseOwnInstanceProfiles",
            ["iam:AddRoleToInstanceProfile", "iam:RemoveRoleFromInstanceProfile", "iam:DeleteInstanceProfile"],
            [scope.instance_profiles],
            {"StringEquals": carried, "StringLike": class_carried},
        ),
    ]


def _discovery(scope: ControllerScope) -> list[iam.PolicyStatement]:
    parameters = f"arn:{scope.stack.partition}:ssm:{scope.stack.region}::parameter/aws/service/*"
    return [
        _allow(
            "ReadRegion",
            [
                "ec2:DescribeCapacityReservations",
                "ec2:DescribeImages",
                "ec2:DescribeInstanceStatus",
                "ec2:DescribeInstanceTypeOfferings",
                "ec2:DescribeInstanceTypes",
                "ec2:DescribeInstances",
                "ec2:DescribeLaunchTemplates",
                "ec2:DescribePlacementGroups",
                "ec2:DescribeSecurityGroups",
                "ec2:DescribeSpotPriceHistory",
                "ec2:DescribeSubnets",
            ],
            ["*"],
            {"StringEquals": {"aws:RequestedRegion": scope.stack.region}},
        ),
        _allow("ReadImageParameters", ["ssm:GetParameter"], [parameters]),
        _allow("ReadPrices", ["pricing:GetProducts"], ["*"]),
        _allow("ListInstanceProfiles", ["iam:ListInstanceProfiles"], ["*"]),
        _allow("ReadInstanceProfiles", ["iam:GetInstanceProfile"], [scope.instance_profiles]),
    ]

"""The launch template of a node: interfaces, image disk, placement, purchase, user data.

Written from a PoolPlan with L1 properties, because the L2 has no list of interfaces.  What EKS forbids in a managed
node group's template (subnet, instance profile, image, shutdown behaviour) is never set.
"""

from __future__ import annotations

from collections.abc import Sequence

from aws_cdk import CfnTag, Fn
from aws_cdk import aws_ec2 as ec2
from constructs import Construct

from eks_training.plan.pool import PoolPlan, VolumePlan

_Template = ec2.CfnLaunchTemplate

NODE_CONFIG = """\
MIME-Version: 1.0
Content-Type: multipart/mixed; boundary="//"

--//
Content-Type: application/node.eks.aws

---
apiVersion: node.eks.aws/v1alpha1
kind: NodeConfig
spec:
  instance:
    localStorage:
      strategy: RAID0

--//--
"""
"""User data that makes nodeadm join the local NVMe disks for the kubelet, containerd and pod logs (amazon-eks-ami,
nodeadm documentation); EKS merges its own part with the cluster's address."""


class NodeLaunchTemplate(Construct):
    """A launch template for one pool.

    Args:
        pool: the pool as decided.
        security_group_ids: groups of every interface; must hold the cluster security group, because EKS adds it only
            to templates that name no group.
        placement_group_name: name of a placement group made beside it, when the Plan makes one.
    """

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        pool: PoolPlan,
        security_group_ids: Sequence[str],
        placement_group_name: str | None,
    ) -> None:
        super().__init__(scope, id)
        node_tags = [CfnTag(key=key, value=value) for key, value in pool.node_tags]
        self.resource = _Template(
            self,
            "Resource",
            launch_template_data=_Template.LaunchTemplateDataProperty(
                instance_type=pool.instance_type,
                network_interfaces=[
                    _Template.NetworkInterfaceProperty(
                        network_card_index=interface.card,
                        device_index=interface.device,
                        interface_type=interface.kind,
                        groups=list(security_group_ids),
                        delete_on_termination=True,
                    )
                    for interface in pool.interfaces
                ],
                block_device_mappings=[_volume(volume) for volume in pool.volumes],
                metadata_options=_Template.MetadataOptionsProperty(
                    http_tokens="required", http_endpoint="enabled", http_put_response_hop_limit=1
                ),
                placement=_placement(pool, placement_group_name),
                instance_market_options=_market(pool),
                capacity_reservation_specification=_reservation(pool),
                user_data=Fn.base64(NODE_CONFIG) if pool.raid0 else None,
                tag_specifications=[
                    _Template.TagSpecificationProperty(resource_type=kind, tags=node_tags)
                    for kind in ("instance", "volume", "network-interface")
                ],
            ),
        )

    @property
    def id(self) -> str:
        """Launch template id."""
        return self.resource.ref

    @property
    def version(self) -> str:
        """The version that this template's properties make."""
        return self.resource.attr_latest_version_number


def _volume(volume: VolumePlan) -> ec2.CfnLaunchTemplate.BlockDeviceMappingProperty:
    return _Template.BlockDeviceMappingProperty(
        device_name=volume.device,
        ebs=_Template.EbsProperty(
            volume_type="gp3",
            volume_size=volume.size_gib,
            iops=volume.iops,
            throughput=volume.throughput_mibps,
            encrypted=True,
            delete_on_termination=True,
        ),
    )


def _placement(pool: PoolPlan, made: str | None) -> ec2.CfnLaunchTemplate.PlacementProperty | None:
    match pool.placement.kind:
        case "create":
            return _Template.PlacementProperty(group_name=made)
        case "existing":
            group = str(pool.placement.group)
            if pool.placement.by_id:
                return _Template.PlacementProperty(group_id=group)
            return _Template.PlacementProperty(group_name=group)
        case "none":
            return None


def _market(pool: PoolPlan) -> ec2.CfnLaunchTemplate.InstanceMarketOptionsProperty | None:
    market = pool.capacity.market_type
    return _Template.InstanceMarketOptionsProperty(market_type=market) if market else None


def _reservation(pool: PoolPlan) -> ec2.CfnLaunchTemplate.CapacityReservationSpecificationProperty | None:
    capacity = pool.capacity
    if not (capacity.reservation_id or capacity.resource_group):
        return None
    return _Template.CapacityReservationSpecificationProperty(
        capacity_reservation_target=_Template.CapacityReservationTargetProperty(
            capacity_reservation_id=capacity.reservation_id,
            capacity_reservation_resource_group_arn=capacity.resource_group,
        )
    )

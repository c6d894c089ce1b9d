"""What a pool gets when its user does not say: asked by the planner and by the rules, so that both give one answer.

Apart from the rest of the planner, which `validate` never needs.
"""

from __future__ import annotations

from eks_training.facts.instances import InstanceFacts
from eks_training.spec.pool import Pool


def wants_efa(pool: Pool, instance: InstanceFacts) -> bool:
    """Training pools use all EFA interfaces of their type unless the user says `none`."""
    if pool.efa is not None:
        return pool.efa == "all"
    return pool.purpose == "training" and instance.efa_capable_cards() != ()


def uses_raid0(pool: Pool, instance: InstanceFacts) -> bool:
    """Local disks are used unless the user says `none`; nodeadm, which sets them up, is part of AL2023."""
    if pool.local_nvme is not None:
        return pool.local_nvme == "raid0"
    return bool(instance.instance_store_gb) and pool.image.family == "al2023" and pool.purpose != "system"


def root_volume_gib(pool: Pool) -> int:
    """Size in GiB of the volume with images and logs; training images of 10 to 20 GB are unpacked there."""
    return pool.root_volume.size_gib or (100 if pool.purpose == "system" else 500)

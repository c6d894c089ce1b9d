"""The queue through which Karpenter learns that a node is about to go."""

from __future__ import annotations

from aws_cdk import Duration
from aws_cdk import aws_events as events
from aws_cdk import aws_events_targets as targets
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from constructs.acknowledgement import acknowledge

EVENTS = {
    "ScheduledChange": ("aws.health", "AWS Health Event"),
    "SpotInterruption": ("aws.ec2", "EC2 Spot Instance Interruption Warning"),
    "Rebalance": ("aws.ec2", "EC2 Instance Rebalance Recommendation"),
    "StateChange": ("aws.ec2", "EC2 Instance State-change Notification"),
    "ReservationInterruption": ("aws.ec2", "EC2 Capacity Reservation Instance Interruption Warning"),
}
"""Events that Karpenter 1.14 handles (aws/karpenter-provider-aws@1d92708, getting started, cloudformation.yaml)."""


class InterruptionQueue(Construct):
    """An encrypted queue, TLS only, with one rule for each kind of event."""

    def __init__(self, scope: Construct, id: str) -> None:
        super().__init__(scope, id)
        self.queue = sqs.Queue(
            self,
            "Queue",
            # A warning older than this is about an instance that is gone.
            retention_period=Duration.minutes(5),
            encryption=sqs.QueueEncryption.SQS_MANAGED,
            enforce_ssl=True,
        )
        acknowledge(
            self.queue,
            "SQS3",
            "A message that could not be read in time is about a node that is gone; nobody would read a second queue.",
        )
        for name, (source, detail_type) in EVENTS.items():
            events.Rule(
                self,
                name,
                event_pattern=events.EventPattern(source=[source], detail_type=[detail_type]),
                targets=[targets.SqsQueue(self.queue)],
            )

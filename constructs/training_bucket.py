"""An S3 bucket for data sets or checkpoints, and what its users may do."""

from __future__ import annotations

from aws_cdk import Acknowledgment, Duration, Validations
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from aws_cdk import aws_s3 as s3
from constructs import Construct

from constructs.retention import removal
from eks_training.plan.storage import BucketPlan

LIST = ("s3:ListBucket",)
LIST_UPLOADS = ("s3:ListBucketMultipartUploads",)
READ = ("s3:GetObject", "s3:GetObjectVersion")
WRITE = ("s3:PutObject", "s3:DeleteObject", "s3:AbortMultipartUpload", "s3:ListMultipartUploadParts")
"""Deleting leaves a version behind; versions are removed by the lifecycle rule alone."""


class TrainingBucket(Construct):
    """A private, versioned bucket that accepts TLS only.

    With ``retain`` its policy and its key stay too: a kept bucket without them would be open to plain HTTP, or
    unreadable.  Without ``retain``, CloudFormation deletes the bucket only when it is empty; emptying it is left to
    people on purpose.
    """

    def __init__(self, scope: Construct, id: str, *, bucket: BucketPlan) -> None:
        """Make the bucket.

        Args:
            bucket: what the Plan says of it.
        """
        super().__init__(scope, id)
        policy = removal(retain=bucket.retain)
        self.key = (
            kms.Key(
                self,
                "Key",
                description=f"Objects of the training bucket {bucket.name}",
                enable_key_rotation=True,
                removal_policy=policy,
            )
            if bucket.kms
            else None
        )
        self.bucket = s3.Bucket(
            self,
            "Resource",
            bucket_name=bucket.fixed_name,
            block_public_access=s3.BlockPublicAccess.BLOCK_ALL,
            object_ownership=s3.ObjectOwnership.BUCKET_OWNER_ENFORCED,
            enforce_ssl=True,
            versioned=True,
            encryption=s3.BucketEncryption.KMS if self.key else s3.BucketEncryption.S3_MANAGED,
            encryption_key=self.key,
            # Without it every object read or written is a request to KMS, which throttles long before S3 does.
            bucket_key_enabled=True if self.key else None,
            lifecycle_rules=[
                s3.LifecycleRule(
                    id="clean-up",
                    abort_incomplete_multipart_upload_after=Duration.days(bucket.abort_uploads_days),
                    noncurrent_version_expiration=Duration.days(bucket.noncurrent_days),
                    expired_object_delete_marker=True,
                )
            ],
            removal_policy=policy,
        )
        assert self.bucket.policy is not None  # enforce_ssl makes one
        self.bucket.policy.apply_removal_policy(policy)
        Validations.of(self.bucket).acknowledge(
            Acknowledgment(
                id="AwsSolutions-S1",
                reason="Server access logs write one line for every read, and a training run reads each object many "
                "times: the logs would outgrow the data's worth, and S3 delivers them hours late and without "
                "guarantee. Who may read is fixed by Pod Identity roles; who did read is recorded by CloudTrail data "
                "events, which the account owner turns on for all buckets at once.",
            )
        )


def bucket_statements(bucket_arn: str, key_arn: str | None, *, write: bool) -> list[iam.PolicyStatement]:
    """What a user of one bucket is allowed, each action by name.

    Args:
        bucket_arn: the bucket.
        key_arn: the key of its default encryption, if that is SSE-KMS with a key of its own.
        write: writing and deleting too.
    """
    on_bucket = [*LIST, *(LIST_UPLOADS if write else ())]
    on_objects = [*READ, *(WRITE if write else ())]
    on_key = ["kms:Decrypt", *(["kms:GenerateDataKey"] if write else [])]
    return [
        iam.PolicyStatement(actions=on_bucket, resources=[bucket_arn]),
        iam.PolicyStatement(actions=on_objects, resources=[f"{bucket_arn}/*"]),
        *([iam.PolicyStatement(actions=on_key, resources=[key_arn])] if key_arn else []),
    ]

// The yardstick of bench/run.py: what the shipped cluster.yaml gives, written by hand with the same library for this one
// cluster. No model, no rules, no Plan. One class per stack, in the order of stacks/assembly.py; when cluster.yaml or a
// stack changes what it creates, change its class here: bench/run.py compares the resources stack by stack.
'use strict';

const cdk = require('aws-cdk-lib');
const ec2 = require('aws-cdk-lib/aws-ec2');
const efs = require('aws-cdk-lib/aws-efs');
const eksL1 = require('aws-cdk-lib/aws-eks');
const eks = require('aws-cdk-lib/aws-eks-v2');
const events = require('aws-cdk-lib/aws-events');
const targets = require('aws-cdk-lib/aws-events-targets');
const fsx = require('aws-cdk-lib/aws-fsx');
const iam = require('aws-cdk-lib/aws-iam');
const kms = require('aws-cdk-lib/aws-kms');
const logs = require('aws-cdk-lib/aws-logs');
const s3 = require('aws-cdk-lib/aws-s3');
const sqs = require('aws-cdk-lib/aws-sqs');
const { KubectlV35Layer } = require('@aws-cdk/lambda-layer-kubectl-v35');

const NAME = 'llm-train';
const ENV = { account: '111122223333', region: 'us-east-2' };
const TRAINING_ZONE = 'us-east-2b';
const SECOND_ZONE = 'us-east-2a';
const CIDR = '10.64.0.0/16';
const ADMINISTRATOR = 'arn:aws:iam::111122223333:role/platform-admin';
const TAGS = { team: 'research', 'cost-center': 'ml-training', 'eks-training/cluster': NAME };
const RETAIN = cdk.RemovalPolicy.RETAIN;
// CDK's own functions name their role twice; cfn-lint need not say so.
const LINT = { 'cfn-lint': { config: { ignore_checks: ['W3005'] } } };

const managed = (names) => names.map((name) => iam.ManagedPolicy.fromAwsManagedPolicyName(name));
const allow = (actions, resources, sid, conditions) => new iam.PolicyStatement({ sid, actions, resources, conditions });
const named = (construct, name) => cdk.Tags.of(construct).add('Name', name);

// --- pieces that several stacks use ---------------------------------------------------------------------------------

function podRole(scope, id, { description, managedPolicies = [], statements = [] }) {
  const role = new iam.Role(scope, id, {
    description,
    assumedBy: new iam.SessionTagsPrincipal(new iam.ServicePrincipal('pods.eks.amazonaws.com')),
    managedPolicies: managed(managedPolicies),
  });
  for (const statement of statements) role.addToPolicy(statement);
  return role;
}

function nodeRole(scope, id) {
  return new iam.Role(scope, id, {
    assumedBy: new iam.ServicePrincipal('ec2.amazonaws.com'),
    managedPolicies: managed([
      'AmazonEKSWorkerNodePolicy',
      'AmazonEC2ContainerRegistryPullOnly',
      'AmazonSSMManagedInstanceCore',
    ]),
  });
}

/** One EKS add-on; `roles` maps its service accounts to what their roles may do. */
function addon(scope, name, clusterName, roles = {}) {
  const associations = Object.entries(roles).map(([serviceAccount, rights]) => ({
    serviceAccount,
    roleArn: podRole(scope, `${name}-${serviceAccount}`, {
      description: `Service account ${serviceAccount} of the EKS add-on ${name}`,
      ...rights,
    }).roleArn,
  }));
  return new eksL1.CfnAddon(scope, name, {
    addonName: name,
    clusterName,
    resolveConflicts: 'OVERWRITE',
    podIdentityAssociations: associations.length ? associations : undefined,
  });
}

const RAID0 = `MIME-Version: 1.0
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
`;

/** A managed node group with its launch template. */
function nodeGroup(scope, pool, { clusterName, roleArn, subnetIds, groups }) {
  const tags = Object.entries({ ...TAGS, 'eks-training/pool': pool.name, Name: `${NAME}-${pool.name}` })
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([key, value]) => ({ key, value }));
  const template = new ec2.CfnLaunchTemplate(scope, 'LaunchTemplate', {
    launchTemplateData: {
      instanceType: pool.instanceType,
      networkInterfaces: (pool.interfaces ?? [{ card: 0, device: 0, kind: 'interface' }]).map(({ card, device, kind }) => ({
        networkCardIndex: card,
        deviceIndex: device,
        interfaceType: kind,
        groups,
        deleteOnTermination: true,
      })),
      blockDeviceMappings: [
        {
          deviceName: '/dev/xvda',
          ebs: { volumeType: 'gp3', volumeSize: pool.diskGib, encrypted: true, deleteOnTermination: true },
        },
      ],
      metadataOptions: { httpTokens: 'required', httpEndpoint: 'enabled', httpPutResponseHopLimit: 1 },
      instanceMarketOptions: pool.reservation && { marketType: 'capacity-block' },
      capacityReservationSpecification: pool.reservation && {
        capacityReservationTarget: { capacityReservationId: pool.reservation },
      },
      userData: pool.raid0 ? cdk.Fn.base64(RAID0) : undefined,
      tagSpecifications: ['instance', 'volume', 'network-interface'].map((resourceType) => ({ resourceType, tags })),
    },
  });
  return new eksL1.CfnNodegroup(scope, 'NodeGroup', {
    clusterName,
    nodeRole: roleArn,
    subnets: subnetIds,
    amiType: pool.amiType,
    releaseVersion: '1.35.6-20260714',
    capacityType: pool.reservation ? 'CAPACITY_BLOCK' : 'ON_DEMAND',
    launchTemplate: { id: template.ref, version: template.attrLatestVersionNumber },
    scalingConfig: pool.scaling,
    updateConfig: { maxUnavailable: 1, updateStrategy: pool.updateStrategy },
    forceUpdateEnabled: false,
    nodeRepairConfig: { enabled: false },
    labels: { 'eks-training/pool': pool.name, 'eks-training/purpose': pool.purpose },
    taints: pool.gpu ? [{ key: 'nvidia.com/gpu', value: 'true', effect: 'NO_SCHEDULE' }] : undefined,
  });
}

// --- stacks ---------------------------------------------------------------------------------------------------------

class NetworkStack extends cdk.Stack {
  constructor(scope, id, props) {
    super(scope, id, props);
    this.templateOptions.metadata = LINT;
    this.vpc = new ec2.Vpc(this, 'Vpc', {
      vpcName: NAME,
      ipAddresses: ec2.IpAddresses.cidr(CIDR),
      availabilityZones: this.availabilityZones,
      subnetConfiguration: [],
      restrictDefaultSecurityGroup: true,
    });
    const internal = { 'kubernetes.io/role/internal-elb': '1' };
    const PrivateSubnet = ec2.PrivateSubnet;
    this.training = this.subnet(PrivateSubnet, 'training', '10.64.0.0/17', TRAINING_ZONE, { 'karpenter.sh/discovery': NAME });
    this.systemA = this.subnet(PrivateSubnet, 'system-a', '10.64.128.0/19', TRAINING_ZONE, internal);
    this.systemB = this.subnet(PrivateSubnet, 'system-b', '10.64.160.0/19', SECOND_ZONE, internal);
    this.controlA = this.subnet(PrivateSubnet, 'control-plane-a', '10.64.255.128/27', TRAINING_ZONE);
    this.controlB = this.subnet(PrivateSubnet, 'control-plane-b', '10.64.255.160/27', SECOND_ZONE);

    const gateway = new ec2.CfnInternetGateway(this, 'InternetGateway', { tags: [{ key: 'Name', value: NAME }] });
    const attachment = new ec2.CfnVPCGatewayAttachment(this, 'InternetGatewayAttachment', {
      vpcId: this.vpc.vpcId,
      internetGatewayId: gateway.ref,
    });
    const out = this.subnet(ec2.PublicSubnet, 'nat', '10.64.255.192/26', TRAINING_ZONE);
    out.addDefaultInternetRoute(gateway.ref, attachment);
    const nat = out.addNatGateway();
    for (const subnet of [this.training, this.systemA, this.systemB]) subnet.addDefaultNatRoute(nat.ref);

    new ec2.GatewayVpcEndpoint(this, 'S3', {
      vpc: this.vpc,
      service: ec2.GatewayVpcEndpointAwsService.S3,
      subnets: [{ subnets: [this.training, this.systemA, this.systemB, this.controlA, this.controlB] }],
    });
    this.flowLog();
    this.nodes = this.securityGroup('Nodes', 'Identity of every node: what storage admits', 'nodes');
    this.efa = this.securityGroup('Efa', 'EFA: all traffic between members', 'efa');
    const group = this.efa.securityGroupId;
    new ec2.CfnSecurityGroupIngress(this, 'EfaIngress', {
      groupId: group,
      sourceSecurityGroupId: group,
      ipProtocol: '-1',
      description: 'EFA from members',
    });
    new ec2.CfnSecurityGroupEgress(this, 'EfaEgress', {
      groupId: group,
      destinationSecurityGroupId: group,
      ipProtocol: '-1',
      description: 'EFA to members',
    });
    new cdk.CfnOutput(this, 'VpcId', { value: this.vpc.vpcId });
    new cdk.CfnOutput(this, 'TrainingSubnetId', { value: this.training.subnetId });
    new cdk.CfnOutput(this, 'NodeSecurityGroupId', { value: this.nodes.securityGroupId });
    new cdk.CfnOutput(this, 'EfaSecurityGroupId', { value: group });
  }

  /** Named here, so that CDK never asks AWS for the zones of the account. */
  get availabilityZones() {
    return [TRAINING_ZONE, SECOND_ZONE];
  }

  subnet(Kind, key, cidrBlock, availabilityZone, tags = {}) {
    const subnet = new Kind(this, key, {
      vpcId: this.vpc.vpcId,
      cidrBlock,
      availabilityZone,
      mapPublicIpOnLaunch: false,
    });
    subnet.node.defaultChild.addMetadata('cfn-lint', { config: { ignore_checks: ['W3010'] } });
    cdk.Validations.of(subnet.node.defaultChild).acknowledge({
      id: 'CloudFormation-Validate::W3010',
      reason: 'The zone is the point: reservations and EFA capacity lie in one zone.',
    });
    named(subnet, `${NAME}-${key}`);
    for (const [tag, value] of Object.entries(tags)) {
      cdk.Tags.of(subnet).add(tag, value, { includeResourceTypes: ['AWS::EC2::Subnet'] });
    }
    return subnet;
  }

  securityGroup(id, description, suffix) {
    const group = new ec2.SecurityGroup(this, id, { vpc: this.vpc, description, allowAllOutbound: false });
    named(group, `${NAME}-${suffix}`);
    return group;
  }

  flowLog() {
    const group = new logs.CfnLogGroup(this, 'FlowLogGroup', { retentionInDays: 30 });
    group.applyRemovalPolicy(RETAIN);
    const role = new iam.Role(this, 'FlowLogRole', {
      description: `Flow logs of the VPC of ${NAME}`,
      assumedBy: new iam.ServicePrincipal('vpc-flow-logs.amazonaws.com', {
        conditions: {
          StringEquals: { 'aws:SourceAccount': this.account },
          ArnLike: { 'aws:SourceArn': this.formatArn({ service: 'ec2', resource: 'vpc-flow-log', resourceName: '*' }) },
        },
      }),
    });
    const written = new iam.Policy(this, 'FlowLogPolicy', {
      roles: [role],
      statements: [
        allow(['logs:CreateLogStream', 'logs:PutLogEvents', 'logs:DescribeLogStreams'], [group.attrArn]),
      ],
    });
    const log = new ec2.CfnFlowLog(this, 'FlowLog', {
      resourceId: this.vpc.vpcId,
      resourceType: 'VPC',
      trafficType: 'ALL',
      logDestinationType: 'cloud-watch-logs',
      logDestination: group.attrArn,
      deliverLogsPermissionArn: role.roleArn,
    });
    log.node.addDependency(written);
  }
}

class StorageStack extends cdk.Stack {
  constructor(scope, id, { network, ...props }) {
    super(scope, id, props);
    this.datasets = s3.Bucket.fromBucketName(this, 'Datasets', 'example-training-datasets');
    this.checkpoints = this.bucket();
    this.lustre(network);
    this.homes(network);
  }

  bucket() {
    const bucket = new s3.Bucket(this, 'Checkpoints', {
      blockPublicAccess: s3.BlockPublicAccess.BLOCK_ALL,
      objectOwnership: s3.ObjectOwnership.BUCKET_OWNER_ENFORCED,
      enforceSSL: true,
      versioned: true,
      encryption: s3.BucketEncryption.S3_MANAGED,
      lifecycleRules: [
        {
          id: 'clean-up',
          abortIncompleteMultipartUploadAfter: cdk.Duration.days(7),
          noncurrentVersionExpiration: cdk.Duration.days(14),
          expiredObjectDeleteMarker: true,
        },
      ],
      removalPolicy: RETAIN,
    });
    bucket.policy.applyRemovalPolicy(RETAIN);
    new cdk.CfnOutput(this, 'BucketCheckpointsName', { value: bucket.bucketName });
    return bucket;
  }

  lustre(network) {
    const name = `${this.stackName}-scratch`;
    const group = new ec2.CfnSecurityGroup(this, 'LustreGroup', {
      vpcId: network.vpc.vpcId,
      groupDescription: `FSx for Lustre file system ${name}`,
    });
    named(group, name);
    const servers = group.attrGroupId;
    const nodes = network.nodes.securityGroupId;
    const rules = [];
    for (const [pair, groupId, peer] of [
      ['Servers', servers, servers],
      ['FromNodes', servers, nodes],
      ['ToNodes', nodes, servers],
    ]) {
      for (const [fromPort, toPort] of [
        [988, 988],
        [1018, 1023],
      ]) {
        rules.push(
          new ec2.CfnSecurityGroupIngress(this, `Lustre${pair}${fromPort}`, {
            groupId,
            sourceSecurityGroupId: peer,
            ipProtocol: 'tcp',
            fromPort,
            toPort,
            description: 'Lustre',
          }),
        );
      }
    }
    const scratch = new fsx.CfnFileSystem(this, 'Scratch', {
      fileSystemType: 'LUSTRE',
      fileSystemTypeVersion: '2.15',
      storageType: 'SSD',
      storageCapacity: 9600,
      subnetIds: [network.training.subnetId],
      securityGroupIds: [servers],
      lustreConfiguration: {
        deploymentType: 'PERSISTENT_2',
        perUnitStorageThroughput: 500,
        metadataConfiguration: { mode: 'AUTOMATIC' },
        dataCompressionType: 'LZ4',
      },
    });
    named(scratch, name);
    for (const rule of rules) scratch.addResourceDependency(rule);
    for (const resource of [scratch, group, ...rules]) resource.applyRemovalPolicy(RETAIN);
    new fsx.CfnDataRepositoryAssociation(this, 'ScratchDatasets', {
      fileSystemId: scratch.ref,
      fileSystemPath: '/datasets',
      dataRepositoryPath: `s3://${this.datasets.bucketName}/corpora/`,
      batchImportMetaDataOnCreate: true,
      importedFileChunkSize: 1024,
      s3: { autoImportPolicy: { events: ['NEW', 'CHANGED', 'DELETED'] } },
    });
    new cdk.CfnOutput(this, 'LustreScratchId', { value: scratch.ref });
    new cdk.CfnOutput(this, 'LustreScratchDnsName', { value: scratch.attrDnsName });
    new cdk.CfnOutput(this, 'LustreScratchMountName', { value: scratch.attrLustreMountName });
  }

  homes(network) {
    const name = `${this.stackName}-homes`;
    const files = new efs.CfnFileSystem(this, 'Homes', {
      encrypted: true,
      throughputMode: 'elastic',
      backupPolicy: { status: 'ENABLED' },
      fileSystemPolicy: {
        Version: '2012-10-17',
        Statement: [
          {
            Sid: 'ThroughAccessPoints',
            Effect: 'Allow',
            Principal: { AWS: '*' },
            Action: ['elasticfilesystem:ClientMount', 'elasticfilesystem:ClientWrite'],
            Condition: {
              Bool: { 'elasticfilesystem:AccessedViaMountTarget': 'true' },
              ArnLike: {
                'elasticfilesystem:AccessPointArn': this.formatArn({
                  service: 'elasticfilesystem',
                  resource: 'access-point',
                  resourceName: '*',
                }),
              },
            },
          },
          {
            Sid: 'OnlyOverTls',
            Effect: 'Deny',
            Principal: { AWS: '*' },
            Action: '*',
            Condition: { Bool: { 'aws:SecureTransport': 'false' } },
          },
        ],
      },
    });
    files.applyRemovalPolicy(RETAIN);
    named(files, name);
    const group = new ec2.CfnSecurityGroup(this, 'HomesGroup', {
      vpcId: network.vpc.vpcId,
      groupDescription: `EFS file system ${name}`,
      securityGroupIngress: [
        {
          ipProtocol: 'tcp',
          fromPort: 2049,
          toPort: 2049,
          sourceSecurityGroupId: network.nodes.securityGroupId,
          description: 'NFS from nodes',
        },
      ],
    });
    named(group, name);
    for (const [id, subnet] of [
      ['HomesTraining', network.training],
      ['HomesSystemB', network.systemB],
    ]) {
      new efs.CfnMountTarget(this, id, {
        fileSystemId: files.ref,
        subnetId: subnet.subnetId,
        securityGroups: [group.attrGroupId],
      });
    }
    const home = new efs.CfnAccessPoint(this, 'HomesHome', {
      fileSystemId: files.ref,
      posixUser: { uid: '1000', gid: '100' },
      rootDirectory: { path: '/home', creationInfo: { ownerUid: '1000', ownerGid: '100', permissions: '0750' } },
    });
    home.applyRemovalPolicy(RETAIN);
    named(home, name);
    new cdk.CfnOutput(this, 'EfsHomesId', { value: files.ref });
    new cdk.CfnOutput(this, 'EfsHomesHomeAccessPointId', { value: home.ref });
  }
}

class ClusterStack extends cdk.Stack {
  constructor(scope, id, { network, ...props }) {
    super(scope, id, props);
    this.templateOptions.metadata = LINT;
    this.cluster = this.controlPlane(network);
    this.nodeRole = nodeRole(this, 'NodeRole');
    const clusterName = this.cluster.clusterName;
    const early = {
      identity: addon(this, 'eks-pod-identity-agent', clusterName),
      proxy: addon(this, 'kube-proxy', clusterName),
      cni: addon(this, 'vpc-cni', clusterName, { 'aws-node': { managedPolicies: ['AmazonEKS_CNI_Policy'] } }),
    };
    early.cni.addResourceDependency(early.identity);
    const late = [
      addon(this, 'eks-node-monitoring-agent', clusterName),
      addon(this, 'coredns', clusterName),
      addon(this, 'metrics-server', clusterName),
      addon(this, 'aws-ebs-csi-driver', clusterName, {
        'ebs-csi-controller-sa': { managedPolicies: ['service-role/AmazonEBSCSIDriverPolicy'] },
      }),
    ];
    const system = nodeGroup(
      this,
      {
        name: 'system',
        purpose: 'system',
        instanceType: 'm7i.2xlarge',
        amiType: 'AL2023_x86_64_STANDARD',
        diskGib: 100,
        scaling: { minSize: 3, desiredSize: 3, maxSize: 3 },
        updateStrategy: 'DEFAULT',
      },
      {
        clusterName,
        roleArn: this.nodeRole.roleArn,
        subnetIds: [network.systemA.subnetId, network.systemB.subnetId],
        groups: [this.cluster.clusterSecurityGroupId, network.nodes.securityGroupId],
      },
    );
    for (const before of Object.values(early)) system.addResourceDependency(before);
    for (const after of late) after.addResourceDependency(system);
    new cdk.CfnOutput(this, 'ClusterName', { value: clusterName });
    new cdk.CfnOutput(this, 'ClusterEndpoint', { value: this.cluster.clusterEndpoint });
    new cdk.CfnOutput(this, 'ClusterSecurityGroupId', { value: this.cluster.clusterSecurityGroupId });
    new cdk.CfnOutput(this, 'KubeconfigCommand', {
      value: `aws eks update-kubeconfig --region ${ENV.region} --name ${NAME}`,
    });
  }

  controlPlane(network) {
    const key = new kms.Key(this, 'SecretsKey', {
      description: `Kubernetes secrets of the EKS cluster ${NAME}`,
      enableKeyRotation: true,
      removalPolicy: RETAIN,
    });
    const thisCluster = this.formatArn({ service: 'eks', resource: 'cluster', resourceName: NAME });
    const role = new iam.Role(this, 'Role', {
      description: `Control plane of the EKS cluster ${NAME}`,
      assumedBy: new iam.ServicePrincipal('eks.amazonaws.com', {
        conditions: { ArnLike: { 'aws:SourceArn': thisCluster } },
      }),
      managedPolicies: managed(['AmazonEKSClusterPolicy']),
    });
    const grant = key.grant(role, 'kms:Encrypt', 'kms:Decrypt', 'kms:DescribeKey', 'kms:ListGrants');
    const logGroup = new logs.CfnLogGroup(this, 'LogGroup', {
      logGroupName: `/aws/eks/${NAME}/cluster`,
      retentionInDays: 90,
    });
    logGroup.applyRemovalPolicy(RETAIN);
    const functions = [network.systemA, network.systemB];
    const cluster = new eks.Cluster(this, 'Cluster', {
      clusterName: NAME,
      version: eks.KubernetesVersion.of('1.35'),
      role,
      vpc: network.vpc,
      vpcSubnets: [{ subnets: functions }],
      endpointAccess: eks.EndpointAccess.PRIVATE,
      secretsEncryptionKey: key,
      clusterLogging: Object.values(eks.ClusterLoggingTypes),
      controlPlaneScalingTier: eks.ControlPlaneScalingTier.of('standard'),
      defaultCapacityType: eks.DefaultCapacityType.NODEGROUP,
      defaultCapacity: 0,
      bootstrapSelfManagedAddons: false,
      bootstrapClusterCreatorAdminPermissions: false,
      outputConfigCommand: false,
      prune: false,
      kubectlProviderOptions: { kubectlLayer: new KubectlV35Layer(this, 'KubectlLayer'), privateSubnets: functions },
    });
    const resource = cluster.node.defaultChild;
    resource.addPropertyOverride('ResourcesVpcConfig.SubnetIds', [network.controlA.subnetId, network.controlB.subnetId]);
    resource.upgradePolicy = { supportType: 'STANDARD' };
    resource.addResourceDependency(logGroup);
    grant.applyBefore(resource);
    cluster.grantAccess('Administrator', ADMINISTRATOR, [
      eks.AccessPolicy.fromAccessPolicyName('AmazonEKSClusterAdminPolicy', {
        accessScopeType: eks.AccessScopeType.CLUSTER,
      }),
    ]);
    for (const child of cluster.node.findChild('KubectlProvider').node.findAll()) {
      if (child instanceof logs.CfnLogGroup) {
        child.retentionInDays = 90;
        child.applyRemovalPolicy(RETAIN);
      }
    }
    return cluster;
  }
}

class StorageAccessStack extends cdk.Stack {
  constructor(scope, id, { storage, ...props }) {
    super(scope, id, props);
    addon(this, 'aws-fsx-csi-driver', NAME, {
      'fsx-csi-controller-sa': { statements: [allow(['fsx:DescribeFileSystems'], ['*'])] },
    });
    addon(this, 'aws-efs-csi-driver', NAME, {
      'efs-csi-controller-sa': { managedPolicies: ['service-role/AmazonEFSCSIDriverPolicy'] },
      'efs-csi-node-sa': { statements: [allow(['elasticfilesystem:DescribeMountTargets'], ['*'])] },
    });
    const bucket = storage.checkpoints;
    const trainer = podRole(this, 'Trainer', {
      description: 'Buckets of service account training/trainer',
      statements: [
        allow(['s3:ListBucket', 's3:ListBucketMultipartUploads'], [bucket.bucketArn]),
        allow(
          [
            's3:GetObject',
            's3:GetObjectVersion',
            's3:PutObject',
            's3:DeleteObject',
            's3:AbortMultipartUpload',
            's3:ListMultipartUploadParts',
          ],
          [bucket.arnForObjects('*')],
        ),
      ],
    });
    new eksL1.CfnPodIdentityAssociation(this, 'TrainerAssociation', {
      clusterName: NAME,
      namespace: 'training',
      serviceAccount: 'trainer',
      roleArn: trainer.roleArn,
    });
  }
}

class PoolStack extends cdk.Stack {
  constructor(scope, id, { pool, network, cluster, ...props }) {
    super(scope, id, props);
    const efa = pool.interfaces ? [network.efa.securityGroupId] : [];
    const group = nodeGroup(this, pool, {
      clusterName: NAME,
      roleArn: cluster.nodeRole.roleArn,
      subnetIds: [network.training.subnetId],
      groups: [cluster.cluster.clusterSecurityGroupId, network.nodes.securityGroupId, ...efa],
    });
    new cdk.CfnOutput(this, 'NodegroupName', { value: group.attrNodegroupName });
  }
}

class KarpenterStack extends cdk.Stack {
  constructor(scope, id, props) {
    super(scope, id, props);
    const nodes = nodeRole(this, 'NodeRole');
    new eksL1.CfnAccessEntry(this, 'NodeAccess', {
      clusterName: NAME,
      principalArn: nodes.roleArn,
      type: 'EC2_LINUX',
    });
    const queue = this.interruptions();
    const controller = podRole(this, 'Controller', { description: `Karpenter controller of ${NAME}` });
    for (const [name, statements] of Object.entries(this.policies(nodes.roleArn, queue.queueArn))) {
      new iam.ManagedPolicy(this, `${name}Policy`, { statements, roles: [controller] });
    }
    new eksL1.CfnPodIdentityAssociation(this, 'ControllerAssociation', {
      clusterName: NAME,
      namespace: 'kube-system',
      serviceAccount: 'karpenter',
      roleArn: controller.roleArn,
    });
    const placement = new ec2.CfnPlacementGroup(this, 'PlacementGroupH200', { strategy: 'cluster' });
    new cdk.CfnOutput(this, 'NodeRoleName', { value: nodes.roleName });
    new cdk.CfnOutput(this, 'InterruptionQueueName', { value: queue.queueName });
    new cdk.CfnOutput(this, 'PlacementGroupH200Name', { value: placement.attrGroupName });
  }

  interruptions() {
    const queue = new sqs.Queue(this, 'Queue', {
      retentionPeriod: cdk.Duration.minutes(5),
      encryption: sqs.QueueEncryption.SQS_MANAGED,
      enforceSSL: true,
    });
    for (const [id, source, detail] of [
      ['ScheduledChange', 'aws.health', 'AWS Health Event'],
      ['SpotInterruption', 'aws.ec2', 'EC2 Spot Instance Interruption Warning'],
      ['Rebalance', 'aws.ec2', 'EC2 Instance Rebalance Recommendation'],
      ['StateChange', 'aws.ec2', 'EC2 Instance State-change Notification'],
      ['ReservationInterruption', 'aws.ec2', 'EC2 Capacity Reservation Instance Interruption Warning'],
    ]) {
      new events.Rule(this, id, {
        eventPattern: { source: [source], detailType: [detail] },
        targets: [new targets.SqsQueue(queue)],
      });
    }
    return queue;
  }

  /** The set that Karpenter publishes for 1.14, scoped to this cluster by tags. */
  policies(nodeRoleArn, queueArn) {
    const { partition, region, account } = this;
    const inEc2 = (kinds, owner = '*') => kinds.map((kind) => `arn:${partition}:ec2:${region}:${owner}:${kind}/*`);
    const profiles = [`arn:${partition}:iam::${account}:instance-profile/*`];
    const clusterArn = `arn:${partition}:eks:${region}:${account}:cluster/${NAME}`;
    const owned = `kubernetes.io/cluster/${NAME}`;
    const made = inEc2(['fleet', 'instance', 'volume', 'network-interface', 'launch-template', 'spot-instances-request']);
    const launch = ['ec2:RunInstances', 'ec2:CreateFleet'];
    const asked = { [`aws:RequestTag/${owned}`]: 'owned', 'aws:RequestTag/eks:eks-cluster-name': NAME };
    const poolAsked = { 'aws:RequestTag/karpenter.sh/nodepool': '*' };
    const carried = {
      StringEquals: { [`aws:ResourceTag/${owned}`]: 'owned' },
      StringLike: { 'aws:ResourceTag/karpenter.sh/nodepool': '*' },
    };
    const profileAsked = { ...asked, 'aws:RequestTag/topology.kubernetes.io/region': region };
    const profileCarried = {
      [`aws:ResourceTag/${owned}`]: 'owned',
      'aws:ResourceTag/topology.kubernetes.io/region': region,
    };
    const classAsked = { 'aws:RequestTag/karpenter.k8s.aws/ec2nodeclass': '*' };
    const classCarried = { 'aws:ResourceTag/karpenter.k8s.aws/ec2nodeclass': '*' };
    return {
      NodeLifecycle: [
        allow(
          launch,
          [
            ...inEc2(['image', 'snapshot'], ''),
            ...inEc2(['security-group', 'subnet', 'capacity-reservation', 'placement-group']),
          ],
          'UseSharedResources',
        ),
        allow(launch, inEc2(['launch-template']), 'UseOwnLaunchTemplates', carried),
        allow([...launch, 'ec2:CreateLaunchTemplate'], made, 'LaunchWithTags', {
          StringEquals: asked,
          StringLike: poolAsked,
        }),
        allow(['ec2:CreateTags'], made, 'TagAtCreation', {
          StringEquals: { ...asked, 'ec2:CreateAction': ['RunInstances', 'CreateFleet', 'CreateLaunchTemplate'] },
          StringLike: poolAsked,
        }),
        allow(['ec2:CreateTags'], inEc2(['instance']), 'TagOwnInstances', {
          ...carried,
          StringEqualsIfExists: { 'aws:RequestTag/eks:eks-cluster-name': NAME },
          'ForAllValues:StringEquals': { 'aws:TagKeys': ['eks:eks-cluster-name', 'karpenter.sh/nodeclaim', 'Name'] },
        }),
        allow(
          ['ec2:TerminateInstances', 'ec2:DeleteLaunchTemplate'],
          inEc2(['instance', 'launch-template']),
          'EndOwnResources',
          carried,
        ),
      ],
      IamIntegration: [
        allow(['iam:PassRole'], [nodeRoleArn], 'PassNodeRole', {
          StringEquals: { 'iam:PassedToService': ['ec2.amazonaws.com', 'ec2.amazonaws.com.cn'] },
        }),
        allow(['iam:CreateInstanceProfile'], profiles, 'MakeInstanceProfiles', {
          StringEquals: profileAsked,
          StringLike: classAsked,
        }),
        allow(['iam:TagInstanceProfile'], profiles, 'TagInstanceProfiles', {
          StringEquals: { ...profileCarried, ...profileAsked },
          StringLike: { ...classCarried, ...classAsked },
        }),
        allow(
          ['iam:AddRoleToInstanceProfile', 'iam:RemoveRoleFromInstanceProfile', 'iam:DeleteInstanceProfile'],
          profiles,
          'UseOwnInstanceProfiles',
          { StringEquals: profileCarried, StringLike: classCarried },
        ),
      ],
      EksIntegration: [allow(['eks:DescribeCluster'], [clusterArn], 'ApiServerEndpointDiscovery')],
      Interruption: [
        allow(['sqs:DeleteMessage', 'sqs:GetQueueUrl', 'sqs:ReceiveMessage'], [queueArn], 'InterruptionQueue'),
      ],
      ZonalShift: [
        allow(['arc-zonal-shift:GetManagedResource'], ['*'], 'ZonalShiftStatus', {
          StringEquals: { 'arc-zonal-shift:ResourceIdentifier': clusterArn },
        }),
      ],
      ResourceDiscovery: [
        allow(
          [
            'ec2:DescribeCapacityReservations',
            'ec2:DescribeImages',
            'ec2:DescribeInstanceStatus',
            'ec2:DescribeInstanceTypeOfferings',
            'ec2:DescribeInstanceTypes',
            'ec2:DescribeInstances',
            'ec2:DescribeLaunchTemplates',
            'ec2:DescribePlacementGroups',
            'ec2:DescribeSecurityGroups',
            'ec2:DescribeSpotPriceHistory',
            'ec2:DescribeSubnets',
          ],
          ['*'],
          'ReadRegion',
          { StringEquals: { 'aws:RequestedRegion': region } },
        ),
        allow(['ssm:GetParameter'], [`arn:${partition}:ssm:${region}::parameter/aws/service/*`], 'ReadImageParameters'),
        allow(['pricing:GetProducts'], ['*'], 'ReadPrices'),
        allow(['iam:ListInstanceProfiles'], ['*'], 'ListInstanceProfiles'),
        allow(['iam:GetInstanceProfile'], profiles, 'ReadInstanceProfiles'),
      ],
    };
  }
}

// --- the app --------------------------------------------------------------------------------------------------------

// The 32 EFA cards of p5.48xlarge: card 0 carries the plain interface too.
const P5_INTERFACES = [
  { card: 0, device: 0, kind: 'interface' },
  { card: 0, device: 1, kind: 'efa-only' },
  ...Array.from({ length: 31 }, (_, index) => ({ card: index + 1, device: 0, kind: 'efa-only' })),
];

const app = new cdk.App({ outdir: process.env.CDK_OUTDIR });
const network = new NetworkStack(app, `${NAME}-network`, { env: ENV });
const storage = new StorageStack(app, `${NAME}-storage`, { env: ENV, terminationProtection: true, network });
const cluster = new ClusterStack(app, `${NAME}-cluster`, { env: ENV, terminationProtection: true, network });
const access = new StorageAccessStack(app, `${NAME}-storage-access`, { env: ENV, storage });
access.addStackDependency(storage);
access.addStackDependency(cluster);
for (const pool of [
  {
    name: 'h100',
    purpose: 'training',
    instanceType: 'p5.48xlarge',
    amiType: 'AL2023_x86_64_NVIDIA',
    diskGib: 500,
    scaling: { minSize: 0, desiredSize: 4, maxSize: 4 },
    updateStrategy: 'MINIMAL',
    reservation: 'cr-0a1b2c3d4e5f67890',
    interfaces: P5_INTERFACES,
    raid0: true,
    gpu: true,
  },
  {
    name: 'notebooks',
    purpose: 'notebook',
    instanceType: 'g5.2xlarge',
    amiType: 'AL2023_x86_64_NVIDIA',
    diskGib: 500,
    scaling: { minSize: 0, desiredSize: 1, maxSize: 6 },
    updateStrategy: 'MINIMAL',
    raid0: true,
    gpu: true,
  },
]) {
  new PoolStack(app, `${NAME}-pool-${pool.name}`, { env: ENV, pool, network, cluster });
}
const karpenter = new KarpenterStack(app, `${NAME}-karpenter`, { env: ENV });
karpenter.addStackDependency(cluster);
for (const [key, value] of Object.entries(TAGS)) cdk.Tags.of(app).add(key, value);
app.synth();

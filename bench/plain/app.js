// The yardstick of bench/run.py: a training cluster written directly in JavaScript with the same library, no model, no rules,
// no charts. One function per stack of the real app; when a stack there changes what it creates, change its function here,
// and compare the two columns that bench/run.py prints.
'use strict';

const cdk = require('aws-cdk-lib');
const { aws_ec2: ec2, aws_efs: efs, aws_eks_v2: eks, aws_events: events, aws_events_targets: targets } = cdk;
const { aws_fsx: fsx, aws_iam: iam, aws_kms: kms, aws_s3: s3, aws_sqs: sqs } = cdk;

const ACCOUNT = '111122223333';
const REGION = 'us-east-1';
const ZONES = ['us-east-1a', 'us-east-1b'];
const NAME = 'training';
const managed = (name) => iam.ManagedPolicy.fromAwsManagedPolicyName(name);

function network(scope) {
  const stack = new cdk.Stack(scope, 'Network', { env: { account: ACCOUNT, region: REGION } });
  const vpc = new ec2.Vpc(stack, 'Vpc', {
    ipAddresses: ec2.IpAddresses.cidr('10.0.0.0/16'),
    availabilityZones: ZONES,
    natGateways: 1,
    subnetConfiguration: [
      { name: 'public', subnetType: ec2.SubnetType.PUBLIC, cidrMask: 24 },
      { name: 'private', subnetType: ec2.SubnetType.PRIVATE_WITH_EGRESS, cidrMask: 19 },
    ],
  });
  vpc.addGatewayEndpoint('S3', { service: ec2.GatewayVpcEndpointAwsService.S3 });
  for (const [id, service] of [
    ['EcrApi', ec2.InterfaceVpcEndpointAwsService.ECR],
    ['EcrDocker', ec2.InterfaceVpcEndpointAwsService.ECR_DOCKER],
    ['Sts', ec2.InterfaceVpcEndpointAwsService.STS],
  ]) {
    vpc.addInterfaceEndpoint(id, { service });
  }
  const nodes = new ec2.SecurityGroup(stack, 'Nodes', { vpc, description: 'training nodes' });
  nodes.addIngressRule(nodes, ec2.Port.allTraffic(), 'EFA between nodes');
  nodes.addEgressRule(nodes, ec2.Port.allTraffic(), 'EFA between nodes');
  return { vpc, nodes };
}

function storage(scope, { vpc, nodes }) {
  const stack = new cdk.Stack(scope, 'Storage', { env: { account: ACCOUNT, region: REGION } });
  const key = new kms.Key(stack, 'Key', { enableKeyRotation: true });
  const bucket = new s3.Bucket(stack, 'Checkpoints', {
    encryption: s3.BucketEncryption.KMS,
    encryptionKey: key,
    blockPublicAccess: s3.BlockPublicAccess.BLOCK_ALL,
    enforceSSL: true,
    versioned: true,
    removalPolicy: cdk.RemovalPolicy.RETAIN,
  });
  const lustreGroup = new ec2.SecurityGroup(stack, 'LustreGroup', { vpc, description: 'FSx for Lustre' });
  for (const peer of [nodes, lustreGroup]) {
    lustreGroup.addIngressRule(peer, ec2.Port.tcp(988));
    lustreGroup.addIngressRule(peer, ec2.Port.tcpRange(1018, 1023));
  }
  const scratch = new fsx.LustreFileSystem(stack, 'Scratch', {
    vpc,
    vpcSubnet: vpc.privateSubnets[0],
    securityGroup: lustreGroup,
    storageCapacityGiB: 4800,
    lustreConfiguration: { deploymentType: fsx.LustreDeploymentType.PERSISTENT_2, perUnitStorageThroughput: 250 },
    removalPolicy: cdk.RemovalPolicy.RETAIN,
  });
  const home = new efs.FileSystem(stack, 'Home', { vpc, encrypted: true, removalPolicy: cdk.RemovalPolicy.RETAIN });
  home.connections.allowDefaultPortFrom(nodes);
  home.addAccessPoint('Users', {
    path: '/users',
    posixUser: { uid: '1000', gid: '1000' },
    createAcl: { ownerUid: '1000', ownerGid: '1000', permissions: '0755' },
  });
  return { bucket, scratch, home };
}

function cluster(scope, { vpc, nodes }) {
  const stack = new cdk.Stack(scope, 'Cluster', { env: { account: ACCOUNT, region: REGION } });
  const control = new eks.Cluster(stack, 'Cluster', {
    clusterName: NAME,
    version: eks.KubernetesVersion.V1_35,
    vpc,
    vpcSubnets: [{ subnetType: ec2.SubnetType.PRIVATE_WITH_EGRESS }],
    defaultCapacityType: eks.DefaultCapacityType.NODEGROUP,
    defaultCapacity: 0,
    secretsEncryptionKey: new kms.Key(stack, 'Secrets', { enableKeyRotation: true }),
    clusterLogging: [eks.ClusterLoggingTypes.API, eks.ClusterLoggingTypes.AUDIT],
  });
  for (const addon of ['vpc-cni', 'kube-proxy', 'coredns', 'eks-pod-identity-agent', 'aws-efs-csi-driver']) {
    new eks.CfnAddon(stack, `Addon-${addon}`, { clusterName: control.clusterName, addonName: addon });
  }
  const role = new iam.Role(stack, 'NodeRole', {
    assumedBy: new iam.ServicePrincipal('ec2.amazonaws.com'),
    managedPolicies: ['AmazonEKSWorkerNodePolicy', 'AmazonEC2ContainerRegistryPullOnly', 'AmazonEKS_CNI_Policy'].map(managed),
  });
  new eks.Nodegroup(stack, 'System', {
    cluster: control,
    nodeRole: role,
    instanceTypes: [new ec2.InstanceType('m7i.xlarge')],
    amiType: eks.NodegroupAmiType.AL2023_X86_64_STANDARD,
    minSize: 2,
    maxSize: 4,
  });
  const placement = new ec2.CfnPlacementGroup(stack, 'Placement', { strategy: 'cluster' });
  const template = new ec2.CfnLaunchTemplate(stack, 'Trainers', {
    launchTemplateData: {
      instanceType: 'p5.48xlarge',
      placement: { groupName: placement.ref },
      metadataOptions: { httpTokens: 'required', httpPutResponseHopLimit: 2 },
      networkInterfaces: Array.from({ length: 32 }, (_, card) => ({
        networkCardIndex: card,
        deviceIndex: card === 0 ? 0 : 1,
        interfaceType: card === 0 ? 'interface' : 'efa-only',
        groups: [nodes.securityGroupId, control.clusterSecurityGroupId],
        deleteOnTermination: true,
      })),
    },
  });
  new eks.CfnNodegroup(stack, 'TrainersGroup', {
    clusterName: control.clusterName,
    nodeRole: role.roleArn,
    subnets: [vpc.privateSubnets[0].subnetId],
    amiType: 'AL2023_x86_64_NVIDIA',
    launchTemplate: { id: template.ref, version: template.attrLatestVersionNumber },
    scalingConfig: { minSize: 0, desiredSize: 8, maxSize: 8 },
    labels: { pool: 'trainers' },
    taints: [{ key: 'nvidia.com/gpu', value: 'true', effect: 'NO_SCHEDULE' }],
  });
  return control;
}

function identities(scope, control, { bucket }) {
  const stack = new cdk.Stack(scope, 'Identities', { env: { account: ACCOUNT, region: REGION } });
  const pod = (id, namespace, serviceAccount, statements) => {
    const role = new iam.Role(stack, id, {
      assumedBy: new iam.SessionTagsPrincipal(new iam.ServicePrincipal('pods.eks.amazonaws.com')),
    });
    for (const [actions, resources] of statements) {
      role.addToPolicy(new iam.PolicyStatement({ actions, resources }));
    }
    new eks.CfnPodIdentityAssociation(stack, `${id}Association`, {
      clusterName: control.clusterName,
      roleArn: role.roleArn,
      namespace,
      serviceAccount,
    });
    return role;
  };
  const queue = new sqs.Queue(stack, 'Interruptions', {
    encryption: sqs.QueueEncryption.SQS_MANAGED,
    retentionPeriod: cdk.Duration.minutes(5),
    enforceSSL: true,
  });
  for (const [id, source, detail] of [
    ['Spot', 'aws.ec2', 'EC2 Spot Instance Interruption Warning'],
    ['Rebalance', 'aws.ec2', 'EC2 Instance Rebalance Recommendation'],
    ['State', 'aws.ec2', 'EC2 Instance State-change Notification'],
    ['Health', 'aws.health', 'AWS Health Event'],
  ]) {
    const rule = new events.Rule(stack, id, { eventPattern: { source: [source], detailType: [detail] } });
    rule.addTarget(new targets.SqsQueue(queue));
  }
  const karpenter = pod('Karpenter', 'kube-system', 'karpenter', [
    [['ec2:RunInstances', 'ec2:CreateFleet', 'ec2:CreateLaunchTemplate', 'ec2:CreateTags'], ['*']],
    [['ec2:Describe*', 'pricing:GetProducts', 'ssm:GetParameter'], ['*']],
    [['eks:DescribeCluster'], [control.clusterArn]],
  ]);
  queue.grantConsumeMessages(karpenter);
  const trainer = pod('Trainer', 'training', 'trainer', [[['s3:ListBucket'], [bucket.bucketArn]]]);
  bucket.grantReadWrite(trainer);
  pod('LoadBalancer', 'kube-system', 'aws-load-balancer-controller', [[['elasticloadbalancing:*'], ['*']]]);
}

const app = new cdk.App({ outdir: process.env.CDK_OUTDIR });
app.node.setContext(`availability-zones:account=${ACCOUNT}:region=${REGION}`, ZONES);
const net = network(app);
const stores = storage(app, net);
const control = cluster(app, net);
identities(app, control, stores);
app.synth();

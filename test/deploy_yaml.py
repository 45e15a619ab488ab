#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""deploy_yaml.py FOLDER: contrib/deploy's manifests are YAML and ask for what an
EFA needs; prints the commands of the Kubernetes containers, a line each."""

import os
import re
import sys

import yaml

# Images of ParallelCluster whose own UCX is 1.13 or newer.
OS_SERVED = ('ubuntu2404',)
GRAVITON = re.compile(r'[a-z]+[0-9]+g') # hpc7g, c7gn


def containers(document):
    spec = document.get('spec', {})
    spec = spec.get('template', {}).get('spec', spec)
    return spec.get('containers', [])


def main(folder):
    problems, commands = [], []
    with open(os.path.join(folder, 'kubernetes.yaml')) as file:
        documents = list(yaml.safe_load_all(file))
    for container in (each for document in documents
                      for each in containers(document)):
        limits = container['resources']['limits']
        for name in ('vpc.amazonaws.com/efa', 'hugepages-2Mi', 'memory'):
            if name not in limits:
                problems.append(f'no limit {name}')
        if 'IPC_LOCK' not in container['securityContext']['capabilities']['add']:
            problems.append('no IPC_LOCK')
        commands.append(' '.join(container['command']))
    if len(commands) != 2:
        problems.append(f'{len(commands)} containers')
    with open(os.path.join(folder, 'parallelcluster.yaml')) as file:
        cluster = yaml.safe_load(file)
    queue = cluster['Scheduling']['SlurmQueues'][0]
    if cluster['Image']['Os'] not in OS_SERVED:
        problems.append(f'parallelcluster.yaml: the UCX of '
                        f'{cluster["Image"]["Os"]} is not served')
    kind = queue['ComputeResources'][0]['Instances'][0]['InstanceType']
    arch = 'aarch64' if GRAVITON.match(kind) else 'x86_64'
    archive = queue['CustomActions']['OnNodeConfigured']['Args'][0]
    if not archive.endswith(f'-linux-{arch}.tar.xz'):
        problems.append(f'parallelcluster.yaml: {kind} does not run {archive}')
    if not queue['ComputeResources'][0]['Efa']['Enabled'] or \
            not queue['Networking']['PlacementGroup']['Enabled']:
        problems.append('parallelcluster.yaml: no EFA or placement group')
    print('\n'.join(problems or commands))
    sys.exit(bool(problems))


main(sys.argv[1])

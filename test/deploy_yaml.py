#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""deploy_yaml.py FOLDER: contrib/deploy's manifests are YAML and ask for what an
EFA needs; prints the commands of the Kubernetes containers, a line each."""

import os
import sys

import yaml


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
        queue = yaml.safe_load(file)['Scheduling']['SlurmQueues'][0]
    if not queue['ComputeResources'][0]['Efa']['Enabled'] or \
            not queue['Networking']['PlacementGroup']['Enabled']:
        problems.append('parallelcluster.yaml: no EFA or placement group')
    print('\n'.join(problems or commands))
    sys.exit(bool(problems))


main(sys.argv[1])

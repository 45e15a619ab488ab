#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""make_sbom.py VERSION COMPILER FILE...: an SPDX document (2.3, JSON) of the packages
in these files on standard output, checked by spdx-tools. release.sh calls it.

Each file is a package with its checksums, made from the sources of this version. No
library of others is in any of them: those that they load from the system are named
as their dependencies, and the portable ones' compiler as their tool."""

import datetime
import hashlib
import os
import sys
import tempfile

if len(sys.argv) < 4:
    sys.exit(__doc__)

from spdx_tools.spdx.model import (Actor, ActorType, Checksum,
                                   ChecksumAlgorithm, CreationInfo, Document,
                                   Package, PackagePurpose, Relationship,
                                   RelationshipType, SpdxNoAssertion)
from spdx_tools.common.spdx_licensing import spdx_licensing
from spdx_tools.spdx.validation.document_validator import \
    validate_full_spdx_document
from spdx_tools.spdx.writer.write_anything import write_file

NAME = 'ucx-efa-srd'
AUTHORS = Actor(ActorType.ORGANIZATION, 'The ucx-efa-srd authors')
# Libraries that are looked up on the machine at run time: name, purpose.
LOADED = (('UCX', 'libucp, libuct, libucs: 1.13 or newer'),
          ('libibverbs', 'of rdma-core'), ('libefa', 'of rdma-core'))


def identifier(name):
    return 'SPDXRef-' + ''.join(c if c.isalnum() or c in '.-' else '-'
                                for c in name)


def package(name, version, **more):
    return Package(spdx_id=identifier(f'{name}-{version}'), name=name,
                   version=version, download_location=SpdxNoAssertion(), **more)


def of_file(path, version):
    with open(path, 'rb') as file:
        data = file.read()
    base = os.path.basename(path)
    purpose = (PackagePurpose.SOURCE if base == f'{NAME}-{version}.tar.xz'
               else PackagePurpose.INSTALL)
    algorithms = (ChecksumAlgorithm.SHA256, ChecksumAlgorithm.SHA1)
    return Package(
        spdx_id=identifier(base), name=NAME, version=version, file_name=base,
        download_location=SpdxNoAssertion(), supplier=AUTHORS,
        license_declared=spdx_licensing.parse('BSD-3-Clause'),
        license_concluded=spdx_licensing.parse('BSD-3-Clause'),
        copyright_text='2026 the ucx-efa-srd authors', files_analyzed=False,
        primary_package_purpose=purpose,
        checksums=[Checksum(kind, hashlib.new(kind.name.lower(),
                                              data).hexdigest())
                   for kind in algorithms])


def document(version, compiler, paths):
    when = datetime.datetime.fromtimestamp(
        int(os.environ['SOURCE_DATE_EPOCH']), datetime.timezone.utc)
    files = [of_file(path, version) for path in sorted(paths)]
    digest = hashlib.sha256(''.join(file.checksums[0].value
                                    for file in files).encode()).hexdigest()
    tool = package('zig', compiler, files_analyzed=False,
                   comment='compiler of what is for every Linux')
    loaded = [package(name, 'NOASSERTION', files_analyzed=False, comment=what)
              for name, what in LOADED]
    info = CreationInfo(
        'SPDX-2.3', 'SPDXRef-DOCUMENT', f'{NAME}-{version}',
        f'https://spdx.org/spdxdocs/{NAME}-{version}-{digest[:32]}',
        [AUTHORS, Actor(ActorType.TOOL, 'make_sbom.py')],
        when.replace(tzinfo=None))
    relations = [Relationship('SPDXRef-DOCUMENT', RelationshipType.DESCRIBES,
                              file.spdx_id) for file in files]
    sources = [file for file in files
               if file.primary_package_purpose == PackagePurpose.SOURCE]
    for file in files:
        if file in sources:
            continue
        relations += [Relationship(file.spdx_id, RelationshipType.GENERATED_FROM,
                                   source.spdx_id) for source in sources]
        relations += [Relationship(one.spdx_id,
                                   RelationshipType.RUNTIME_DEPENDENCY_OF,
                                   file.spdx_id) for one in loaded]
        if not file.file_name.endswith('.deb'):
            relations.append(Relationship(
                tool.spdx_id, RelationshipType.BUILD_TOOL_OF, file.spdx_id))
    return Document(info, packages=[*files, tool, *loaded],
                    relationships=relations)


def main(version, compiler, *paths):
    made = document(version, compiler, paths)
    wrong = validate_full_spdx_document(made)
    if wrong:
        sys.exit('make_sbom.py: ' + '; '.join(w.validation_message
                                              for w in wrong))
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, 'sbom.spdx.json')
        write_file(made, path, validate=False)
        with open(path, encoding='utf-8') as file:
            print(file.read())


main(*sys.argv[1:])

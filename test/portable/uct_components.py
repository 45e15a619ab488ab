# SPDX-License-Identifier: BSD-3-Clause
"""Prints the components of the UCX that it opens, and where the SRD transport of
this process comes from. A program that knows nothing of us, unless --import."""

import ctypes
import sys

if '--import' in sys.argv:
    import ucx_efa_srd  # noqa: F401


class ComponentAttr(ctypes.Structure):
    _fields_ = [('field_mask', ctypes.c_uint64), ('name', ctypes.c_char * 16),
                ('more', ctypes.c_uint64 * 16)]


uct = ctypes.CDLL('libuct.so.0', ctypes.RTLD_GLOBAL)
components = ctypes.POINTER(ctypes.c_void_p)()
count = ctypes.c_uint()
# as libucp does: what stands before UCX in the process is asked first
query = ctypes.CDLL(None).uct_query_components
if query(ctypes.byref(components), ctypes.byref(count)) != 0:
    sys.exit('uct_query_components failed')
names = []
for i in range(count.value):
    attr = ComponentAttr(field_mask=1)
    component = ctypes.c_void_p(components[i])
    if uct.uct_component_query(component, ctypes.byref(attr)) == 0:
        names.append(attr.name.decode())
print('components', *names)
with open('/proc/self/maps', encoding='utf-8') as maps:
    for path in sorted({line.rstrip('\n').split(None, 5)[5] for line in maps
                        if 'libuct_srd.so.0' in line}):
        print('module', path)

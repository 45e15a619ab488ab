# SPDX-License-Identifier: BSD-3-Clause
"""What NIXL's own tests ask of torch on a machine without a GPU."""


class cuda:  # noqa: N801
    @staticmethod
    def device_count():
        return 0

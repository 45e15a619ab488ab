#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# UD on a link that fills and loses (P20): flow_link, in virtual time, so the same
# each time. Each line has its bounds; one that is exceeded fails. DESIGN,
# decision 19, has the rules.
# usage: test/link.sh BUILD_DIR [quick|ci|full]
exec "$1/test/flow_link"

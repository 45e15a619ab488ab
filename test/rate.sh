#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# What idle and silent peers cost a busy one, whether senders share alike, what
# an incast and the phases of an all-to-all meet (P17): flow_rate, in virtual
# time, so the same each time. Each line has its bound; one that is exceeded
# fails. DESIGN, decision 18, has the rules.
# quick: the tables that take a second each.
# usage: test/rate.sh BUILD_DIR [quick|ci|full]; full: with 10,000 peers, too
case ${2:-ci} in
full) exec "$1/test/flow_rate" --full ;;
quick) exec "$1/test/flow_rate" idle silent shares incast phases pingpong \
    halves ;;
*) exec "$1/test/flow_rate" ;;
esac

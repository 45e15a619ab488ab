# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
#
# libfabric's own tests, by which AWS judges a device, between two hosts. Sourced, after
# system.sh. SRD_FABTESTS=DIR runs those of another libfabric: DIR/bin has the programs,
# DIR/lib the library; Debian sid has to run them.

# Each program as libfabric's own scripts call it for this provider, and how many bytes
# the devices must have moved at least.
FABTESTS='
19      fi_rdm
100000  fi_flood -e rdm -v -T 1
100000  fi_rdm_pingpong -v -I 5 -S r:1000,4000,90000
100000  fi_rdm_pingpong -v -I 5 -j 0
1000000 fi_rdm_tagged_pingpong -v -I 5
1000000 fi_rdm_tagged_bw -v -I 5 -U
20000   fi_rdm_tagged_bw -v -I 5 -S 4096 --use-fi-more
20000   fi_rdm_bw -v -I 5 -S 4096
100000  fi_rdm_atomic -I 5 -o all
10000   fi_rdm_tagged_peek
1000000 fi_rma_bw -v -I 5 -e rdm -o read
1000000 fi_rma_bw -v -I 5 -e rdm -o write
1000000 fi_rma_bw -v -I 5 -e rdm -o writedata
1000000 fi_rma_pingpong -v -I 5 -e rdm -o writedata
50000   fi_unexpected_msg -v -I 5 -e rdm -M 64
4000    fi_multi_recv -v -I 5 -e rdm
300     fi_multi_ep -v -e rdm
50      fi_inject_test -v -A inject
50      fi_inject_test -v -N -A inject
1000    fi_cq_data -e rdm -o senddata
1000    fi_cq_data -e rdm -o writedata
4000    fi_av_xfer -e rdm
2000    fi_recv_cancel -e rdm -V
1000000 fi_rdm_multi_client
10000   fi_dgram_pingpong -k -v -I 5 -S 1024
16384   fi_efa_rnr_queue_resend -c 1 -S 16384
1048576 fi_efa_rnr_queue_resend -c 0 -S 1048576
200000  fi_efa_rnr_read_cq_error
1000    fi_efa_rdm_remote_exit_early
40000   fi_rdm_pingpong -f efa-direct -v -I 5 -S 4096
40000   fi_rma_bw -f efa-direct -v -I 5 -S 1048576 -e rdm -o read
40000   fi_rma_bw -f efa-direct -v -I 5 -S 4096 -e rdm -o write
40000   fi_efa_hw_cntr -f efa-direct -I 5 -S 4096
40000   fi_efa_hw_cntr -f efa-direct -I 5 -S 4096 -o write
'

# fabtests_made: where they are, built on first use.
fabtests_made() {
    "$TEST_DIR/../contrib/ci/fabtests.sh" sid || exit
}

# fabtests_in PART PARTS DEVICE [OPTION...]: in Debian sid, those rows of the table.
fabtests_in() {
    SRD_FABTESTS=${SRD_FABTESTS-$(fabtests_made)} || exit
    export SRD_FABTESTS
    # shellcheck disable=SC2034 # for in_system
    SYSTEM_BINDS=(--bind "$SRD_FABTESTS")
    in_system sid efasim-clients fabtests "$@"
}

# There. Debian's libfabric has not all programs.
fabtests() {
    local part=$1 parts=$2 device=$3 number=0 ran=0 least program
    shift 3
    PATH=$SRD_FABTESTS/bin:$PATH
    export FI_EFA_USE_HW_CNTR=1 LD_LIBRARY_PATH=$SRD_FABTESTS/lib
    while read -r least program; do
        number=$((number + 1))
        [ $((number % parts)) = "$part" ] && fabtests_can "$device" "$program" || continue
        echo "== $program"
        # shellcheck disable=SC2086 # one word each
        fabtests_one "$least" --device "$device" "$@" -- $program
        ran=$((ran + 1))
    done < <(grep . <<<"$FABTESTS")
    at_least programs $ran 1
    note "$ran programs"
}

# fabtests_can DEVICE PROGRAM: the fabric efa-direct has RMA where the device has both
# reads and writes alone, and efa3 alone has counters.
fabtests_can() {
    case "$1 $2" in
    efa[12]*fi_efa_hw_cntr* | efa1*efa-direct*-o*) return 1 ;;
    esac
    command -v "${2%% *}"
}

# fabtests_one LEAST OPTION... -- PROGRAM [ARG...]
fabtests_one() {
    local least=$1 options=() command written
    shift
    while [ "$1" != -- ]; do
        options+=("$1")
        shift
    done
    command=("${@:2}" -p efa -E=@PORT@)
    (two_nodes "${options[@]}" -- "${command[@]}" -- "${command[@]}" 127.0.0.1) || exit
    STAT=$CHECK_LOG.stat
    at_least payload "$(stat_payload "$STAT")" "$least"
    at_most cq_overruns "$(stat_sum "$STAT" cq_overruns)" 0
    case "${options[1]} ${command[*]}" in
    efa[23]*-o\ write*)
        written=$(stat_sum "$STAT" rdma_write_bytes) || exit
        at_least rdma_write_bytes "$written" 4
        ;;
    esac
}

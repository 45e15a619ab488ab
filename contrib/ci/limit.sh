# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
#
# Limits of time that mean the same on a busy machine and on one CPU as on two
# quiet ones. Sourced by test.sh and by test/lib.sh.
#
# A limit of S seconds is one of "quiet" seconds: what passed, but no more than
# half of the CPU time that the limited processes used or left unused. Where
# others take the CPUs, or there is one only, they have accordingly longer.

# A limit is at most so many times itself, whatever the machine does.
export LIMIT_STRETCH=6

# limit_idle: seconds, in hundredths, for which the CPUs that this process may
# use had nothing to do since the machine started.
limit_idle() {
    awk '$1 == "Cpus_allowed_list:" {
            n = split($2, parts, ",")
            for (i = 1; i <= n; ++i) {
                last = split(parts[i], ends, "-") > 1 ? ends[2] : ends[1]
                for (c = ends[1] + 0; c <= last; ++c) mine["cpu" c] = 1
            }
        }
        $1 in mine { idle += $5 + $6 }
        END { printf "%d\n", idle }' /proc/self/status /proc/stat
}

# limit_stats PATH...: a line of each /proc/PID/stat, without the name, of which its
# owner may have made lines of their own: PID, state, parent, group and so on.
limit_stats() {
    LC_ALL=C grep -asHz '' "$@" | LC_ALL=C tr '\n\0' ' \n' |
        LC_ALL=C sed 's|^/proc/\([0-9]*\)/.*) |\1 |'
}

# limit_used PID: CPU time, in hundredths of a second, of PID, of those below
# it and of those of them that have ended.
limit_used() {
    limit_stats /proc/[0-9]*/stat | awk -v root="$1" '
        { parent[$1] = $3; used[$1] = $14 + $15 + $16 + $17 }
        END {
            for (pid in used) {
                # those in between may have ended while this was read: no circle
                for (p = pid; p != root && p in parent && i[pid]++ < 100; p = parent[p]) { }
                if (p == root) sum += used[pid]
            }
            printf "%d\n", sum
        }'
}

# limit_past PID: CPU time, in hundredths of a second, of all children that PID
# has waited for.
limit_past() {
    limit_stats "/proc/$1/stat" | awk '{ print $16 + $17 }'
}

# limit_watch PID SECONDS: ends with PID, a `timeout` of LIMIT_STRETCH times
# SECONDS, or lets it end what it started as soon as SECONDS quiet ones are over.
limit_watch() {
    local pid=$1 limit=$(($2 * 100)) began=${EPOCHREALTIME/./} idle quiet spare
    idle=$(limit_idle)
    quiet=0
    while [ $quiet -lt $limit ]; do
        limit_sleep $(((limit - quiet + 99) / 100))
        kill -0 "$pid" 2>/dev/null || return
        quiet=$(((${EPOCHREALTIME/./} - began) / 10000))
        spare=$((($(limit_used "$pid") + $(limit_idle) - idle) / 2))
        [ $spare -ge $quiet ] || quiet=$spare
    done
    # The same as timeout's own alarm.
    kill -ALRM "$pid" 2>/dev/null
}

# group_end PID: ends what still runs of the process group of PID, a `timeout`
# that has ended. Succeeds if something did. (A process that has ended and whose parent
# has not asked for its status is in the group, too, but leaves nothing behind.)
group_end() {
    limit_stats /proc/[0-9]*/stat | awk -v group="$1" '
        $4 == group && $2 !~ /[ZX]/ { found = 1 }
        END { exit !found }' && kill -KILL -- "-$1" 2>/dev/null
}

# limit_sleep SECONDS: without a process that would be left behind.
limit_sleep() {
    read -r -t "$1" _ <> <(:)
}

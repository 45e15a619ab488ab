# SPDX-License-Identifier: BSD-3-Clause
# ucx-efa-srd(7), of what stands elsewhere: features and limits of README.md, variables
# of the tables in the sources, which follow it.

BEGIN {
    print ".\\\" SPDX-License-Identifier: BSD-3-Clause"
    print ".TH UCX\\-EFA\\-SRD 7 \"\" \"ucx\\-efa\\-srd\" \"Miscellaneous\""
    print ".SH NAME\nucx\\-efa\\-srd \\- transports srd and ud for AWS EFA in an installed UCX"
    print ".SH SYNOPSIS\nUCX_TLS=srd,sm,self srdrun\n.I COMMAND"
}

# A line of Markdown as roff: no links, no marks.
function plain(line) {
    sub(/^ +/, "", line)
    gsub(/`|\*\*/, "", line)
    while (match(line, /\[[^]]*\]\([^)]*\)/)) {
        word = substr(line, RSTART + 1, index(substr(line, RSTART), "]") - 2)
        line = substr(line, 1, RSTART - 1) word substr(line, RSTART + RLENGTH)
    }
    gsub(/\\/, "\\e", line)
    gsub(/-/, "\\-", line)
    return line
}

FILENAME ~ /README/ {
    if (/^## /) {
        section = /^## What you gain/ ? "FEATURES" : /^## Limits/ ? "LIMITS" : ""
        if (section != "")
            print ".SH " section
    } else if (section != "" && /^- /)
        print ".IP \\(bu 2\n" plain(substr($0, 3))
    else if (section != "" && NF)
        print plain($0)
    next
}

# A constant, for a default that is no text.
/^#define [A-Z_]+ +[0-9]/ { constant[$2] = $3 }
/^ +FLOW_[A-Z_]+ += [0-9]+,/ { constant[$1] = $3 + 0 }
/^BOTH_VARIABLE/ { prefix = "UCX_SRD_*, UCX_EFA_UD_*" }
/^SRD_VARIABLE/ { prefix = "UCX_SRD_" }
/^UD_VARIABLE/ { prefix = "UCX_EFA_UD_" }
/^MD_VARIABLE|global_fields\[\]/ { prefix = "UCX_EFA_" }
NF == 0 || /^[}#]/ { prefix = "" }
prefix != "" {
    text[prefix] = text[prefix] " " $0
    if (!(prefix in known)) {
        known[prefix] = 1
        order[++tables] = prefix
    }
}

# Prints the rows of a table: a name, a default, and, of what follows, the text.
function rows(prefix, all,    name, dflt, part, i) {
    while (match(all, /[({] *"[A-Z_0-9]+", */)) {
        name = substr(all, RSTART, RLENGTH)
        gsub(/[^A-Z_0-9]/, "", name)
        all = substr(all, RSTART + RLENGTH)
        dflt = substr(all, 1, index(all, ",") - 1)
        all = substr(all, index(all, ",") + 1)
        if (dflt ~ /\(/)
            dflt = constant[substr(dflt, i = index(dflt, "(") + 1, index(dflt, ")") - i)]
        gsub(/["\\ ]/, "", dflt)
        part = substr(all, index(all, "\"") + 1)
        match(part, /"[ \\]*[,)]/)
        all = substr(part, RSTART + 1)
        part = substr(part, 1, RSTART - 1)
        gsub(/"[ \\]*"/, "", part)
        sub(/\*.*/, "", prefix)
        print ".TP\n.B " prefix name (dflt == "" ? "" : "\n(" plain(dflt) ")") "\n" plain(part) "."
    }
}

END {
    print ".SH ENVIRONMENT\nDefaults stand in parentheses; UCX_* are UCX's other variables."
    for (i = 1; i <= tables; i++) {
        if (order[i] ~ /\*/)
            print ".SS Of both transports: UCX_SRD_* for srd, UCX_EFA_UD_* for ud"
        else if (order[i] == "UCX_EFA_")
            print ".SS Of the device and the process"
        else
            print ".SS Of " (order[i] ~ /SRD/ ? "srd" : "ud") " alone"
        rows(order[i], text[order[i]])
    }
    print ".SH EXAMPLES\n.TP\n.B srd_info \\-\\-check\nSay what makes UCX miss an EFA, and the remedy."
    print ".TP\n.B UCX_TLS=srd,sm,self srdrun ./program\nSend over the EFA between hosts."
    print ".TP\n.B srd_info \\-\\-top\nSay who waits for whom in a job that hangs."
    print ".SH SEE ALSO\n.BR srdrun (1),\n.BR srd_info (1),\n.BR srd_replay (1),"
    print ".BR efasim (1),\n.BR efapci (1),\n.BR srd_systemwide (8),\nshare/doc/ucx\\-efa\\-srd"
}

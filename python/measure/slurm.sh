#!/usr/bin/env bash
# Sweeps under a Slurm of one node, on this machine: by dask-jobqueue with workers that are killed, and by an array of jobs with `--shard` and `merge`.
#
#     python/measure/slurm.sh [PYTHON]
#
# Installs Debian's slurm-wlm if it is missing (as root), starts munged, slurmctld and slurmd in a folder of their own unless a Slurm is running,
# and stops what it started. PYTHON has the package installed with its extra `cluster`.
set -euo pipefail
python="${1:-python3}"
here="$(cd "$(dirname "$0")" && pwd)"

if ! command -v slurmctld >/dev/null; then
    apt-get update >/dev/null
    DEBIAN_FRONTEND=noninteractive apt-get install --yes --no-install-recommends slurm-wlm munge >/dev/null
fi

folder="$(mktemp -d)"
stop() {
    scancel --quiet --user "$(id -un)" 2>/dev/null || true
    for daemon in slurmd slurmctld; do
        [[ -f "$folder/$daemon.pid" ]] && kill "$(cat "$folder/$daemon.pid")" 2>/dev/null || true
    done
    sleep 1
    rm -rf "$folder"
}

if ! sinfo >/dev/null 2>&1; then
    trap stop EXIT
    cores="$(nproc)"
    # Slots for more jobs than cores: what is measured is faults, not speed.
    cat >"$folder/slurm.conf" <<CONF
ClusterName=one
SlurmctldHost=$(hostname -s)(127.0.0.1)
AuthType=auth/munge
CredType=cred/munge
SlurmUser=root
SlurmdUser=root
StateSaveLocation=$folder/state
SlurmdSpoolDir=$folder/spool
SlurmctldPidFile=$folder/slurmctld.pid
SlurmdPidFile=$folder/slurmd.pid
SlurmctldLogFile=$folder/slurmctld.log
SlurmdLogFile=$folder/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SlurmdParameters=config_overrides
ReturnToService=2
MpiDefault=none
NodeName=$(hostname -s) NodeAddr=127.0.0.1 CPUs=$((cores > 8 ? cores : 8)) RealMemory=8000 State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP OverSubscribe=FORCE:4
CONF
    mkdir -p "$folder/state" "$folder/spool"
    export SLURM_CONF="$folder/slurm.conf"
    [[ -f /etc/munge/munge.key ]] || { mkdir -p /etc/munge && dd if=/dev/urandom of=/etc/munge/munge.key bs=1 count=1024 2>/dev/null; chown munge /etc/munge/munge.key; chmod 400 /etc/munge/munge.key; }
    if ! munge -n >/dev/null 2>&1; then
        mkdir -p /run/munge /var/log/munge /var/lib/munge
        chown munge /run/munge /var/log/munge /var/lib/munge
        runuser -u munge -- munged
    fi
    slurmctld -f "$SLURM_CONF"
    slurmd -f "$SLURM_CONF" -b
    for _ in $(seq 30); do
        sinfo --noheader --states=idle | grep -q . && break
        sleep 1
    done
fi
sinfo

echo
echo "## dask-jobqueue"
echo
"$python" "$here/cluster.py" slurm

echo
echo "## An array of jobs"
echo
work="$(mktemp -d)"
cd "$work"
cat >sweep.toml <<'TOML'
topology = "mesh:8x8"
traffic.arrivals = { process = "poisson", rate = 0.01 }
traffic.length = 32
traffic.multicast.destinations = 6
run = { messages = 3000, warmup = 10000 }
[sweep]
algorithm = ["dual-path", "column-path"]
traffic.arrivals.rate = { from = 0.002, to = 0.03, points = 10 }
TOML
cat >part.sh <<SH
#!/bin/sh
#SBATCH --array=1-5
#SBATCH --requeue
#SBATCH --output=part-%a.log
exec "$python" -m wormcast sweep sweep.toml --shard "\$SLURM_ARRAY_TASK_ID/5" --jobs 1 --out parts
SH
array="$(sbatch --parsable part.sh)"
# One of the jobs is killed as a machine that fails kills it, and queued again.
sleep 4
scontrol requeue "${array}_2" || true
while squeue --noheader --jobs "$array" | grep -q .; do sleep 1; done
"$python" -m wormcast merge parts/sweep-shard-*-of-5.db --experiment sweep.toml --out merged
"$python" -m wormcast plot sweep.toml --out merged >/dev/null
"$python" -m wormcast sweep sweep.toml --out whole >/dev/null
cmp merged/sweep.csv whole/sweep.csv
cmp merged/sweep.svg whole/sweep.svg
echo "5 jobs, one of them queued again: table and plot have the bytes of one sweep."

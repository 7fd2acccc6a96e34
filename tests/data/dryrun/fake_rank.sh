#!/bin/sh
# Stands for a training in dry run: says what it was told and ends as a dry-run log does.
#
#   fake_rank.sh [ARGUMENT...]     FAIL_STAGE: the stage that fails
set -u
for argument; do echo "argument: [$argument]"; done
for name in MS_SIMULATION_LEVEL MS_KERNEL_LAUNCH_SKIP MS_MEMORY_STATISTIC RANK_SIZE RANK_ID STAGE_ID DEVICE_ID \
    GLOG_v MS_DEV_SIDE_EFFECT_LOAD_ELIM RANK_TABLE_FILE GREETING; do
    eval "echo \"$name=\${$name-unset}\""
done
if [ "${FAIL_STAGE:-none}" = "$STAGE_ID" ]; then
    echo 'RuntimeError: no such layer' >&2
    exit 7
fi
echo 'Device MOC memory size: 62432M'
echo 'MindSpore Used memory size: 59392M'
echo 'MindSpore memory base address: 0'
echo "Used peak memory usage (without fragments): $((20000 + STAGE_ID))M"
echo "Actual peak memory usage (with fragments): $((21000 + STAGE_ID))M"

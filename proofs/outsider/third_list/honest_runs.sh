#!/bin/sh
# Five real runs with other settings, into the folder FOLDER: sh honest_runs.sh FOLDER, then suite check FOLDER. None is to be refused.
# One argument: the folder. MNIST and digits must be prepared (suite data prepare mnist; suite data prepare digits).
set -eu
folder=$1
run() {
  name=$1
  shift
  suite run --device auto --workload lenet --baseload 0 --output "$folder/$name" --force "$@"
}
run large-batch --division closed --framework pytorch --batch-size 96 --learning-rate 0.03 --seed 77 --keep-states
run workers --division open --framework pytorch --data digits --workers 2 --prefetch 4 --epochs 6 --batch-size 24 --seed 2026
run two-ranks --division open --framework chainer --data digits --ranks-per-node 2 --epochs 4 --batch-size 32
TZ=Asia/Kathmandu LC_ALL=C run kathmandu --division open --framework fake --data digits --epochs 3 --meters -counters
run short --division open --framework tensorflow --data digits --epochs 2 --batch-size 128 --threads 2

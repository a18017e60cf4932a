#!/bin/bash
# Makes the real runs of the second list, honest variations among them: honest_runs.sh FOLDER. Needs the frameworks' environments, the digits and MNIST.
# The simulated power meters (meters.py) and a witness at port 8799 must be running; TOMLS holds a meters.toml for each meter.
H=${1:?folder for the runs}; TOMLS=${TOMLS:-$H/tomls}
run() {  # run NAME options...; P=meter: with a simulated power meter; PRE=command before; OUT=another folder
    name=$1; shift
    local suite=(${PRE:-} .venv/bin/suite run --device auto --output "${OUT:-$H/$name}" "$@")
    if [ -n "${P:-}" ]; then
        ETC=$H/etc TOML=$TOMLS/$P.toml unshare -m sh -c 'mount --bind "$ETC" /etc; mount --bind "$TOML" /etc/edge-training-suite/meters.toml; exec "$@"' sh "${suite[@]}"
    else
        "${suite[@]}"
    fi
    echo "$name $?" >> "$H/status.txt"
}
O="--division open --workload lenet --org second"
C="--division closed --workload lenet --framework pytorch --data mnist --batch-size 128 --learning-rate 0.04 --threads 1 --org second --nonce second-list"
W="--witness http://127.0.0.1:8799"
P=main run closed-0 $C $W --run-number 0 --baseload 6
P=main run closed-1 $C $W --run-number 1 --baseload 6
P=main run closed-2 $C --run-number 2 --baseload 6
P=clean run closed-power $C --run-number 3 --baseload 5
P=clean run closed-power-w $C $W --run-number 4 --baseload 5
C_RANKS="--division closed --workload lenet --data mnist --batch-size 128 --learning-rate 0.04 --threads 1 --org second --seed 7 --ranks-per-node 2 --baseload 6"
P=main run closed-two-ranks $C_RANKS --framework chainer
P=main run closed-ranks-pytorch $C_RANKS --framework pytorch
run open-pytorch $O --epochs 5 --framework pytorch --data digits --batch-size 16 --seed 11 --threads 1
P=main run open-fake $O --epochs 5 --framework fake --data digits --batch-size 16 --seed 3 --baseload 3 $W
P=main run open-ranks $O --epochs 5 --framework pytorch --data digits --batch-size 32 --seed 5 --ranks-per-node 2 --threads 1 --baseload 4
run open-tf $O --epochs 5 --framework tensorflow --data digits --batch-size 16 --seed 12 --threads 1
run open-chainer $O --epochs 5 --framework chainer --data digits --batch-size 16 --threads 1 --nonce open-text --run-number 0
P=clean run open-power $O --framework pytorch --data digits --batch-size 16 --seed 71 --epochs 12 --threads 1 --baseload 5
P=clean run open-power-w $O --framework pytorch --data digits --batch-size 16 --seed 72 --epochs 12 --threads 1 --baseload 5 $W
run h-closed-missed --division closed --workload lenet --framework pytorch --data mnist --batch-size 128 --learning-rate 0.001 --threads 1 --org second --seed 9
# honest variations
O="$O --epochs 3"
F="$O --framework fake --data digits"
T="$O --framework pytorch --data digits --threads 1"
P=watt run h-watt $F --batch-size 16 --seed 21 --baseload 4
P=local run h-local-zone $F --epochs 6 --batch-size 16 --seed 22 --baseload 4
P=gap run h-meter-gap $F --epochs 30 --batch-size 16 --seed 23 --baseload 4
P=own run h-power-step $F --epochs 12 --batch-size 16 --seed 24 --baseload 4
P=slow run h-slow-meter $F --epochs 12 --batch-size 16 --seed 25 --baseload 6
P=glitch run h-glitch $F --epochs 20 --batch-size 16 --seed 26 --baseload 4
P=main run h-no-baseload $F --batch-size 16 --seed 27 --baseload 0
run h-batch-8 $T --batch-size 8 --seed 31
run h-full-batch $O --framework chainer --data digits --batch-size 1438 --seed 32 --threads 1
run h-batch-37 $O --framework tensorflow --data digits --batch-size 37 --seed 33
run h-rate-small $T --learning-rate 0.00001 --batch-size 16 --seed 34
run h-rate-large $T --learning-rate 0.3 --batch-size 16 --seed 35
run h-rate-diverges $F --learning-rate 50 --batch-size 16 --seed 35
run h-threads-2 $O --framework pytorch --data digits --threads 2 --batch-size 64 --seed 36
run h-ranks-2-chainer $O --framework chainer --data digits --threads 1 --batch-size 32 --seed 37 --ranks-per-node 2
run h-ranks-4 $T --batch-size 30 --seed 38 --ranks-per-node 4
run h-native $T --batch-size 32 --seed 39 --ranks-per-node 2 --collective native
TZ=Asia/Kolkata run h-tz-kolkata $F --batch-size 16 --seed 41
TZ=America/St_Johns run h-tz-stjohns $F --batch-size 16 --seed 42
run h-org-unicode --division open --workload lenet --org "Zürich-Übung" --epochs 2 --framework fake --data digits --batch-size 16 --seed 43
OUT="$H/h-Löwe é 日本" run h-path-unicode $F --batch-size 16 --seed 44
OUT="$H/h with two  spaces" run h-path-spaces $F --batch-size 16 --seed 45
LC_ALL=tr_TR.UTF-8 LANG=tr_TR.UTF-8 run h-turkish $F --batch-size 16 --seed 46
PRE="taskset -c 0" run h-taskset $O --framework pytorch --data digits --batch-size 16 --seed 47
PRE="nice -n 19" run h-nice $T --batch-size 16 --seed 48
run h-workers $O --framework pytorch --data digits --threads 1 --workers 2 --prefetch 4 --batch-size 16 --seed 49
run h-steps $T --steps 50 --batch-size 16 --seed 50
run h-one-epoch --division open --workload lenet --org second --epochs 1 --framework tensorflow --data digits --batch-size 16 --seed 51
run h-seed-0 $F --batch-size 16 --seed 0
run h-seed-max $F --batch-size 16 --seed 4294967295
run h-nonce $F --batch-size 16 --nonce "Ein Text, den niemand wußte 🎲" --run-number 4
run h-witness $F --batch-size 16 --seed 52 $W
run h-witness-dead $F --batch-size 16 --seed 53 --witness http://127.0.0.1:9
run h-bf16 $O --framework pytorch_bf16 --data digits --batch-size 16 --seed 54
run h-synthetic --division open --workload lenet --org second --epochs 1 --framework fake --data synthetic --batch-size 512 --seed 55
now=$(python3 -c 'import time; print(time.monotonic()+7)'); SHIFT_AT=$now SHIFT_BY=95 PRE="env LD_PRELOAD=$H/clock_step.so" run h-clock-step $F --epochs 20 --batch-size 16 --seed 56
now=$(python3 -c 'import time; print(time.monotonic()+7)'); SHIFT_AT=$now SHIFT_BY=-3600 PRE="env LD_PRELOAD=$H/clock_step.so" run h-clock-back $F --epochs 20 --batch-size 16 --seed 57
# a busy machine
for i in 1 2 3; do timeout 25 python3 -c "while True: pass" & done
run h-busy $T --epochs 4 --batch-size 16 --seed 58
wait
# paused: the training is stopped for three seconds (a closed lid)
( sleep 5; p=$(pgrep -f "output $H/h-paused" | tail -1); c=$(pgrep -P $p | head -1); kill -STOP $c; sleep 3; kill -CONT $c ) & 
run h-paused $F --epochs 20 --batch-size 16 --seed 59
wait
P=main run h-tiny-batch-power $O --framework pytorch --data digits --batch-size 2 --seed 60 --threads 1 --baseload 4
run h-stalls $T --batch-size 16 --seed 61 --stall-analysis
# killed while its bundle is closed: SIGKILL right after run_stop is in the log, then `suite finish`
.venv/bin/suite run --device auto $F --batch-size 16 --seed 62 --force --output "$H/h-killed" & pid=$!
until grep -q run_stop "$H/h-killed/log.txt" 2> /dev/null; do sleep 0.005; done
kill -KILL $pid
.venv/bin/suite finish "$H/h-killed"

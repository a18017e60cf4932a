#!/bin/busybox sh
# First program of the emulated machine: modules, the folders of the host, and the job that the host has written.
/bin/busybox --install -s /bin
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs dev /dev
for module in virtio_mmio netfs fscache 9pnet 9pnet_virtio 9p i2c-dev; do insmod /modules/$module.ko || poweroff -f; done
options=trans=virtio,version=9p2000.L,msize=262144
mount -t 9p -o $options,cache=loose root /root || poweroff -f
mount -t 9p -o $options,cache=loose,ro suite /root/suite || poweroff -f
mount -t 9p -o $options out /root/out || poweroff -f
for folder in proc sys dev; do mount -o move /$folder /root/$folder; done
exec switch_root /root /bin/sh /out/job.sh

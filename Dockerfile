# An image of the suite for aarch64 and x86-64; `suite run --isolation podman` starts implementations in it. `sh tools/container.sh` builds it.
ARG BASE=docker.io/library/debian:bookworm-slim
FROM ${BASE}
RUN apt-get update \
    && apt-get install -y --no-install-recommends ca-certificates libgomp1 python3 python3-venv \
    && rm -rf /var/lib/apt/lists/*
COPY . /opt/edge-training-suite
# pip trusts the system's certificates, and so those of a network with its own authority where the build mounts the host's.
RUN python3 -m venv /opt/suite \
    && /opt/suite/bin/pip install --no-cache-dir --quiet --cert /etc/ssl/certs/ca-certificates.crt '/opt/edge-training-suite[report,digits]'
ENV PATH=/opt/suite/bin:$PATH
WORKDIR /opt/edge-training-suite
CMD ["suite", "--help"]

"""What one TCP connection carries between two hosts: ``receive PORT BYTES`` on one, ``send HOST
PORT BYTES`` on the other.

The sender prints bytes per second.
"""

import socket
import sys
import time

CHUNK_BYTES = 2**20


def receive(port: int, size_bytes: int) -> None:
    """Say that the port is open, read everything, and reply."""
    with socket.create_server(("", port)) as server:
        print("listening", flush=True)
        connection, _ = server.accept()
        with connection:
            left_bytes = size_bytes
            while left_bytes > 0:
                left_bytes -= len(connection.recv(CHUNK_BYTES))
            connection.sendall(b"\n")


def send(host: str, port: int, size_bytes: int) -> None:
    """Send everything and wait for the reply."""
    with socket.create_connection((host, port)) as connection:
        began_s = time.perf_counter()
        for _ in range(size_bytes // CHUNK_BYTES):
            connection.sendall(bytes(CHUNK_BYTES))
        connection.sendall(bytes(size_bytes % CHUNK_BYTES))
        connection.recv(1)
        print(size_bytes / (time.perf_counter() - began_s))


if __name__ == "__main__":
    if sys.argv[1] == "receive":
        receive(int(sys.argv[2]), int(sys.argv[3]))
    else:
        send(sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))

#!/bin/bash
# Exits with 0 if an RPC server answers: health.sh [HOST [PORT]]. It sends a key
# that no server has. The refusal comes at once, also during a session, and
# takes no session from a client.
# Ten seconds bound the connection, too; other shells have no /dev/tcp.
[ "$IN_TIME" ] || IN_TIME=1 exec timeout 10 bash "$0" "$@"
exec 3<>"/dev/tcp/${1:-127.0.0.1}/${2:-9090}" || exit 1
printf '\x71\xf2\x0f\0\x0b\0\0\0client:?no?' >&3
read -r -N 1 answer <&3 && [ "$answer" = s ]

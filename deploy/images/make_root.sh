#!/usr/bin/env bash
# make_root.sh BINARY FOLDER: the root file system of an image that runs BINARY as its only program, under the
# binary's own name in /. Holds the libraries that it loads, time zones, and a user 65532 without rights.
set -euo pipefail
[ $# = 2 ] || { echo "usage: $0 BINARY FOLDER" >&2; exit 2; }
binary=$1 root=$2
top=$(cd "$(dirname "$0")/../.." && pwd)
[ -x "$binary" ] || { echo "$0: no binary $binary (make build)" >&2; exit 1; }
[ ! -e "$root" ] || { echo "$0: $root is there already" >&2; exit 1; }

mkdir -p "$root"/{etc,tmp,proc,dev,usr/share/zoneinfo}
chmod 1777 "$root/tmp"
strip -o "$root/$(basename "$binary")" "$binary"
chmod 755 "$root/$(basename "$binary")"

# Each library under the path that the loader looks for it; the loader itself is among them.
ldd "$binary" | grep -oE '/[^ ]+' | sort -u | while read -r library; do
  install -D -m 755 "$(readlink -f "$library")" "$root$library"
done

# Compiled zones only; posix/ and right/ are the same again.
(cd /usr/share/zoneinfo && find . -path ./posix -prune -o -path ./right -prune -o -type f -print |
  grep -vE '\.(tab|zi|list)$' | tar -cf - -T -) | tar -C "$root/usr/share/zoneinfo" -xf -

echo 'nonroot:x:65532:65532:nonroot:/:/sbin/nologin' > "$root/etc/passwd"
echo 'nonroot:x:65532:' > "$root/etc/group"
echo 'hosts: files dns' > "$root/etc/nsswitch.conf"
"$top/tools/sbom.py" "$binary" > "$root/sbom.spdx.json"

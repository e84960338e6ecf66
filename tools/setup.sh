#!/usr/bin/env bash
# Installs what building, running and testing need: Debian packages, kubectl, helm, Prometheus and Python tools.
# The Ray environment of local Pods is made by `manta image pull`, which `make run` calls. Asks nobody
# anything, prints only what it installs, and takes well under a second when nothing is missing. `setup.sh build`
# installs what building needs only.
set -euo pipefail
cd "$(dirname "$0")/.."

packages=(
  clang-19 clang-format-19 clang-tidy-19 libclang-rt-19-dev mold ccache ninja-build cmake git make
  libboost1.81-dev libboost-json1.81-dev libfmt-dev libyaml-cpp-dev libcli11-dev libsqlite3-dev
  libssl-dev libnghttp2-dev libre2-dev zlib1g-dev libgtest-dev libgmock-dev libbenchmark-dev
  iproute2 openssl curl wget procps python3 python3-venv python3-pip ca-certificates
  nftables slirp4netns redis-tools
  buildah runc
)

say() { printf 'setup: %s\n' "$*"; }
die() { printf 'setup: %s\n' "$*" >&2; exit 1; }
as_root() { if [ "$(id -u)" = 0 ]; then "$@"; else sudo "$@"; fi; }

install_packages() {
  local missing=()
  mapfile -t missing < <(comm -23 <(printf '%s\n' "${packages[@]}" | sort) <(
    dpkg-query -W -f='${db:Status-Status} ${Package}\n' "${packages[@]}" 2>/dev/null |
      awk '$1 == "installed" { print $2 }' | sort))
  [ ${#missing[@]} = 0 ] && return
  say "installing Debian packages: ${missing[*]}"
  [ "$(id -u)" = 0 ] || command -v sudo >/dev/null || die "needs root (or sudo) to install: ${missing[*]}"
  as_root apt-get update -qq
  DEBIAN_FRONTEND=noninteractive as_root apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
}

# Puts kubectl of `version` into `folder`, built from its Go module. Kubernetes' own go.mod takes the modules of its
# staging/ from beside it, which a module proxy does not serve: each is asked for by the version it is published as.
build_kubectl() { # version folder
  local version=$1 folder=$2 work
  work=$(mktemp -d)
  (
    cd "$work" && go mod init kubectl && go mod edit -require "k8s.io/kubernetes@$version" &&
      go mod download -json "k8s.io/kubernetes@$version" >module.json &&
      sed -nE "s#^\s*(k8s.io/\S+) => ./staging/.*#-replace=\1=\1@v0${version#v1}#p" \
        "$(sed -nE 's/.*"GoMod": "(.*)".*/\1/p' module.json)" | xargs go mod edit &&
      CGO_ENABLED=0 go build -mod=mod -trimpath -ldflags "-s -w -X k8s.io/component-base/version.gitVersion=$version" \
        -o kubectl k8s.io/kubernetes/cmd/kubectl
  ) >"$work/log" 2>&1 && mkdir -p "$folder" && mv "$work/kubectl" "$folder/kubectl" || { tail -n 3 "$work/log" >&2; rm -rf "$work"; return 1; }
  rm -rf "$work"
}

# Debian's redis-tools holds the server, which looks at the name that it is called by. Package redis-server is only a
# link and a daemon on 6379, which is also where `ray start --head` listens: that link is made here, without the daemon.
link_redis() {
  command -v redis-server >/dev/null && return
  say "linking /usr/local/bin/redis-server to the server in redis-tools"
  as_root ln -sf /usr/bin/redis-check-rdb /usr/local/bin/redis-server
}

# kubectl is the client that users bring. Debian's is years old, so it is built where Go stands that can; else
# Debian's has to do.
install_kubectl() {
  command -v kubectl >/dev/null && return
  local cache="${MANTA_TOOLS:-$HOME/.cache/manta-tools}"
  if [ ! -x "$cache/bin/kubectl" ] && command -v go >/dev/null; then
    say "building kubectl from its Go module (some minutes)"
    build_kubectl v1.37.2 "$cache/bin" || say "that did not work with $(go version | cut -d' ' -f3)"
  fi
  if [ -x "$cache/bin/kubectl" ]; then as_root ln -sf "$cache/bin/kubectl" /usr/local/bin/kubectl; return; fi
  say "installing Debian's kubectl"
  DEBIAN_FRONTEND=noninteractive as_root apt-get install -y -qq --no-install-recommends kubernetes-client >/dev/null
}

# helm and Prometheus are for tests/install only, and stand in the cache folder, not on the path.
install_helm() {
  local cache="${MANTA_TOOLS:-$HOME/.cache/manta-tools}"
  [ -x "$cache/bin/helm" ] && return
  command -v go >/dev/null || { say "no Go here to build helm: the tests of the charts will be skipped"; return; }
  say "building helm from its Go module (a minute or two)"
  GOBIN="$cache/bin" CGO_ENABLED=0 go install -trimpath -ldflags '-s -w' helm.sh/helm/v3/cmd/helm@v3.22.0 ||
    say "that did not work: the tests of the charts will be skipped"
}

# Debian's Prometheus, unpacked rather than installed: the package starts a daemon.
install_prometheus() {
  local cache="${MANTA_TOOLS:-$HOME/.cache/manta-tools}" work
  [ -x "$cache/bin/prometheus" ] && return
  say "fetching Debian's prometheus"
  work=$(mktemp -d)
  (cd "$work" && chmod 755 . && apt-get download -qq prometheus >/dev/null 2>&1 && dpkg-deb -x prometheus_*.deb .) ||
    { say "no prometheus to be had: the tests of dashboards will be skipped"; rm -rf "$work"; return; }
  mkdir -p "$cache/bin"
  cp "$work"/usr/bin/prometheus "$work"/usr/bin/promtool "$cache/bin/"
  rm -rf "$work"
}

install_python_tools() {
  command -v uv >/dev/null && python3 -c 'import pytest, requests, yaml' 2>/dev/null && return
  say "installing Python tools: uv pytest requests pyyaml"
  pip_flags=(); python3 -m pip install --help | grep -q break-system-packages && pip_flags=(--break-system-packages)
  python3 -m pip install -q --root-user-action=ignore "${pip_flags[@]}" uv pytest requests pyyaml
}

install_packages
[ "${1:-}" != build ] || exit 0
link_redis
install_kubectl
install_helm
install_prometheus
install_python_tools

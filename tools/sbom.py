#!/usr/bin/env python3
"""What a binary of ours is made of, as SPDX 2.3 JSON on stdout: the Debian packages whose archives the linker put
into it, whose headers were compiled into it, and whose libraries it loads.

  tools/sbom.py build/bin/manager

Asks the build folder that the binary lies in (its link line, and the headers each object read), ldd, and dpkg.
"""
import datetime
import hashlib
import json
import os
import pathlib
import re
import subprocess
import sys

TOP = pathlib.Path(__file__).resolve().parents[1]
LINKED, COMPILED, LOADED = "STATIC_LINK", "BUILD_DEPENDENCY_OF", "DYNAMIC_LINK"
# Headers of the C and C++ library and the kernel: their libraries are named already.
NO_CODE = re.compile(r"^(libc6-dev|linux-libc-dev|libstdc\+\+-\d+-dev|libclang-common-\S+)$")


def output(*command, check=True):
    return subprocess.run(command, check=check, text=True, capture_output=True).stdout


def packages_of(paths):
    """Debian package of each file that belongs to one. Debian's /usr/lib is also /lib."""
    paths = {os.path.realpath(p) for p in paths}
    spelled = sorted(paths | {p.removeprefix("/usr") for p in paths if p.startswith("/usr/lib")})
    found = set()
    for start in range(0, len(spelled), 500):
        for line in output("dpkg-query", "-S", *spelled[start:start + 500], check=False).splitlines():
            owners, _, path = line.partition(": ")
            if path and not owners.startswith("diversion"):
                found |= {owner.split(":")[0] for owner in owners.split(", ")}
    return found


def ninja(build, *args):
    return output("ninja", "-C", str(build), *args, check=False)


def linked_files(build, target):
    command = ninja(build, "-t", "commands", "-s", target)
    return {word for word in command.split() if word.startswith("/") and re.search(r"\.(a|so[.\d]*)$", word)}


def headers(build, target):
    ours = {line for line in ninja(build, "-t", "inputs", target).splitlines() if line.endswith(".o")}
    found, counts = set(), False
    for line in ninja(build, "-t", "deps").splitlines():
        if not line.startswith(" "):
            counts = line.split(":")[0] in ours
        elif counts and line.strip().startswith("/usr/"):
            found.add(line.strip())
    return found


def used_packages(binary):
    """Package -> how it is used; the strongest bond wins."""
    build, target = binary.parents[1], f"bin/{binary.name}"
    if not (build / "build.ninja").exists():
        raise SystemExit(f"sbom: {binary} does not lie in a build folder")
    used = {name: COMPILED for name in packages_of(headers(build, target)) if not NO_CODE.match(name)}
    linked = linked_files(build, target)
    used |= {name: LINKED for name in packages_of(p for p in linked if p.endswith(".a"))}
    library = output("clang++-19", "-print-file-name=libstdc++.a").strip()
    used |= {name: LINKED for name in packages_of([library])}  # -static-libstdc++ names no file
    used |= {name: LOADED for name in packages_of(re.findall(r"(/\S+)", output("ldd", str(binary))))}
    return used


def licences(package):
    path = pathlib.Path(f"/usr/share/doc/{package}/copyright")
    names = re.findall(r"^License: *(\S.*)$", path.read_text(errors="replace"), re.M) if path.exists() else []
    return sorted(set(names))


def spdx(binary, used):
    digest = hashlib.sha256(binary.read_bytes()).hexdigest()
    status = ("dpkg-query", "-W", "-f", "${Package} ${Version} ${source:Package}\n")
    facts = {line.split()[0]: line.split()[1:] for line in output(*status, *sorted(used)).splitlines()}
    packages = [{"SPDXID": "SPDXRef-" + binary.name, "name": binary.name, "versionInfo": version(),
                 "downloadLocation": "NOASSERTION", "filesAnalyzed": False, "licenseConcluded": "Apache-2.0",
                 "licenseDeclared": "Apache-2.0", "copyrightText": "NOASSERTION", "primaryPackagePurpose": "APPLICATION",
                 "checksums": [{"algorithm": "SHA256", "checksumValue": digest}]}]
    relations = [("SPDXRef-DOCUMENT", "DESCRIBES", "SPDXRef-" + binary.name)]
    for name, bond in sorted(used.items()):
        package_version, source = facts[name]
        ref = "SPDXRef-deb-" + re.sub(r"[^A-Za-z0-9.-]", "-", name)
        packages.append({
            "SPDXID": ref, "name": name, "versionInfo": package_version, "supplier": "Organization: Debian",
            "downloadLocation": f"https://packages.debian.org/bookworm/{name}", "filesAnalyzed": False,
            "licenseConcluded": "NOASSERTION", "licenseDeclared": "NOASSERTION", "copyrightText": "NOASSERTION",
            "sourceInfo": f"built from the Debian source package {source}",
            "comment": "licences named by its copyright file: " + (", ".join(licences(name)) or "none in DEP-5 form"),
            "externalRefs": [{"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl",
                              "referenceLocator": f"pkg:deb/debian/{name}@{package_version}?distro=bookworm"}]})
        relations.append((ref, bond, "SPDXRef-" + binary.name) if bond == COMPILED
                         else ("SPDXRef-" + binary.name, bond, ref))
    return {"spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT",
            "name": f"manta-{binary.name}", "documentNamespace": f"https://manta.invalid/spdx/{binary.name}-{digest}",
            "creationInfo": {"creators": ["Tool: manta-tools-sbom"], "created": build_time()},
            "packages": packages,
            "relationships": [{"spdxElementId": a, "relationshipType": kind, "relatedSpdxElement": b}
                              for a, kind, b in relations]}


def version():
    """What the operator stamps on objects."""
    text = (TOP / "src/operator/settings.cc").read_text()
    match = re.search(r'operator_version\(\) *\{ *return *"([^"]+)"', text)
    return match[1] if match else "NOASSERTION"


def build_time():
    """SOURCE_DATE_EPOCH, so that the same build gives the same text; else now."""
    seconds = os.environ.get("SOURCE_DATE_EPOCH")
    when = datetime.datetime.fromtimestamp(int(seconds), datetime.UTC) if seconds else datetime.datetime.now(datetime.UTC)
    return when.strftime("%Y-%m-%dT%H:%M:%SZ")


def main():
    if len(sys.argv) != 2:
        raise SystemExit(__doc__)
    binary = pathlib.Path(sys.argv[1]).resolve()
    json.dump(spdx(binary, used_packages(binary)), sys.stdout, indent=1)
    print()


if __name__ == "__main__":
    main()

"""What generators of committed files share: write what is stale, or with --check say so and exit 1."""
import argparse
import pathlib
import sys

TOP = pathlib.Path(__file__).resolve().parents[1]


def write_or_check(description, wanted):
    """`wanted` answers {path: text}; `description` is the tool's --help."""
    options = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--check", action="store_true")
    check = options.parse_args().check
    stale = {path: text for path, text in wanted().items() if not path.exists() or path.read_text() != text}
    for path, text in stale.items():
        if not check:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        tool = pathlib.Path(sys.argv[0]).name
        print(f"{path.relative_to(TOP)}: " + (f"is not what tools/{tool} would write" if check else "written"))
    sys.exit(1 if check and stale else 0)

"""Write docs/results.md and docs/paper.md from a report.json: python docs/write.py [results/paper/report.json].

Every number in them comes from that file; `loadstone reproduce --scale paper --from-shipped` makes it again.
"""

import json
import sys
from pathlib import Path

from loadstone.files import write_whole
from loadstone.studies.report.markdown import results_markdown
from loadstone.studies.report.paper import paper_markdown

DOCS = Path(__file__).parent
SHIPPED = DOCS.parent / "results" / "paper" / "report.json"


def main(report: Path) -> None:
    numbers = json.loads(report.read_text("utf-8"))
    for name, text in (("results.md", results_markdown(numbers)), ("paper.md", paper_markdown(numbers))):
        write_whole(DOCS / name, lambda file, text=text: file.write(text.encode()))
        print(f"Written: {DOCS / name}")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else SHIPPED)

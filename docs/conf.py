"""The documentation site: `make docs` builds it from the Markdown in this folder.

Sphinx is the generator because it has what a site about mathematics and code needs without a network: a search that
runs in the reader's browser, notebooks that are executed when the site is built (MyST-NB), cross-references that are
checked, and a theme (Furo) that loads nothing from elsewhere. Formulas become MathML when the site is built
(building/mathml.py).
"""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from jupyter_client.manager import KernelManager  # noqa: E402

import loadstone  # noqa: E402

project = "loadstone"
author = "loadstone developers"
copyright = "loadstone developers, Apache-2.0"
release = version = loadstone.__version__

extensions = ["myst_nb", "sphinx_copybutton", "docs.building.mathml", "docs.building.pages"]
source_suffix = {".md": "myst-nb"}
exclude_patterns = ["building", "_build"]

myst_enable_extensions = ["dollarmath", "amsmath", "colon_fence", "deflist"]
myst_heading_anchors = 4
myst_dmath_double_inline = True

KernelManager.transport_encryption.default_value = "auto"  # kernels warn that others could read along otherwise
nb_execution_mode = "force"  # a page that has not changed is not read again, and so not executed
nb_execution_timeout = 600  # seconds for a cell: a whole notebook takes less than two minutes, unless cores are busy
nb_execution_raise_on_error = True
nb_execution_show_tb = True
nb_ipywidgets_js = {}  # would be loaded from a network
nb_merge_streams = True
smartquotes_action = "qe"  # quotes and ellipses; two hyphens begin the name of an option

html_math_renderer = "mathml"
html_theme = "furo"
html_title = f"loadstone {release}"
html_static_path = ["building/site.css"]
html_css_files = ["site.css"]
html_show_search_summary = False  # summaries are fetched, which browsers forbid for pages that lie on the disk
html_copy_source = False
html_show_sphinx = False
html_theme_options = {"navigation_with_keys": True}
copybutton_prompt_text = "$ "
copybutton_only_copy_prompt_lines = True

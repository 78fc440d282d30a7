"""Settings of the site: `make docs` builds it into docs/_build/html."""

import re
from importlib.metadata import version as installed_version
from pathlib import Path

HERE = Path(__file__).parent

project = "boostforest"
author = "The boostforest developers"
copyright = "The boostforest developers, BSD-3-Clause"  # noqa: A001 (Sphinx wants this name)
release = installed_version("boostforest")
version = ".".join(release.split(".")[:2])

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
    "myst_parser",
    "sphinx_design",
    "sphinx_copybutton",
    "sphinx_gallery.gen_gallery",
]
templates_path = ["_templates"]
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_extra_path = ["versions.json"]
exclude_patterns = ["_build", "auto_examples/**.ipynb", "browser"]
source_suffix = {".rst": "restructuredtext", ".md": "markdown"}

# Today's Markdown, which is read on the repository's pages as well.
myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 4

autosummary_generate = True
default_role = "code"  # of single backticks in docstrings
smartquotes = False  # "best" is typed with straight ones
toc_object_entries_show_parents = "hide"
autodoc_typehints = "none"  # numpydoc's parameter lists have them
autodoc_default_options = {"member-order": "bysource"}
numpydoc_show_class_members = False  # the template of classes lists them
numpydoc_xref_param_type = False

sphinx_gallery_conf = {
    "examples_dirs": "../examples/gallery",
    "gallery_dirs": "auto_examples",
    "filename_pattern": r"/\d\d_",
    "within_subsection_order": "FileNameSortKey",
    "download_all_examples": False,
    "show_memory": False,
    "show_signature": False,
    "abort_on_example_error": True,
    "remove_config_comments": True,
    "plot_gallery": "True",
}
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

html_theme = "pydata_sphinx_theme"
html_title = f"boostforest {version}"
html_theme_options = {
    "logo": {"text": "boostforest"},
    "navbar_align": "left",
    "navbar_end": ["version-switcher", "theme-switcher"],
    "switcher": {"json_url": "../versions.json", "version_match": version},  # one list for all versions: docs/site.py
    "check_switcher": False,  # it is a file of this site
    "show_version_warning_banner": True,  # on pages of old versions
    "navbar_persistent": ["search-button"],
    "header_links_before_dropdown": 6,
    "show_prev_next": True,
    "show_toc_level": 2,
    "footer_start": ["copyright"],
    "footer_end": [],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
html_context = {"default_mode": "auto"}  # dark or light as the reader's system
html_sidebars = {"index": []}
html_show_sourcelink = False


def leave_out_plumbing(app, what, name, obj, skip, options):
    """Leave out what scikit-learn adds to every estimator for metadata routing."""
    return True if name == "get_metadata_routing" or (name.startswith("set_") and name.endswith("_request")) else None


def without_other_labels(app, what, name, obj, options, lines):
    """Take for text what would be a link to scikit-learn's user guide, or to a fitted attribute: n_features_in_."""
    for i, line in enumerate(lines):
        if not line.lstrip().startswith((">>>", "...")):
            line = re.sub(r":ref:`([^`<]+?)\s*<[^`]+>`", r"\1 of scikit-learn", line)
            lines[i] = re.sub(r"(?<![\w`*.])([A-Za-z]\w*)_(?=[\s,)]|$)", r"\1\\_", line)


def for_the_site(app, docname, source):
    """Make files and folders beside docs/ downloads or plain text, and list the pages of results."""
    page = HERE / docname

    def link(found):
        target = (page.parent / found[2]).resolve()
        if target.is_relative_to(HERE):
            return found[0]
        return f"[{found[1]}](path:{found[2]})" if target.is_file() else found[1]

    if not docname.startswith(("auto_examples", "reference")):
        source[0] = re.sub(r"\[([^][]*)\]\(((?:\.\./)+[^)#]*)(?:#[^)]*)?\)", link, source[0])
    if docname == "results/README":
        source[0] += "\n```{toctree}\n:hidden:\n:glob:\n\n*\n```\n"


def setup(app):
    """Connect what Sphinx asks while it reads."""
    app.connect("autodoc-skip-member", leave_out_plumbing)
    app.connect("autodoc-process-docstring", without_other_labels, priority=900)  # after numpydoc
    app.connect("source-read", for_the_site)

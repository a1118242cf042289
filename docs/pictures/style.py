"""The style of the drawings that `hammock` makes (src/pictures/style.css), for the pictures of the documentation."""
import pathlib

FONT = "font-family='ui-sans-serif,system-ui,Helvetica,Arial,sans-serif'"
STYLE = (pathlib.Path(__file__).parent.parent.parent / "src/pictures/style.css").read_text()


def svg(width, height, title, body):
    """A drawing with a background, light or dark as readers have it."""
    return "\n".join([
        f"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {width} {height}' width='{width}' height='{height}'>",
        f"<title>{title}</title>",
        f"<style>\n{STYLE}</style>",
        f"<rect width='{width}' height='{height}' class='bg'/>",
        *body,
        "</svg>",
    ])

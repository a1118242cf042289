// Measures a page as a reader sees it, and leaves what it found instead of the page: one line per fault.
const faults = [];
const shown = element => (element.textContent.trim() || element.tagName).slice(0, 40);

const channels = color => (color.match(/[\d.]+/g) || []).map(Number);
const isOpaque = color => channels(color).length === 3 || channels(color)[3] > 0.95;
function luminance(color) {
  const [r, g, b] = channels(color).map(c => (c /= 255) <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}
// The contrast ratio of WCAG 2.2.
function contrast(a, b) {
  const [dark, light] = [luminance(a), luminance(b)].sort((x, y) => x - y);
  return (light + 0.05) / (dark + 0.05);
}

const isShape = element => element instanceof SVGGeometryElement;
function surface(element) {
  const style = getComputedStyle(element);
  return isShape(element) ? style.fill : style.backgroundColor;
}
// The color behind a text: that of the first opaque element below it.
function behind(text) {
  text.scrollIntoView({ block: "center", inline: "center" });
  const box = text.getBoundingClientRect();
  const below = document.elementsFromPoint(box.x + box.width / 2, box.y + box.height / 2);
  const colors = below.filter(element => !text.contains(element) && element.tagName !== "text").map(surface);
  return colors.find(color => color !== "none" && isOpaque(color)) || getComputedStyle(document.body).backgroundColor;
}

const excess = document.documentElement.scrollWidth - innerWidth;
if (excess > 0) faults.push(`the page is ${excess} pixels wider than the window`);

const words = [...document.querySelectorAll("text, h1, h2, p, th, td, b")].filter(element => element.textContent.trim());
for (const text of words) {
  const style = getComputedStyle(text);
  const ratio = contrast(text.tagName === "text" ? style.fill : style.color, behind(text));
  if (!(ratio >= 4)) faults.push(`contrast ${ratio.toFixed(1)}: ${shown(text)}`);
}

for (const drawing of document.querySelectorAll("svg")) {
  const inside = drawing.getBoundingClientRect();
  const texts = [...drawing.querySelectorAll("text")].map(text => [text, text.getBoundingClientRect()]);
  texts.forEach(([text, box], i) => {
    if (box.left < inside.left - 1 || box.right > inside.right + 1 || box.top < inside.top - 1 || box.bottom > inside.bottom + 1)
      faults.push(`outside of its drawing: ${shown(text)}`);
    for (const [other, at] of texts.slice(i + 1)) {
      const width = Math.min(box.right, at.right) - Math.max(box.left, at.left);
      const height = Math.min(box.bottom, at.bottom) - Math.max(box.top, at.top);
      if (width > 2 && height > 4) faults.push(`one text covers another: ${shown(text)} | ${shown(other)}`);
    }
  });
}

const links = document.querySelectorAll("a[href]");
for (const link of links) {
  location.hash = link.getAttribute("href");
  if (!document.querySelector(":target")) faults.push(`leads nowhere: ${link.getAttribute("href")}`);
}

const isDark = matchMedia("(prefers-color-scheme: dark)").matches;
const result = document.createElement("pre");
result.textContent = [`${isDark ? "dark" : "light"}, ${words.length} texts, ${links.length} links`, ...faults].join("\n");
document.documentElement.replaceChildren(result);

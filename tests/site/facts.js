// Read in the page: what the checks of problems.py ask about, as plain values.
(() => {
  const all = (selector) => [...document.querySelectorAll(selector)];
  const short = (element) => element.outerHTML.replace(/\s+/g, " ").slice(0, 120);

  // Text that a reader sees as prose: no code, and no TeX that KaTeX keeps for screen readers.
  const article = (document.querySelector("article") ?? document.body).cloneNode(true);
  article
    .querySelectorAll("pre, code, script, style, .katex, .clipboard-copy-txt")
    .forEach((element) => element.remove());

  const ids = all("[id]").map((element) => element.id);
  const root = document.documentElement;
  const scrolls = (element) =>
    ["auto", "scroll", "hidden"].includes(getComputedStyle(element).overflowX);
  const inScroller = (element) => {
    for (let box = element.parentElement; box && box !== document.body; box = box.parentElement) {
      if (scrolls(box)) return true;
    }
    return false;
  };

  // Narrow screens: what is wider than its box, and how a reader could know.
  const wider = (element) => element.scrollWidth > element.clientWidth + 1;
  const cutAbove = (formula) => {
    const top = formula.getBoundingClientRect().top;
    const letters = [...formula.querySelectorAll(".katex-html .mord")];
    return letters.some((letter) => letter.getBoundingClientRect().top < top - 0.5);
  };
  const unmarked = (box) =>
    wider(box) &&
    ["auto", "scroll"].includes(getComputedStyle(box).overflowX) &&
    !getComputedStyle(box).backgroundImage.includes("gradient");
  // Lines with columns, in an output that breaks long lines.
  const pen = document.createElement("canvas").getContext("2d");
  const brokenRows = (code) => {
    const style = getComputedStyle(code);
    if (style.whiteSpace !== "pre-wrap") return [];
    pen.font = `${style.fontSize} ${style.fontFamily}`; // style.font is empty beside a variant
    const padding = parseFloat(style.paddingLeft) + parseFloat(style.paddingRight);
    const columns = (code.clientWidth - padding) / pen.measureText("0").width;
    const rows = code.textContent.split("\n");
    return rows.filter((row) => row.length > columns && /\S {3,}\S/.test(row));
  };

  return {
    text: article.textContent,
    formulas: all(".arithmatex").length,
    drawn: all(".katex").length,
    notDrawn: all(".arithmatex").filter((f) => !f.querySelector(".katex")).map(short),
    formulaErrors: all(".katex-error").map((e) => `${e.textContent} (${e.title})`),
    sideways: root.scrollWidth - root.clientWidth,
    tooWide: all("body *")
      .filter((e) => e.getBoundingClientRect().right > root.clientWidth + 1 && !inScroller(e))
      .slice(0, 3)
      .map(short),
    deadImages: all("img").filter((img) => !img.complete || !img.naturalWidth).map(short),
    images: all("img").length,
    doubleIds: ids.filter((id, index) => ids.indexOf(id) !== index),
    titles: all("h1").map((h1) => h1.textContent.trim()),
    description: document.querySelector('meta[name="description"]')?.content ?? "",
    verified: document.querySelector(".page-foot :is(.verified, .open)")?.textContent.trim() ?? "",
    shift: window.layoutShift,
    wideFormulas: all(".katex-display").filter(wider).map((f) => f.textContent.slice(0, 80)),
    cutFormulas: all(".katex-display").filter(cutAbove).map((f) => f.textContent.slice(0, 80)),
    unmarked: all("article *").filter(unmarked).map(short),
    cutTitles: all(".md-footer__title, .md-footer__title .md-ellipsis")
      .filter((title) => !title.offsetWidth || wider(title))
      .map((title) => title.textContent.trim()),
    brokenRows: all(".language-text pre > code").flatMap(brokenRows),
    uncopied: all("article .highlight:not(.language-text) > pre").filter(
      (pre) => !pre.parentElement.querySelector(".md-clipboard, .md-code__button"),
    ).map(short),
  };
})()

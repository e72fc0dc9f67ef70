// Small repairs that CSS cannot make. Each says what it is for.

// The theme wraps tables and adds copy buttons after its own start, so look again when idle.
function repair() {
  // Screen readers would list many landmarks of the same name.
  document.querySelectorAll(".md-code__nav").forEach((nav, index) => {
    nav.setAttribute("aria-label", `Code block ${index + 1}`);
  });
  // What scrolls sideways must be reachable by keyboard.
  const boxes = ".md-typeset__scrollwrap, pre > code, pre, div.arithmatex, .katex-display";
  for (const box of document.querySelectorAll(boxes)) {
    if (box.scrollWidth > box.clientWidth) box.tabIndex = 0;
    else box.removeAttribute("tabindex"); // it did before a font came or the window grew
  }
}

// A mark says what it is, and does not start a line of its own.
for (const mark of document.querySelectorAll("a.claim, a.mark-example")) {
  const target = mark.matches(".claim") ? "the test of this sentence" : "the ledger";
  mark.setAttribute("aria-label", `Checked: see ${target}`);
  const before = mark.previousSibling;
  if (before && before.nodeType === Node.TEXT_NODE) {
    before.data = before.data.replace(/\s+$/, "\u00a0");
  }
}

// A printed page has no folded parts.
addEventListener("beforeprint", () => {
  for (const details of document.querySelectorAll("details")) details.open = true;
});

addEventListener("load", () => document.fonts.ready.then(repair));
addEventListener("resize", repair);

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

// Short code with a hyphen, as "--json", would break behind it. Longer code breaks behind its dots,
// underscores, slashes and brackets. Text and copies stay as they are, and all other code too: what
// is moved after the first painting makes the text jump.
for (const code of document.querySelectorAll("article :not(pre) > code")) {
  if (code.childElementCount) continue;
  const text = code.textContent;
  if (text.length > 16) code.replaceChildren(...withBreaks(text));
  else if (text.includes("-")) code.classList.add("short");
}
function withBreaks(text) {
  const parts = text.split(/(?<=[._/(=,:])(?=\w)/);
  return parts.flatMap((part, index) => (index ? [document.createElement("wbr"), part] : [part]));
}

// A printed page has no folded parts.
addEventListener("beforeprint", () => {
  for (const details of document.querySelectorAll("details")) details.open = true;
});

addEventListener("load", () => document.fonts.ready.then(repair));
addEventListener("resize", repair);

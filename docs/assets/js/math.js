// Formulas: KaTeX draws what the build marked with .arithmatex, and on notebook pages what stands
// between the usual delimiters. A formula that KaTeX cannot read stays as TeX, marked as an error.
for (const element of document.querySelectorAll(".arithmatex")) {
  const source = element.textContent.trim();
  const displayMode = source.startsWith("\\[");
  try {
    element.innerHTML = katex.renderToString(source.slice(2, -2), { displayMode });
    keepWithPunctuation(element);
  } catch (error) {
    element.classList.add("katex-error");
    element.title = error.message;
  }
}

// No line begins with the comma after a formula: it moves into the last part, which never breaks.
// A check mark behind it cannot move there, since that part is hidden from screen readers; it stays
// on the line of a short formula.
function keepWithPunctuation(element) {
  const after = element.nextSibling;
  const last = element.querySelector(".katex-base:last-child");
  if (!last || after?.nodeType !== Node.TEXT_NODE || !/^[,.;:!?)]/.test(after.data)) return;
  last.append(after.data[0]);
  after.data = after.data.slice(1);
  const mark = after.nextSibling;
  if (after.data || !mark?.matches?.("a.claim") || element.offsetWidth > 120) return;
  const line = document.createElement("span");
  line.style.whiteSpace = "nowrap";
  element.before(line);
  line.append(element, mark);
}

for (const element of document.querySelectorAll(".jp-RenderedMarkdown")) {
  renderMathInElement(element, {
    throwOnError: true, // goes to the console, and the TeX stays
    delimiters: [
      { left: "$$", right: "$$", display: true },
      { left: "\\[", right: "\\]", display: true },
      { left: "\\(", right: "\\)", display: false },
      { left: "$", right: "$", display: false },
    ],
  });
}

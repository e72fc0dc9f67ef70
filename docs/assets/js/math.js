// Formulas: KaTeX draws what the build marked with .arithmatex, and on notebook pages what stands
// between the usual delimiters. A formula that KaTeX cannot read stays visible as an error.
const options = { throwOnError: false, output: "htmlAndMathml" };

for (const element of document.querySelectorAll(".arithmatex")) {
  const source = element.textContent.trim();
  const display = source.startsWith("\\[");
  katex.render(source.slice(2, -2), element, { ...options, displayMode: display });
}

for (const element of document.querySelectorAll(".jp-RenderedMarkdown")) {
  renderMathInElement(element, {
    ...options,
    delimiters: [
      { left: "$$", right: "$$", display: true },
      { left: "\\[", right: "\\]", display: true },
      { left: "\\(", right: "\\)", display: false },
      { left: "$", right: "$", display: false },
    ],
  });
}
document.documentElement.dataset.math = "done";

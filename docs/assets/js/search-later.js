// The theme loads its search engine and the index of the whole site with every page. This waits
// until somebody searches, so that a page does not get heavier when another page is added.
{
  const wanted = new Promise((resolve) => {
    // A page reached from a search result marks the words found: it needs the index at once.
    if (new URLSearchParams(location.search).has("h")) resolve();
    for (const event of ["focusin", "change"]) {
      document.addEventListener(event, ({ target }) => {
        if (target.matches(".md-search__input, #__search")) resolve();
      });
    }
  });

  // The index: hold back this one request.
  const { open, send } = XMLHttpRequest.prototype;
  XMLHttpRequest.prototype.open = function (method, url, ...rest) {
    this.isSearchIndex = String(url).endsWith("search/search_index.json");
    return open.call(this, method, url, ...rest);
  };
  XMLHttpRequest.prototype.send = function (...body) {
    if (this.isSearchIndex) wanted.then(() => send.apply(this, body));
    else send.apply(this, body);
  };

  // The engine: name a small stand-in that loads it with its first message, which is the index.
  const element = document.getElementById("__config");
  const config = JSON.parse(element.textContent);
  const engine = new URL(config.search, location).href;
  const standIn = new URL("search-worker.js", document.currentScript.src);
  config.search = `${standIn}#${encodeURIComponent(engine)}`;
  element.textContent = JSON.stringify(config);
}

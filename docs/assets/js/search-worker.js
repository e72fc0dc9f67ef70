// Stands in for the theme's search worker and loads it with the first message, see search-later.js.
addEventListener(
  "message",
  (event) => {
    importScripts(decodeURIComponent(location.hash.slice(1)));
    dispatchEvent(new MessageEvent("message", { data: event.data }));
  },
  { once: true },
);

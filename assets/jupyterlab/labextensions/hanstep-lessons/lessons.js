// A prebuilt JupyterLab extension without plugins: it brings a style sheet, and the container that JupyterLab asks for.
(() => {
  const sheet = document.createElement("link");
  sheet.rel = "stylesheet";
  sheet.href = new URL("lessons.css", document.currentScript.src);
  document.head.append(sheet);
  window._JUPYTERLAB ??= {};
  window._JUPYTERLAB["hanstep-lessons"] = { init() {}, get: async () => () => ({}) };
})();

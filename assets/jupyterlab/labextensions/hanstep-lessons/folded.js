// A click on a folded cell selects it, as it does any other cell. A button on it runs it, and its ⋯ opens it.
(() => {
  const OPENS = ".jp-MoreHorizIcon";

  const followed = new WeakSet();
  const look = (app, notebook) => {
    if (!followed.has(notebook)) {
      followed.add(notebook);
      notebook.node.addEventListener("click", select, true);
    }
    for (const cell of notebook.widgets) {
      const line = cell.node.querySelector(".jp-InputPlaceholder .jp-Placeholder-contentContainer");
      if (line && !line.querySelector("button")) addButton(app, notebook, cell, line);
    }
  };

  // JupyterLab has selected the cell when the mouse went down, and would open it now.
  const select = (event) => {
    if (!event.target.closest(".jp-InputPlaceholder") || event.target.closest(`${OPENS}, button`)) return;
    event.stopPropagation();
  };

  const addButton = (app, notebook, cell, line) => {
    line.closest("[title]")?.removeAttribute("title");
    line.querySelector(OPENS).title = "코드 열기";
    const button = window.hanstepCards.buttonFor("▶", () => {
      notebook.activeCellIndex = notebook.widgets.indexOf(cell);
      notebook.deselectAll();
      app.commands.execute("notebook:run-cell");
    });
    button.className = "hanstep-run";
    button.title = "실행";
    button.setAttribute("aria-label", "실행");
    line.prepend(button);
  };

  window.hanstepFolded = { look };
})();

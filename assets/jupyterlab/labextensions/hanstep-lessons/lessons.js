// A prebuilt JupyterLab extension: it brings a style sheet, shows of a folded cell whether it has run, makes room for
// the lesson on a narrow screen, has the choices of predictions clicked (predictions.js), puts buttons below the cards
// of checks (cards.js), follows drill and clinic (practice.js), and has folded cells run folded (folded.js). It saves
// the notebook after each check, because progress is kept at once, too.
(() => {
  const sheet = document.createElement("link");
  sheet.rel = "stylesheet";
  sheet.href = new URL("lessons.css", document.currentScript.src);
  document.head.append(sheet);
  const loaded = ["predictions.js", "cards.js", "practice.js", "folded.js"].map((name) => {
    const script = document.createElement("script");
    script.src = new URL(name, document.currentScript.src);
    document.head.append(script);
    return new Promise((done) => script.addEventListener("load", done));
  });

  // A folded cell has an empty place where others have their `[2]:`. The style sheet fills it from this property.
  const mark = (cell) => cell.node.style.setProperty("--hanstep-prompt", JSON.stringify(`[${cell.prompt || " "}]:`));

  const followed = new WeakSet();
  const follow = (app, panel) => {
    const notebook = panel.content;
    for (const cell of notebook.widgets) {
      if (cell.model?.type !== "code") continue;
      mark(cell);
      if (followed.has(cell)) continue;
      followed.add(cell);
      cell.model.contentChanged.connect(() => window.hanstepCards?.edited(app, notebook, cell));
      cell.model.stateChanged.connect((_, change) => {
        mark(cell);
        if (change.name === "executionState") ranOrRuns(panel, cell, change.newValue === "running");
        if (change.name !== "executionCount" || !change.newValue) return;
        window.hanstepCards?.ran(app, notebook, cell);
        window.hanstepPractice?.ran(app, notebook, cell);
      });
    }
  };

  const ranOrRuns = (panel, cell, isRunning) => {
    window.hanstepCards?.runs(cell, isRunning);
    if (!isRunning && window.hanstepCards?.isCheck(cell) && panel.context.contentsModel?.writable !== false)
      panel.context.save();
  };

  // When a kernel starts, JupyterLab writes its version of Python into the notebook: no change that a learner has made.
  const KERNEL = ["kernelspec", "language_info"];
  const staysSaved = (model) => {
    model.metadataChanged.connect((_, change) => {
      if (!model.dirty && KERNEL.includes(change.key)) queueMicrotask(() => (model.dirty = false));
    });
  };

  const notebooks = new WeakSet();
  const look = (app) => {
    for (const panel of app.shell.widgets("main")) {
      const notebook = panel.content;
      if (!notebook?.model?.cells || notebooks.has(notebook)) continue;
      notebooks.add(notebook);
      staysSaved(notebook.model);
      let waits = false;
      const again = () => {
        if (waits) return;
        waits = true;
        requestAnimationFrame(async () => {
          waits = false;
          follow(app, panel);
          await Promise.all(loaded);
          window.hanstepPredictions.look(app, panel);
          window.hanstepCards.look(app, notebook);
          window.hanstepFolded.look(app, notebook);
        });
      };
      panel.context.ready.then(again);
      notebook.modelContentChanged.connect(again);
      new MutationObserver(again).observe(notebook.node, { childList: true, subtree: true }); // texts are rendered late
    }
  };

  const makeRoom = (app) => {
    const narrow = matchMedia("(max-width: 760px)");
    const fold = () => narrow.matches && app.shell.collapseLeft?.(); // its icon brings the list of files back
    narrow.addEventListener("change", fold);
    fold();
  };

  const plugin = {
    id: "hanstep-lessons:lessons",
    autoStart: true,
    activate: (app) => {
      // Not returned: JupyterLab is not restored before every plugin is active.
      app.restored.then(() => {
        app.shell.layoutModified?.connect(() => look(app));
        look(app);
        makeRoom(app);
      });
    },
  };
  window._JUPYTERLAB ??= {};
  window._JUPYTERLAB["hanstep-lessons"] = { init() {}, get: async () => () => ({ __esModule: true, default: plugin }) };
})();

// What a learner does next stands below the card of a check: its hint, the microscope, and on to the next text. After a
// check the card's headline is in view, and above it a line if the exercise's cell was changed since it ran.
(() => {
  const CHECKS = /^check\((\w+)/m;
  const source = (cell) => cell.model.sharedModel.getSource();

  const runCell = async (app, notebook, cell) => {
    notebook.activeCellIndex = notebook.widgets.indexOf(cell);
    notebook.deselectAll();
    await app.commands.execute("notebook:run-cell");
    showTop(notebook, cell);
  };

  const showTop = (notebook, cell) => {
    const output = cell.node.querySelector(".jp-Cell-outputArea");
    if (!output) return;
    const view = notebook.node.querySelector(".jp-WindowedPanel-outer")?.getBoundingClientRect() ?? notebook.node.getBoundingClientRect();
    const { top, bottom } = output.getBoundingClientRect();
    if (top < view.top || (bottom > view.bottom && top > view.top + 40)) cell.node.scrollIntoView({ block: "start" });
  };

  // The cell that calls the function for the exercise; a new one behind `after` if the notebook has none.
  const cellCalling = async (app, notebook, call, after) => {
    const there = notebook.widgets.find((cell) => source(cell).replace(/^[\s#]*(막히면.*\n)?[\s#]*/, "") === call);
    if (there) return there;
    notebook.activeCellIndex = notebook.widgets.indexOf(after);
    await app.commands.execute("notebook:insert-cell-below");
    return notebook.widgets[notebook.activeCellIndex];
  };

  const call = async (app, notebook, text, after) => {
    const cell = await cellCalling(app, notebook, text, after);
    cell.model.sharedModel.setSource(text);
    await runCell(app, notebook, cell);
  };

  const goOn = (notebook, cell) => {
    const behind = notebook.widgets.slice(notebook.widgets.indexOf(cell) + 1);
    const next = behind.find((one) => one.model.type === "markdown");
    if (!next) return;
    notebook.activeCellIndex = notebook.widgets.indexOf(next);
    next.node.scrollIntoView({ block: "start" });
  };

  const addButtons = (app, notebook, cell, exercise) => {
    if (cell.node.querySelector(".hanstep-acts")) return;
    const row = document.createElement("div");
    row.className = "hanstep-acts";
    const acts = {
      힌트: () => call(app, notebook, `hint("${exercise}")`, cell),
      현미경: () => call(app, notebook, `from grader import microscope\nmicroscope(${exercise})`, cell),
      "이어서 읽기": () => goOn(notebook, cell),
    };
    for (const [name, act] of Object.entries(acts)) {
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = name;
      button.addEventListener("click", (event) => {
        event.stopPropagation();
        act();
      });
      row.append(button);
    }
    cell.node.append(row);
  };

  // ---- a check of code that is no longer in the cell ---------------------------------------------

  const ranSource = new WeakMap(); // cell -> what stood in it when it ran last

  // The cell in which the exercise is written: the one with its tag, or else the nearest above the check.
  const cellOf = (notebook, exercise, check) => {
    const above = notebook.widgets.slice(0, notebook.widgets.indexOf(check)).filter((cell) => cell.model.type === "code");
    const defines = new RegExp(`^(async\\s+)?(def|class)\\s+${exercise}\\b`, "m");
    return (
      above.find((cell) => (cell.model.getMetadata?.("tags") ?? []).includes(`exercise:${exercise}`)) ??
      above.findLast((cell) => defines.test(source(cell)))
    );
  };

  const warnOfChanges = (app, notebook, check, exercise) => {
    check.node.querySelector(".hanstep-stale")?.remove();
    const cell = cellOf(notebook, exercise, check);
    const isStale = cell && (ranSource.has(cell) ? ranSource.get(cell) !== source(cell) : !cell.model.executionCount);
    if (!isStale) return;
    const line = document.createElement("div");
    line.className = "hanstep-stale";
    line.append("위 셀의 지금 코드는 아직 실행하지 않았어요. 아래는 전에 실행한 코드를 확인한 결과예요. ");
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = "실행하고 다시 확인";
    button.addEventListener("click", async (event) => {
      event.stopPropagation();
      await runCell(app, notebook, cell);
      await runCell(app, notebook, check);
    });
    line.append(button);
    check.node.querySelector(".jp-Cell-outputWrapper")?.before(line);
  };

  // Called when a cell has run.
  const ran = (app, notebook, cell) => {
    ranSource.set(cell, source(cell));
    const exercise = CHECKS.exec(source(cell))?.[1];
    if (!exercise) return;
    warnOfChanges(app, notebook, cell, exercise);
    addButtons(app, notebook, cell, exercise);
    // JupyterLab has gone on to the next cell, and sets the card's height only now.
    setTimeout(() => showTop(notebook, cell), 150);
  };

  window.hanstepCards = { ran };
})();

// Makes the choices of a prediction clickable: one click (or Enter) records the choice, runs the experiment and shows
// the verdict. Until then the experiment's explanation, which tells the answer, stays hidden.
//
// A question is a text cell with the choices "- a: …", then a cell `predict("01-3")`, the experiment's cells up to the
// one with `reveal("01-3")`, and text that explains what came out.
(() => {
  const ASKS = /^predict\(\s*["']([\w-]+)["']\s*\)/m;
  const TELLS = /\breveal\(\s*["']([\w-]+)["']/g;
  const CHOICE = /^\s*([a-d]):\s/;
  const TOPIC = /^(예측|물음)[ .]|^여기에서 쉬어도/;
  const NOT_RUN_BY_A_CLICK = ["check", "hint", "predict"];

  const source = (cell) => cell.model.sharedModel.getSource();
  const tagsOf = (cell) => cell.model.getMetadata?.("tags") ?? [];
  const outputText = (cell) => JSON.stringify(cell.model.outputs?.toJSON?.() ?? []);

  // The questions of a notebook: {id, asked, told} with the indices of their cells.
  const questionsOf = (notebook) => {
    const found = new Map();
    notebook.widgets.forEach((cell, index) => {
      if (cell.model.type !== "code") return;
      const asks = ASKS.exec(source(cell));
      if (asks) found.set(asks[1], { id: asks[1], asked: index, told: -1 });
      for (const [, id] of source(cell).matchAll(TELLS)) if (found.has(id)) found.get(id).told = index;
    });
    return [...found.values()].filter((one) => one.told > one.asked);
  };

  const chosen = new Map(); // prediction -> letter, of choices made in this window
  const hasVerdict = (notebook, question) =>
    outputText(notebook.widgets[question.told]).includes(`data-prediction=\\"${question.id}\\"`);
  const isOpen = (notebook, question) => !chosen.has(question.id) && !hasVerdict(notebook, question);

  // ---- the choices -------------------------------------------------------------------------------

  const decorate = (app, panel, question) => {
    const notebook = panel.content;
    // Code may stand between text and `predict`: a program to judge, or what a notebook imports.
    let above = question.asked - 1;
    while (notebook.widgets[above]?.model.type === "code") above -= 1;
    const text = notebook.widgets[above]?.node.querySelector(".jp-RenderedMarkdown");
    const items = [...(text?.querySelectorAll("li") ?? [])].filter((item) => CHOICE.test(item.textContent));
    if (items.length < 2) return false;
    for (const item of items) {
      const letter = CHOICE.exec(item.textContent)[1];
      item.setAttribute("aria-pressed", String(chosen.get(question.id) === letter));
      if (item.dataset.hanstepChoice === question.id) continue;
      item.dataset.hanstepChoice = question.id;
      item.setAttribute("role", "button");
      item.tabIndex = 0;
      item.parentElement.classList.add("hanstep-choices");
      const act = (event) => {
        if (event.type === "keydown" && event.key !== "Enter" && event.key !== " ") return;
        event.preventDefault();
        event.stopPropagation(); // JupyterLab would open the cell for editing, or run it
        choose(app, panel, question.id, letter);
      };
      item.addEventListener("click", act);
      item.addEventListener("keydown", act);
      item.addEventListener("dblclick", (event) => event.stopPropagation());
    }
    return true;
  };

  // ---- running -----------------------------------------------------------------------------------

  const ranIn = new WeakMap(); // cell -> id of the kernel in which it ran last
  const noteRuns = (panel) => {
    for (const cell of panel.content.widgets) {
      if (cell.model.type !== "code" || ranIn.has(cell)) continue;
      ranIn.set(cell, null);
      cell.model.stateChanged.connect((_, change) => {
        if (change.name === "executionCount" && change.newValue)
          ranIn.set(cell, panel.sessionContext.session?.kernel?.id ?? null);
      });
    }
  };

  const runCell = async (app, panel, cell) => {
    const notebook = panel.content;
    notebook.activeCellIndex = notebook.widgets.indexOf(cell);
    notebook.deselectAll();
    return (await app.commands.execute("notebook:run-cell")) !== false;
  };

  const choose = async (app, panel, id, letter) => {
    const notebook = panel.content;
    const question = questionsOf(notebook).find((one) => one.id === id);
    if (!question) return;
    const first = isOpen(notebook, question);
    chosen.set(id, letter);
    look(app, panel);
    await panel.sessionContext.ready;
    const kernel = panel.sessionContext.session?.kernel;
    if (!kernel) return;
    const cells = notebook.widgets;
    const ask = cells[question.asked];
    for (const cell of cells.slice(0, question.asked)) {
      const skip = cell.model.type !== "code" || tagsOf(cell).some((tag) => NOT_RUN_BY_A_CLICK.includes(tag));
      if (!skip && ranIn.get(cell) !== kernel.id && !(await runCell(app, panel, cell))) return;
    }
    const code = `from grader import predict; predict(${JSON.stringify(id)}, ${JSON.stringify(letter)})`;
    await kernel.requestExecute({ code, store_history: false, stop_on_error: false }).done;
    // Questions that share an experiment wait for each other.
    const group = questionsOf(notebook).filter((one) => one.asked < question.told && one.told > question.asked);
    if (first && !group.some((one) => isOpen(notebook, one))) {
      const begin = Math.max(...group.map((one) => one.asked)) + 1;
      const end = Math.max(...group.map((one) => one.told));
      for (const cell of notebook.widgets.slice(begin, end + 1))
        if (cell.model.type === "code" && !(await runCell(app, panel, cell))) break;
    }
    look(app, panel);
    (notebook.widgets[question.told]?.node ?? ask.node).querySelector("[data-prediction]")?.scrollIntoView({ block: "nearest" });
  };

  // ---- what tells the answer ---------------------------------------------------------------------

  // The elements of the text behind an experiment, up to the next topic.
  const explanation = (notebook, question) => {
    const found = [];
    for (const cell of notebook.widgets.slice(question.told + 1)) {
      if (cell.model.type !== "markdown") {
        if (ASKS.test(source(cell)) || tagsOf(cell).some((tag) => tag.startsWith("exercise:"))) break;
        if (tagsOf(cell).includes("folded")) continue; // asserts
        break;
      }
      const text = cell.node.querySelector(".jp-RenderedMarkdown");
      for (const part of text?.children ?? []) {
        if (/^H[1-6]$/.test(part.tagName) || TOPIC.test(part.textContent)) return found;
        found.push(part);
      }
    }
    return found;
  };

  const skipped = new Set(); // predictions whose explanation was opened without a choice

  const veil = (notebook, questions) => {
    const hidden = new Map();
    for (const question of questions)
      if (isOpen(notebook, question) && !skipped.has(question.id))
        for (const part of explanation(notebook, question)) hidden.set(part, question.id);
    for (const part of notebook.node.querySelectorAll(".hanstep-explains"))
      if (!hidden.has(part)) part.classList.remove("hanstep-explains");
    for (const [part, id] of hidden) {
      part.classList.add("hanstep-explains");
      part.onclick = () => {
        skipped.add(id);
        veil(notebook, questions);
      };
    }
  };

  const look = (app, panel) => {
    const notebook = panel.content;
    if (!notebook?.model?.cells) return;
    noteRuns(panel);
    const questions = questionsOf(notebook);
    for (const question of questions) {
      const clickable = decorate(app, panel, question);
      notebook.widgets[question.asked].node.classList.toggle("hanstep-asks", clickable);
    }
    veil(notebook, questions);
  };

  window.hanstepPredictions = { look };
})();

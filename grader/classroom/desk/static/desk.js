// The desk: asks the server for views, sends changes, and listens to keys.
import { act, cardNodes, exerciseItem, foundItem, groupButton, make, programArticle, writtenItem } from "./draw.js";
import { draftStore } from "./drafts.js";

const at = (id) => document.getElementById(id);
const state = { room: null, exercise: null, group: null, student: "", cameFor: "", programs: [], total: 0, chosen: 0, person: null, found: [], scope: null, version: -1 };
const MISTAKE = "실수:";
const GROUP = "묶음:";
const UNDONE = { points: "점수", comment: "코멘트", remove: "지운 것", keep: "남긴 것", seen: "봤다는 표시", names: "이름 보이기", join: "합친 표" };

// ---- asking -------------------------------------------------------------------------------------------

async function ask(path, values = {}) {
  const query = new URLSearchParams(values).toString();
  return answer(`/api/${path}${query ? `?${query}` : ""}`);
}

async function send(path, values = {}, more = {}) {
  const options = { ...more, method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(values) };
  return answer(`/api/${path}`, options);
}

async function answer(address, options = {}) {
  let response;
  try {
    response = await fetch(address, options);
  } catch {
    throw new Error("서버가 응답하지 않아요. 터미널에서 grader desk가 실행되고 있는지 확인해 주세요.");
  }
  if (response.ok) return response.json();
  const text = response.headers.get("Content-Type")?.startsWith("application/json") ? (await response.json()).error : await response.text();
  throw new Error(text);
}

let fading = 0;
function tell(text, stays = false) {
  at("told").textContent = text;
  clearTimeout(fading);
  if (!stays) fading = setTimeout(() => { at("told").textContent = ""; }, 6000 + 60 * text.length);
}

// Acts run one after the other, so that each finds the page as the one before left it. Never call it from inside an act.
let acting = Promise.resolve();
let busy = 0;
function attempt(work) {
  busy += 1;
  document.body.classList.add("busy"); // seen only if it takes long
  acting = acting.then(work).catch((error) => {
    tell(error.message);
    return null;
  }).finally(() => {
    busy -= 1;
    document.body.classList.toggle("busy", busy > 0);
  });
  return acting;
}

// ---- views that were asked for and are not there yet ------------------------------------------------------

// Until they are there, nobody is written to: the page shows one student or group, and the next one is on its way.
let awaited = 1; // the first view
let visit = { failed: false }; // the last view that was asked for
let meant = null; // whom the button names, and nobody else is written to; null while it names nobody

function awaitViews(by) {
  awaited += by;
  document.body.classList.toggle("waiting", awaited > 0);
  document.querySelector("main").setAttribute("aria-busy", String(awaited > 0));
  at("whom").disabled = awaited > 0;
  showReach();
}

// An act that leaves what is on the screen.
function go(work) {
  leaveDraft();
  const own = { failed: false };
  visit = own;
  awaitViews(1);
  return attempt(async () => {
    try {
      await work();
    } catch (error) {
      own.failed = true;
      if (own === visit) keepUnplaced(takeFields()); // else who asked for the next view has taken them
      throw error;
    } finally {
      if (own === visit) await putDraftBack().finally(() => awaitViews(-1));
      else awaitViews(-1);
    }
  });
}

// ---- drafts: what was typed and not written stays with what it is about ----------------------------------

const SAVED_AFTER = 300; // milliseconds without a key
const drafts = draftStore((path, values) => send(path, values, { keepalive: true }), (error) => tell(`쓰던 글을 아직 저장하지 못했어요. 이 페이지를 닫지 마세요. ${error.message}`, true));
const draftKey = () => (state.person ? `student ${state.person.id}` : [state.exercise?.name, state.group?.key, state.cameFor].filter(Boolean).join(" "));
let noting = 0;

const fieldsNow = () => ({ score: at("score").value, text: at("text").value });
const isEmpty = ({ score, text }) => !score.trim() && !text.trim();

function takeFields() {
  const fields = fieldsNow();
  at("score").value = at("text").value = "";
  clearTimeout(noting);
  noting = 0;
  return fields;
}

// What was typed, with whom it is for as the page shows it.
function draftOf(fields) {
  const typed = { ...fields, title: at("title").textContent };
  if (state.person) return { ...typed, person: state.person.id };
  const { scope, target } = chosenScope();
  return { ...typed, exercise: state.exercise?.name, group: state.group?.key, student: state.cameFor, scope, target };
}

function keepTyped(fields = fieldsNow()) {
  clearTimeout(noting);
  noting = 0;
  if (isEmpty(fields)) drafts.drop(draftKey());
  else drafts.keep(draftKey(), draftOf(fields));
}

// Keep what was typed for nobody who is on the screen: somebody takes it out, or throws it away.
function keepUnplaced(fields, title = "불러오지 못한 화면") {
  if (isEmpty(fields)) return;
  drafts.keep(`unplaced ${Date.now()}`, { ...fields, title, exercise: state.exercise?.name, group: "" });
  if (state.exercise) showLostDrafts();
}

// What is typed while a view loads is for that view: it is kept when its turn comes.
function noteTyped() {
  clearTimeout(noting);
  const own = setTimeout(() => attempt(() => (own === noting ? keepTyped() : undefined)), SAVED_AFTER);
  noting = own;
}

// At once, before the next view is asked for: what is typed from now on is for that one.
function leaveDraft() {
  const fields = takeFields();
  if (isEmpty(fields)) return;
  if (awaited) { // it is about a view that is on its way: its turn comes before that of the next one
    const own = visit;
    attempt(() => (own.failed ? keepUnplaced(fields) : keepTyped(fields)));
    return;
  }
  keepTyped(fields);
  const one = state.person ? null : studentHere(state.cameFor);
  tell(one ? `쓰던 글은 ${one.name}의 답에 남겨 두었어요. 학생 찾기로 다시 오면 나와요.` : `쓰던 글은 「${at("title").textContent}」에 남겨 두었어요. 돌아오면 다시 나와요.`);
}

async function putDraftBack() {
  const typed = drafts.get(draftKey());
  if (!typed || at("score").value || at("text").value) return;
  at("score").value = typed.score;
  at("text").value = typed.text;
  if (typed.scope && !state.person) await putScopeBack(typed);
}

// Whom a draft was for: one student's answer is shown, so that nobody else's is judged in its place.
async function putScopeBack({ scope, target }) {
  const has = (program) => program.students.some((s) => s.id === target);
  if (scope === "student" && target) {
    if (!state.programs.some(has)) await showGroup(state.group, target, state.cameFor);
    const number = state.programs.findIndex(has);
    if (number < 0) return tell("쓰던 글을 받을 학생이 이 묶음에 없어요. 누구에게 적을지 다시 골라 주세요.", true);
    choose(number, false);
  }
  state.scope = { scope, target };
  return showScopes();
}

// After the page was opened anew: back to what was being typed last.
async function openLastDraft() {
  drafts.fill(await ask("drafts"));
  const [, last] = drafts.entries().at(-1) ?? [];
  if (!last) return;
  if (last.person) await showPerson(last.person);
  else if (state.room.exercises.some((e) => e.name === last.exercise)) await showExercise(last.exercise, last.group, last.student);
  await putDraftBack();
  const others = drafts.entries().slice(0, -1).map(([, d]) => `「${d.title}」`);
  if (at("text").value || at("score").value) tell(["쓰던 글을 다시 꺼냈어요.", ...(others.length ? [`쓰던 글이 더 있는 곳: ${others.join(", ")}`] : [])].join(" "));
}

// Grading again may have left no group that a draft is about: it is shown, and written to nobody, until somebody takes it.
function showLostDrafts() {
  const { name, groups } = state.exercise;
  const lost = drafts.entries().filter(([, d]) => d.exercise === name && !groups.some((g) => g.key === d.group));
  at("lost").hidden = !lost.length;
  at("lost").replaceChildren(...lost.map(([key, d]) => make("li", {}, `${d.group ? `다시 채점해서 묶음 「${d.title}」이 없어졌어요. 쓰던 글` : `적지 않은 글이 남아 있어요(${d.title})`}: ${[d.score, d.text].filter(Boolean).join(" · ")} `,
    act("여기에 꺼내기", () => takeHere(key, d)), act("버리기", () => take(key)))));
}

function takeHere(key, { score, text }) {
  if (awaited) return tell("아직 불러오고 있어요. 다 나온 다음에 다시 눌러 주세요.");
  leaveDraft();
  take(key);
  Object.assign(at("score"), { value: score });
  Object.assign(at("text"), { value: text });
  return keepTyped();
}

function take(key) {
  drafts.drop(key);
  showLostDrafts();
}

// ---- views --------------------------------------------------------------------------------------------

async function showClass() {
  const room = await ask("class");
  state.room = room;
  at("folder").textContent = `${room.folder} · ${room.students}명 · ${room.who}`;
  at("release").hidden = !room.anonymous;
  at("problem").hidden = !room.problem && room.has_code;
  at("problem").textContent = room.problem || (room.has_code ? "" : "이 결과에는 학생의 코드가 없어요. 지금 버전으로 다시 채점하면 코드도 보여요.");
  at("again").hidden = !room.again.length;
  at("again").replaceChildren("전체 점수나 전체에 한 말을 적은 뒤에 다시 낸 학생: ", ...room.again.map((s) => act(s.name, () => go(() => showPerson(s.id)))));
  const current = at("exercise").value;
  at("exercise").replaceChildren(...room.exercises.map((e) => make("option", { value: e.name }, `${e.again ? `다시 낸 ${e.again}줄 · ` : ""}${e.misfits ? `맞지 않는 ${e.misfits}줄 · ` : ""}${e.lesson} ${e.title} (${e.name}) ${e.seen}/${e.groups}`)));
  if (room.exercises.some((e) => e.name === current)) at("exercise").value = current;
}

async function showExercise(name, key, student) {
  const view = await ask("exercise", { name });
  state.exercise = view;
  state.version = view.version;
  state.scope = null;
  at("exercise").value = name;
  const group = view.groups.find((g) => g.key === key) ?? view.groups.find((g) => !g.seen) ?? view.groups[0];
  showRound();
  await showGroup(group, student);
}

function showRound() {
  const groups = state.exercise.groups.filter((g) => !g.blank);
  const seen = groups.filter((g) => g.seen).length;
  at("bar").max = Math.max(1, groups.length);
  at("bar").value = seen;
  at("round").textContent = `${seen}/${groups.length} 묶음`;
  const option = [...at("exercise").options].find((o) => o.value === state.exercise.name);
  if (option) option.textContent = option.textContent.replace(/\d+\/\d+$/, `${seen}/${groups.length}`);
  showLostDrafts();
  showGroups();
}

// Show a group whose button was pressed: its list may have been read anew since, or another exercise may have come.
async function showPressed(name, key) {
  const group = state.exercise.name === name && state.exercise.groups.find((g) => g.key === key);
  if (group) await showGroup(group);
}

function showGroups() {
  const focused = at("groups").contains(document.activeElement);
  const { name, groups } = state.exercise;
  at("groups").replaceChildren(...groups.map((g) => groupButton(g, g === state.group && !state.person, () => go(() => showPressed(name, g.key)))));
  const current = at("groups").querySelector('[aria-current="true"]');
  if (focused) current?.focus();
  current?.scrollIntoView({ block: "nearest" });
}

// `student`: whose answer comes first; `cameFor`: the student for whom somebody came, and to whom alone is written.
async function showGroup(group, student = "", cameFor = student) {
  const view = await ask("answers", { name: state.exercise.name, key: group.key, start: 0, student });
  const scope = state.scope?.scope === "mistake" && group.mistakes.includes(state.scope.target) ? state.scope : null;
  Object.assign(state, { group, student, cameFor, programs: view.programs, total: view.total, chosen: 0, person: null, scope });
  showFacts();
  showWritten();
  at("programs").replaceChildren();
  addPrograms(view.programs, 0);
  choose(0, false);
  showGroups();
}

function showFacts() {
  const { group, total } = state;
  at("title").textContent = `${group.sign} ${group.title}`;
  at("facts").textContent = `${group.status_name} · ${group.points} · ${group.students}명 · 다른 코드 ${total}가지`;
  at("see").hidden = at("card-title").hidden = false;
  at("see").setAttribute("aria-pressed", String(group.seen));
}

function addPrograms(programs, start) {
  at("programs").append(...programs.map((p, i) => programArticle(p, start + i, () => choose(start + i, true))));
  const left = state.total - state.programs.length;
  at("more").hidden = left <= 0;
  at("more").textContent = `다른 코드 ${left}가지 더 보기`;
}

async function showMore() {
  const { exercise, group, programs, student } = state;
  const view = await ask("answers", { name: exercise.name, key: group.key, start: programs.length, student });
  if (group !== state.group) return;
  const start = state.programs.length;
  state.programs = [...state.programs, ...view.programs];
  addPrograms(view.programs, start);
}

function choose(number, scroll) {
  if (number !== state.chosen && state.scope?.scope === "student" && isEmpty(fieldsNow())) state.scope = null;
  state.chosen = number;
  const articles = [...at("programs").children];
  articles.forEach((node, i) => node.classList.toggle("chosen", i === number));
  if (scroll) articles[number]?.scrollIntoView({ block: "nearest" });
  at("card").replaceChildren(...cardNodes(state.programs[number]?.card ?? []));
  showScopes();
}

// ---- one student ----------------------------------------------------------------------------------------

async function showPerson(id) {
  await refreshPerson(id);
  at("title").focus();
}

async function refreshPerson(id) {
  const view = await ask("student", { id });
  Object.assign(state, { person: view, programs: [], total: 0, scope: null });
  at("title").textContent = view.name;
  at("facts").textContent = `${view.handed_in ? "" : "낸 것이 없어요 · "}최종 점수 ${view.total}`;
  at("see").hidden = at("more").hidden = true;
  const told = make("p", { class: "soft" }, view.exercises.length ? "연습을 누르면 이 학생의 답을 보여 줘요. 여기에서 적는 것은 전체 점수예요." : "보여 줄 답이 없어요. 전체 점수는 줄 수 있어요.");
  const items = view.exercises.map((e) => exerciseItem(e, () => go(() => showExercise(e.name, e.key, id))));
  at("programs").replaceChildren(make("ul", { class: "exercises" }, make("li", {}, told), ...items));
  at("card").replaceChildren();
  at("card-title").hidden = true;
  showGroups();
  showWritten();
  showScopes();
}

// A student's answer to the exercise on the screen.
async function showAnswer(id) {
  const { exercises } = await ask("student", { id });
  const own = exercises.find((e) => e.name === state.exercise.name);
  if (own && !state.person) await showExercise(own.name, own.key, id);
  else await showPerson(id);
}

async function find() {
  const text = at("find").value;
  const { students, more } = text.trim() ? await ask("find", { text }) : { students: [], more: 0 };
  if (text !== at("find").value) return;
  state.found = students;
  const nodes = students.map((s) => foundItem(s, () => { endSearch(); go(() => showPerson(s.id)); }));
  if (text.trim() && !students.length) nodes.push(make("li", {}, make("p", {}, "이런 학생이 없어요.")));
  if (more) nodes.push(make("li", {}, make("p", { class: "soft" }, `이 밖에 ${more}명`)));
  at("found").replaceChildren(...nodes);
  at("found").hidden = !nodes.length;
}

// Its turn comes after the last search: what is listed then is what was typed.
async function openFirstFound() {
  const [first] = state.found;
  if (!first) return at("find").focus();
  endSearch();
  return refreshPerson(first.id);
}

function endSearch() {
  at("find").value = "";
  state.found = [];
  at("found").hidden = true;
}

// ---- whom a judgement means ------------------------------------------------------------------------------

// It begins anew with every group and every answer: only the very mistake that was chosen stays chosen, within its exercise.
function scopes() {
  const { group, exercise, person } = state;
  if (person) return [{ scope: "whole", target: person.id, named: person.name, count: 1, outside: 0, label: `${person.name}의 전체 점수`, act: `${person.name}에게 전체 점수 적기` }];
  const whole = { scope: "group", target: group.key, count: group.students, outside: 0, label: `이 묶음 모두 (${group.students}명)`, act: `이 묶음 ${group.students}명에게 적기` };
  const mistakes = exercise.mistakes.filter((m) => group.mistakes.includes(m.id)).map((m) => {
    const outside = m.students - group.students;
    const names = m.names.filter(([, key]) => key !== group.key).map(([name]) => name);
    return { scope: "mistake", target: m.id, count: m.students, outside, names, label: `「${m.title}」인 학생 모두 (${m.students}명)`, act: outside ? `다른 묶음까지 ${m.students}명에게 적기` : whole.act };
  });
  return [whole, ...mistakes];
}

const studentHere = (id) => state.programs.flatMap((p) => p.students).find((s) => s.id === id);

// Whoever came for one student means that one, until something else is chosen.
function chosenScope() {
  const asked = state.scope ?? (state.cameFor ? { scope: "student", target: state.cameFor } : {});
  if (asked.scope === "student" && !state.person) {
    const one = studentHere(asked.target);
    if (one) return { scope: "student", target: one.id, named: one.name, count: 1, outside: 0, act: `${one.name}에게만 적기` };
    return { scope: "student", target: "", count: 0, outside: 0, act: "누구에게 적을지 골라 주세요" };
  }
  const all = scopes();
  return all.find((s) => s.scope === asked.scope && s.target === asked.target) ?? all[0];
}

function chooseScope(scope) {
  state.scope = scope;
  if (!isEmpty(fieldsNow())) noteTyped();
  showReach();
}

function showScopes() {
  const chosen = chosenScope();
  const students = state.programs[state.chosen]?.students ?? [];
  const row = (label, checked, choose) => {
    const radio = make("input", { type: "radio", name: "scope", checked });
    radio.addEventListener("change", choose);
    return make("label", {}, radio, make("span", {}, label));
  };
  const nodes = scopes().map((s) => row(s.label, s.scope === chosen.scope && s.target === chosen.target, () => chooseScope(s)));
  const one = state.person || chosen.scope !== "student" ? studentHere(state.cameFor) : studentHere(chosen.target);
  if (one) nodes.push(row(`${one.name}에게만`, chosen.scope === "student", () => chooseScope({ scope: "student", target: one.id })));
  const others = students.filter((s) => s.id !== one?.id);
  if (students.length === 1 && others.length) nodes.push(row(`${others[0].name}에게만`, false, () => chooseScope({ scope: "student", target: others[0].id })));
  else if (others.length) nodes.push(...studentPicker(others, one ? "같은 코드의 다른 학생에게만" : "한 학생에게만", row, chosen.scope === "student" && !one));
  at("scopes").replaceChildren(...nodes);
  showReach();
}

// Nobody is chosen beforehand: the first of many who wrote the same code is not the one who is meant.
function studentPicker(students, label, row, checked) {
  const options = students.map((s) => make("option", { value: s.id }, s.name));
  const picker = make("select", { "aria-label": "학생" }, make("option", { value: "" }, "학생 고르기"), ...options);
  const pick = () => chooseScope({ scope: "student", target: picker.value });
  const radio = row(label, checked, pick);
  picker.addEventListener("change", () => { radio.firstChild.checked = true; pick(); });
  return [radio, picker];
}

// The button says whom it reaches, and reaches whom it says; who is not on the screen is listed by name.
function showReach() {
  const isThere = !awaited && (state.person || state.programs.length);
  const chosen = isThere ? chosenScope() : { outside: 0, act: awaited ? "불러오고 있어요…" : "적기" };
  const { scope, target, count, named, act, outside, names } = chosen;
  meant = isThere ? { exercise: state.exercise.name, group: state.person ? "" : state.group.key, scope, target, count, named } : null;
  at("write").setAttribute("aria-disabled", String(!meant?.target));
  at("form").classList.toggle("wide", outside > 0);
  at("act").textContent = act;
  at("reach").hidden = !outside;
  at("reach").textContent = outside ? `이 묶음에 없는 ${outside}명에게도 가요: ${names.join(", ")}${outside > names.length ? ` 외 ${outside - names.length}명` : ""}` : "";
}

function ruleName(rule) {
  const { mistakes, groups } = state.exercise;
  if (rule.startsWith(MISTAKE)) {
    const id = rule.slice(MISTAKE.length);
    return `「${mistakes.find((m) => m.id === id)?.title ?? id}」인 학생`;
  }
  const group = groups.find((g) => g.key === rule.slice(GROUP.length));
  return group ? `묶음 「${group.title}」` : "없어진 묶음";
}

function showWritten() {
  const { exercise, person } = state;
  const isHere = (entry) => !person && entry.groups.includes(state.group?.key);
  const written = [...(person ?? exercise).written].sort((a, b) => isHere(b) - isHere(a)); // this group's first
  const items = written.map((entry) => {
    const same = { exercise: entry.exercise, file: entry.file, score: entry.score, text: entry.text, rule: entry.rule };
    const scope = entry.rule.startsWith(MISTAKE) ? "mistake" : "group";
    const target = entry.rule.slice((scope === "mistake" ? MISTAKE : GROUP).length);
    return writtenItem(entry, ruleName(entry.rule), {
      show: (student) => go(() => showAnswer(student)),
      keep: (one) => attempt(() => keep({ ...same, student: one.id, named: one.name })),
      removeOf: (one) => attempt(() => takeBack({ ...same, student: one.id, named: one.name })),
      remove: () => attempt(() => takeBack(person ? { ...same, student: person.id, named: person.name } : { ...same, count: entry.lines })),
      removeMisfits: () => attempt(() => takeBack({ ...same, only_misfits: true, count: entry.misfits })),
      extend: () => attempt(() => judge({ exercise: exercise.name, scope, target, score: entry.score, text: entry.text, only_new: true })),
    });
  });
  at("written").replaceChildren(...items);
  if (!items.length) at("written").append(make("li", { class: "soft" }, person ? "이 학생의 전체에는 아직 적은 것이 없어요." : "이 연습에는 아직 적은 것이 없어요."));
  at("reuse-label").hidden = !exercise.reuse.length;
  at("reuse").replaceChildren(make("option", { value: "" }, "고르기"), ...exercise.reuse.map((text) => make("option", { value: text }, text.length > 60 ? `${text.slice(0, 60)}…` : text)));
}

// ---- changes ------------------------------------------------------------------------------------------

async function refresh() {
  const { exercise, group } = state;
  const view = await ask("exercise", { name: exercise.name });
  if (exercise.name !== state.exercise.name) return;
  state.exercise = view;
  state.version = view.version;
  const same = view.groups.find((g) => g.key === group?.key);
  showWritten();
  if (state.person) {
    state.group = same ?? view.groups[0];
    showRound();
    await refreshPerson(state.person.id);
  } else if (same) {
    state.group = same;
    showFacts();
    showRound();
  } else {
    leaveDraft(); // before another group takes the place of the one it is about
    awaitViews(1);
    try {
      showRound();
      await showGroup(view.groups[0]);
    } finally {
      awaitViews(-1);
    }
    tell("다시 채점해서 보던 묶음이 없어졌어요. 첫 묶음을 보여 줘요.", true);
  }
}

const judge = (values) => change("judge", values, "명에게 적었어요", "이미 똑같이 적혀 있어요.");
const keep = (values) => change("keep", values, "명의 것을 새 답에도 남겼어요", "남길 것이 없어요.");
const takeBack = (values) => change("take_back", values, "명의 것을 지웠어요", "지울 것이 없어요.");

// Returns what the chosen answer adds to the request; null if nothing shall be done. What is being typed presses no
// button of it: none has the focus.
function question(text, choices) {
  return new Promise((resolve) => {
    const dialog = at("question");
    const close = (choice) => { dialog.close(); resolve(choice); };
    dialog.oncancel = (event) => { event.preventDefault(); close(null); };
    at("asked").textContent = text;
    at("choices").replaceChildren(...choices.map((c) => act(c.label, () => close(c.give))), act("그만두기", () => close(null)));
    dialog.showModal();
    at("asked").focus();
  });
}

// Returns true if nothing changed for a reason that was told.
async function change(path, values, said, nothing) {
  let done = await send(path, values);
  let given = values;
  while (done.ask) {
    const choice = await question(done.ask, done.choices);
    if (!choice) {
      tell("적지 않았어요. 전에 적은 것은 그대로예요.");
      return true;
    }
    given = { ...given, ...choice };
    done = await send(path, given);
  }
  const count = done.added || done.removed;
  const left = done.left ?? [];
  const waiting = done.waiting ? [`읽지 못한 연습이 더 있어서 ${done.waiting}명의 최종 점수는 아직 비어 있어요. 나머지 연습도 정하거나, 학생을 찾아 전체 점수를 적어 주세요.`] : [];
  const replaced = done.replaced ? [`전에 적은 ${done.removed}줄은 이것으로 바꾸었어요(${done.replaced.replace(/\.$/, "")}).`] : [];
  if (count) tell([`${count}${said}: ${done.names}.`, ...replaced, ...left, ...waiting, "되돌리려면 u"].join(" "));
  else tell(left.length ? ["바뀐 것이 없어요.", ...left].join(" ") : nothing);
  await showClass();
  await refresh();
  if (!state.person) await refreshPrograms();
  return !count && left.length > 0;
}

// Marks beside the names have changed: as many answers as there are now, with the same one and the same scope chosen.
async function refreshPrograms() {
  const { chosen, student, exercise, group } = state;
  const found = [];
  let view = null;
  do {
    view = await ask("answers", { name: exercise.name, key: group.key, start: found.length, student });
    found.push(...view.programs);
  } while (found.length < state.programs.length && view.programs.length);
  Object.assign(state, { programs: found, total: view.total });
  at("programs").replaceChildren();
  addPrograms(found, 0);
  choose(Math.min(chosen, found.length - 1), false);
}

// Whom it reaches is what the button names when it is pressed, and nobody who comes to the screen afterwards.
function write() {
  if (awaited) return tell("아직 불러오고 있어요. 누구에게 적는지 나온 다음에 다시 눌러 주세요.");
  if (!meant?.target) return tell("누구에게 적을지 먼저 골라 주세요.");
  if (!at("text").value.trim()) {
    tell("까닭이나 코멘트를 한 문장으로 적어 주세요. 학생도 읽는 글이에요.");
    return at("text").focus();
  }
  const [whom, scope, key] = [meant, state.scope, draftKey()];
  const kept = drafts.get(key);
  const typed = takeFields();
  const draft = draftOf(typed);
  at("title").focus(); // the next key is a command again
  state.scope = null; // what is chosen while this is written is for the next judgement
  showScopes();
  tell("적고 있어요…", true);
  return attempt(async () => {
    try {
      const isRefused = await judge({ ...whom, ...typed });
      if (isRefused) putBack(key, draft, scope);
      else if (drafts.get(key) === kept) drafts.drop(key); // else the next one about it has been begun
      showLostDrafts();
    } catch (error) {
      putBack(key, draft, scope);
      throw error;
    }
  });
}

// What could not be written goes back into the fields only if they are empty and still about the same.
function putBack(key, draft, scope) {
  const { score, text, title } = draft;
  if (awaited || draftKey() !== key) return drafts.keep(key, draft);
  if (!isEmpty(fieldsNow())) return keepUnplaced({ score, text }, title);
  state.scope = scope;
  showScopes();
  Object.assign(at("score"), { value: score });
  Object.assign(at("text"), { value: text });
  return keepTyped();
}

async function see(exercise, group) {
  const { seen } = await send("see", { exercise: exercise.name, key: group.key });
  group.seen = seen;
  at("see").setAttribute("aria-pressed", String(seen));
  showRound();
  if (seen) await step(1);
}

// The key goes on: what was judged is seen already, and one more press must not take that back.
function seeAndStep() {
  return state.person || state.group.seen ? step(1) : see(state.exercise, state.group);
}

// One at a time: a second press while one is underway would undo what nobody saw.
let undoing = false;
async function undoOnce() {
  if (undoing) return tell("아직 되돌리고 있어요. 무엇을 되돌렸는지 나온 다음에 다시 눌러 주세요.", true);
  undoing = true;
  at("undo").setAttribute("aria-disabled", "true");
  tell("되돌리고 있어요…", true);
  return attempt(undo);
}

async function undo() {
  const done = await send("undo").finally(() => {
    undoing = false;
    at("undo").setAttribute("aria-disabled", "false");
  });
  if (!done.undone) return tell("되돌릴 것이 없어요.");
  const left = done.conflicts ? ` 그 사이에 다른 사람이 바꾼 ${done.conflicts}명의 것은 그대로 두었어요.` : "";
  const what = [done.whose && `${done.whose}의`, UNDONE[done.undone] ?? done.undone, done.said && `「${done.said}」`].filter(Boolean).join(" ");
  tell(`되돌렸어요: ${what}${done.exercise && done.exercise !== state.exercise.name ? ` (${done.exercise})` : ""}.${left}`);
  await showClass();
  await refresh();
  return state.person ? undefined : refreshPrograms();
}

async function publish() {
  tell("모든 결과에 반영하고 있어요. 그동안 계속 채점해도 돼요.", true);
  at("publish").disabled = true;
  try {
    tell((await send("publish")).said);
  } catch (error) {
    tell(error.message);
  } finally {
    at("publish").disabled = false;
  }
}

async function step(by) {
  const groups = state.exercise.groups;
  const next = groups[groups.findIndex((g) => g.key === state.group.key) + by];
  if (next) await showGroup(next);
  else tell(by > 0 ? "마지막 묶음이에요." : "첫 묶음이에요.");
}

async function turn(by) {
  const number = state.chosen + by;
  if (number >= state.programs.length && state.programs.length < state.total) await showMore();
  if (number >= 0 && number < state.programs.length) choose(number, true);
}

// ---- keys and buttons -----------------------------------------------------------------------------------

const next = () => step(1);
const previous = () => step(-1);
const KEYS = {
  j: next,
  k: previous,
  ArrowRight: () => turn(1),
  ArrowLeft: () => turn(-1),
  x: seeAndStep,
};
const MOVES = new Set([next, previous, seeAndStep]);
const DIRECTLY = { u: undoOnce };
const FIELDS = { s: "score", c: "text", "/": "find" }; // entered at once: what is typed while a view loads belongs there

// Under a Korean layout or input method, `j` arrives as `ㅓ` or as `Process`: then the key's place tells the letter.
function keyOf({ key, code }) {
  if (/^[a-z]$/i.test(key)) return key.toLowerCase();
  return /^Key[A-Z]$/.test(code) ? code[3].toLowerCase() : key;
}

document.addEventListener("keydown", (event) => {
  if (at("question").open) return undefined;
  const typing = event.target.closest("input:not([type=checkbox]):not([type=radio]), textarea, select");
  if (event.key === "Escape" && event.target.closest("search")) endSearch();
  if (event.key === "Escape" && typing) return event.target.blur();
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey) && event.target.closest("form")) {
    event.preventDefault();
    return at("form").requestSubmit();
  }
  const choosing = event.target.type === "radio" && event.key.startsWith("Arrow");
  if (typing || choosing || event.ctrlKey || event.metaKey || event.altKey || !at("keys").checked) return undefined;
  const key = keyOf(event);
  if (!state.group || !(key in KEYS || key in FIELDS || key in DIRECTLY)) return undefined;
  event.preventDefault();
  if (key in FIELDS) return at(FIELDS[key]).focus();
  if (key in DIRECTLY) return DIRECTLY[key]();
  return (MOVES.has(KEYS[key]) ? go : attempt)(KEYS[key]);
});

const onClick = (id, run) => at(id).addEventListener("click", () => attempt(run));
at("next").addEventListener("click", () => go(next));
at("previous").addEventListener("click", () => go(previous));
at("see").addEventListener("click", () => {
  const { exercise, group } = state;
  if (awaited) tell("아직 불러오고 있어요. 다 나온 다음에 다시 눌러 주세요.");
  else go(() => see(exercise, group));
});
at("undo").addEventListener("click", undoOnce);
onClick("more", showMore);
onClick("publish", () => { publish(); }); // begun after what is being written; it takes seconds, and nothing waits for it
at("release").addEventListener("click", () => go(async () => {
  await send("release");
  await showClass();
  await showExercise(state.exercise.name, state.group.key);
  tell("이름을 보여 줘요. 다시 가리려면 u");
}));
at("find").addEventListener("input", () => attempt(find));
at("find").addEventListener("keydown", (event) => {
  if (event.key !== "Enter") return;
  at("title").focus(); // at once: the next key is a command again
  go(openFirstFound);
});
document.addEventListener("click", (event) => { if (!event.target.closest("search")) at("found").hidden = true; });
at("exercise").addEventListener("change", () => go(() => showExercise(at("exercise").value)));
at("reuse").addEventListener("change", () => { at("text").value = at("reuse").value || at("text").value; noteTyped(); });
for (const id of ["score", "text"]) at(id).addEventListener("input", noteTyped);
at("form").addEventListener("submit", (event) => { event.preventDefault(); write(); });

// What sticks below the header needs its height, which depends on how it wraps.
new ResizeObserver(([{ target }]) => {
  const height = getComputedStyle(target).position === "sticky" ? target.offsetHeight : 0;
  document.documentElement.style.setProperty("--head", `${height}px`);
}).observe(document.querySelector("header"));

function saveDrafts() {
  if (noting && !awaited) keepTyped(); // what is typed for a view on its way is kept when that is there
  drafts.flush();
}

document.addEventListener("visibilitychange", () => { if (document.hidden) saveDrafts(); });
window.addEventListener("beforeunload", (event) => {
  saveDrafts();
  if (!drafts.isSaved() || noting) event.preventDefault(); // the browser asks
});

setInterval(async () => {
  drafts.flush(); // what could not be saved before
  if (!state.exercise || document.hidden) return;
  const version = await ask("version").then((told) => told.version, () => state.version); // told at the next act
  if (version !== state.version) attempt(refresh);
}, 4000);

awaitViews(0);
attempt(async () => {
  try {
    await showClass();
    const first = state.room.exercises.find((e) => e.seen < e.groups) ?? state.room.exercises[0];
    if (!first) return tell("채점한 답이 없어요.");
    at("exercise").value = first.name;
    await showExercise(first.name);
    return await openLastDraft();
  } finally {
    awaitViews(-1);
  }
});

/* Looks through the text of all sections. A term finds its other names too: 기울기 누적 = gradient accumulation. */
"use strict";
(() => {
  const MOST = 60;
  const index = window.SEARCH_INDEX;
  const squeezed = (text) => text.normalize("NFC").toLowerCase().replace(/\s+/g, "");
  const plain = (text) => text.normalize("NFC").toLowerCase().replace(/\s+/g, " ").trim();
  const bare = (text) => plain(text).replace(/[^\p{L}\p{N}]/gu, ""); // warm-up, warm up, warmup; zero_grad, zerograd
  const hangul = /[가-힣]/;
  const PARTICLE = /(?:이라는|라는|이란|란|에서는|으로는|에는|으로|에서|부터|까지|마다|처럼|하기|하는|하면|이나|나|만|을|를|이|가|은|는|의|에|로|과|와|도)$/;
  const withoutParticle = (word) => (/[가-힣)]$/.test(word) ? word.replace(PARTICLE, "") : word);

  const sections = index.sections.map((section) => ({
    ...section,
    path: section.url.split("#")[0],
    isPart: section.url.includes("/"), // parts lie in their lesson's folder; the overview and the glossary beside them
    isTerm: section.url.startsWith("glossary.html#term-"),
    seen: { title: plain(section.title), text: plain(section.text) },
    packed: { title: squeezed(section.title), text: squeezed(section.text) },
    bare: { title: bare(section.title), text: bare(section.text) },
  }));
  const tops = new Map(); // a page's path -> its first section, which has the page's title
  for (const section of sections) if (!tops.has(section.path)) tops.set(section.path, section);
  const groups = index.same.map((names) => ({ names, words: names.map(plain) }));
  const named = new Map(groups.flatMap((group) => group.words.map((word) => [bare(word), group])));
  const LONGEST = Math.max(...groups.flatMap(({ words }) => words.map((word) => word.split(/[\s-]/).length)));
  const needleOf = (word) => named.get(bare(word)) ?? { names: [word], words: [word] };

  // ---- what a query asks for: needles, each a list of words of which one must occur -----------------------
  const times = (text, word) => text.split(word).length - 1;
  function hits(section, field, word) {
    if (word.startsWith("~")) return times(section.bare[field], word.slice(1)); // whatever stands between its letters
    // Korean is written with and without spaces; English is not.
    return hangul.test(word) ? times(section.packed[field], squeezed(word)) : times(section.seen[field], word);
  }
  const occurs = (word) => sections.some((section) => hits(section, "title", word) > 0 || hits(section, "text", word) > 0);

  // A term of the glossary may be several words, written apart, together, with hyphens, with particles.
  function termAt(words, at) {
    for (let n = Math.min(LONGEST, words.length - at); n > 0; n -= 1) {
      const part = words.slice(at, at + n);
      const found = named.get(bare(part.join(""))) ?? named.get(part.map((word) => bare(withoutParticle(word))).join(""));
      if (found !== undefined) return { length: n, needle: found };
    }
    return null;
  }

  function needlesOf(query) {
    const needles = [];
    const words = plain(query).split(" ").filter(Boolean);
    for (let at = 0; at < words.length;) {
      const term = termAt(words, at);
      needles.push(...(term === null ? nearest(words[at]) : [term.needle]));
      at += term === null ? 1 : term.length;
    }
    return needles;
  }

  // A word that stands nowhere: what was meant by it? `instead` is what is told of it; no words: it is left out.
  function nearest(word) {
    const last = word.split(/[^\p{L}\p{N}_]+/u).filter(Boolean).at(-1) ?? "";
    // `optimizer.zero_grad()` may stand somewhere by chance; what is told of `zero_grad` is looked for all the same.
    if (occurs(word) && word.includes(".") && last.length >= 4) return [{ names: [word], words: [word, last] }];
    if (occurs(word)) return [{ names: [word], words: [word] }];
    if (word.includes(".") && occurs(last)) return [{ ...needleOf(last), instead: [word, last] }]; // optimizer.zero_grad()
    const letters = bare(word);
    if (letters.length >= 4 && occurs(`~${letters}`)) return [{ names: [word], words: [`~${letters}`] }];
    const close = misspelt(letters);
    if (close !== null) return [{ ...needleOf(close), instead: [word, close] }];
    const korean = word.match(/^[가-힣]{2,}/)?.[0] ?? "";
    for (let end = korean.length; end >= 2; end -= 1) { // 지우나요 -> 지우
      const stem = korean.slice(0, end);
      if (occurs(stem)) return [{ names: [stem], words: [stem] }];
    }
    return [{ names: [], words: [], instead: [word, ""] }];
  }

  let vocabulary = null;
  function misspelt(word) {
    const split = word.normalize("NFD"); // a wrong vowel is one letter, not a whole syllable
    const most = split.length >= 8 ? 2 : 1;
    if (word.length < (hangul.test(word) ? 3 : 5)) return null; // 소실 is no 손실
    vocabulary ??= new Set([...named.keys(), ...sections.flatMap(({ seen }) => seen.text.match(/[a-z]{4,}/g) ?? [])]);
    let best = null;
    let least = most + 1;
    for (const known of vocabulary) {
      const other = known.normalize("NFD");
      if (Math.abs(other.length - split.length) > most || other[0] !== split[0]) continue;
      const apart = distance(split, other);
      if (apart < least) { least = apart; best = known; }
    }
    return best;
  }

  function distance(one, other) { // letters to add, to drop, to change, or to swap with the next
    let [before, row] = [[], [...Array(other.length + 1).keys()]];
    for (let i = 1; i <= one.length; i += 1) {
      const next = [i];
      for (let j = 1; j <= other.length; j += 1) {
        const change = row[j - 1] + (one[i - 1] === other[j - 1] ? 0 : 1);
        next[j] = Math.min(change, row[j] + 1, next[j - 1] + 1);
        if (i > 1 && j > 1 && one[i - 1] === other[j - 2] && one[i - 2] === other[j - 1]) next[j] = Math.min(next[j], before[j - 2] + 1);
      }
      [before, row] = [row, next];
    }
    return row[other.length];
  }

  // ---- what comes first: a term's definition, then the part that is about it, then what else tells of it ------
  const MOST_OF_TEXT = 8; // a word that stands in a section more often says no more about it
  function points(section, { words }) {
    const inTitle = words.filter((word) => hits(section, "title", word) > 0);
    const inText = Math.min(MOST_OF_TEXT, Math.max(...words.map((word) => hits(section, "text", word))));
    if (inTitle.length === 0 && inText === 0) return 0;
    const share = Math.max(0, ...inTitle.map((word) => bare(word).length / section.bare.title.length)); // of the title
    const itself = inTitle.includes(words[0]) ? 10 : 0; // not by another name of it alone
    return (inTitle.length > 0 ? 10 + 10 * share + itself : 0) + inText + (introduces(section, words) ? 12 : 0);
  }

  // Where a lesson first uses a term, it says it in both languages: 그레이디언트 누적(gradient accumulation).
  function introduces(section, words) {
    const { text } = section.packed;
    return section.isPart && words.length > 1 && text.includes(`${squeezed(words[0])}(${squeezed(words[1])})`);
  }

  // How much a part is about something: its title, its headings, how often it says it; lessons build on earlier ones,
  // so of two parts the earlier one. Each section gains by its part.
  function aboutness(path, needles) {
    const all = sections.filter((section) => section.path === path);
    const sums = needles.map((needle) => all.reduce((sum, section) => sum + points(section, needle), 0));
    return Math.min(...sums) / 6 + (isTitled(path, needles) ? 20 : 0) - 3 * Number(path.match(/^\d+/)?.[0] ?? 0);
  }
  function isTitled(path, needles) {
    return needles.every(({ words }) => words.some((word) => hits(tops.get(path), "title", word) > 0));
  }

  function ranked(needles) {
    const met = (section) => needles.filter((needle) => points(section, needle) > 0).length;
    const some = sections.map((section) => ({ section, met: met(section) })).filter((one) => one.met > 0);
    const most = Math.max(0, ...some.map((one) => one.met));
    const found = some.filter((one) => one.met === most).map(({ section }) => section);
    const about = new Map();
    for (const { path, isPart } of found) if (isPart && !about.has(path)) about.set(path, aboutness(path, needles));
    const best = [...about].sort(([, a], [, b]) => b - a)[0]?.[0];
    const first = best !== undefined && isTitled(best, needles) ? tops.get(best) : undefined;
    const worth = (section) => {
      const own = needles.reduce((sum, needle) => sum + points(section, needle), 0);
      if (section.isTerm) return own + 10 + (needles.length === 1 && needles[0].words.includes(section.seen.title) ? 1000 : 0);
      // The part that is about it most begins the list if it is called so, whatever its sections say.
      return own + (about.get(section.path) ?? 0) + (section === first ? 500 : 0);
    };
    const order = new Map(found.map((section) => [section, worth(section)]));
    return { most, found: found.sort((a, b) => order.get(b) - order.get(a)) };
  }

  // ---- showing ---------------------------------------------------------------------------------------------
  const escaped = (text) => text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
  function pattern(needles) {
    const words = needles.flatMap((needle) => needle.words).sort((a, b) => b.length - a.length)
      .map((word) => (word.startsWith("~") ? [...word.slice(1)].join("[^\\p{L}\\p{N}]*") : escaped(word).replace(/ /g, "\\s*")));
    return new RegExp(`(${words.join("|")})`, "giu");
  }

  function marked(text, search) {
    const made = document.createDocumentFragment();
    text.split(search).forEach((part, place) => {
      if (place % 2 === 0) { made.append(part); return; }
      const mark = document.createElement("mark");
      mark.textContent = part;
      made.append(mark);
    });
    return made;
  }

  // From about 50 characters before what was found; it begins and ends with whole words.
  function excerpt(text, search) {
    search.lastIndex = 0;
    const at = search.exec(text)?.index ?? 0;
    search.lastIndex = 0;
    const start = at <= 50 ? 0 : Math.min(at, text.indexOf(" ", at - 50) + 1);
    const rest = text.slice(start, start + 180);
    const cut = start + 180 < text.length ? `${rest.replace(/ \S*$/, "")} …` : rest;
    return (start > 0 ? "… " : "") + cut;
  }

  function told(query, needles, found, some) {
    if (found === 0) return `「${query}」에 맞는 곳이 없습니다. 낱말을 줄이거나 영어로 찾아보세요.`;
    const names = needles.filter((needle) => needle.names.length > 0)
      .map(({ names: [first, second] }) => first + (second === undefined ? "" : ` (${second})`));
    const all = `${names.join(" · ")}: 이 말이 나오는 절과 용어 ${found}개`;
    const count = found > MOST ? `${all} 가운데 앞의 ${MOST}개를 보입니다.` : all;
    const told = needles.filter(({ instead }) => instead !== undefined).map(({ instead }) => instead);
    const notes = told.map(([word, other]) =>
      other ? `「${word}」 대신 찾은 말: ${other}.` : `「${word}」: 나오는 곳이 없어 빼고 찾았습니다.`);
    if (some) notes.push("낱말이 모두 나오는 곳은 없어, 일부가 나오는 곳을 보입니다.");
    return [count, ...notes].join(" ");
  }

  function show(query) {
    const status = document.getElementById("search-status");
    const list = document.getElementById("search-found");
    list.replaceChildren();
    const needles = needlesOf(query);
    if (needles.length === 0) { status.textContent = ""; return; }
    const used = needles.filter(({ words }) => words.length > 0);
    const { most, found } = used.length === 0 ? { most: 0, found: [] } : ranked(used);
    status.textContent = told(query.trim(), needles, found.length, found.length > 0 && most < used.length);
    if (found.length === 0) return;
    const search = pattern(used);
    for (const section of found.slice(0, MOST)) {
      const item = document.createElement("li");
      const link = document.createElement("a");
      link.href = section.url;
      link.append(marked(section.title, search));
      item.append(link);
      if (section.page !== section.title) {
        const page = document.createElement("span");
        page.className = "found-page";
        page.textContent = section.page;
        item.append(" ", page);
      }
      const text = document.createElement("p");
      text.append(marked(excerpt(section.text, search), search));
      item.append(text);
      list.append(item);
    }
  }

  const query = document.getElementById("query");
  query.value = new URLSearchParams(location.search).get("q") ?? "";
  show(query.value);
  query.addEventListener("input", () => show(query.value));
  query.form.addEventListener("submit", (event) => {
    event.preventDefault();
    history.replaceState(null, "", `?q=${encodeURIComponent(query.value)}`);
    show(query.value);
  });
})();

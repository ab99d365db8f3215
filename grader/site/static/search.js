/* Looks through the text of all sections. A term finds its other names too: 기울기 누적 = gradient accumulation. */
"use strict";
(() => {
  const MOST = 60;
  const index = window.SEARCH_INDEX;
  const squeezed = (text) => text.normalize("NFC").toLowerCase().replace(/\s+/g, "");
  const plain = (text) => text.normalize("NFC").toLowerCase().replace(/\s+/g, " ").trim();
  const bare = (text) => plain(text).replace(/[^\p{L}\p{N}]/gu, ""); // warm-up, warm up, warmup; zero_grad, zerograd
  const hangul = /[가-힣]/;
  const PARTICLE = /(?:으로|에서|을|를|이|가|은|는|의|에|로|과|와|도)$/;
  const withoutParticle = (word) => (/[가-힣)]$/.test(word) ? word.replace(PARTICLE, "") : word);

  const sections = index.sections.map((section) => ({
    ...section,
    seen: { title: plain(section.title), text: plain(section.text) },
    packed: { title: squeezed(section.title), text: squeezed(section.text) },
    bare: { title: bare(section.title), text: bare(section.text) },
  }));
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

  function score(section, needles) {
    let [sum, met] = [0, 0];
    for (const { words } of needles) {
      const title = words.some((word) => hits(section, "title", word) > 0);
      const text = Math.max(...words.map((word) => hits(section, "text", word)));
      if (!title && text === 0) continue;
      met += 1;
      const itself = hits(section, "title", words[0]) > 0; // not by another name of it alone
      sum += (title ? 20 : 0) + (itself ? 10 : 0) + Math.min(text, 8);
    }
    return { section, met, points: met > 0 && section.url.startsWith("glossary.html#") ? sum + 10 : sum };
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
    const count = `${names.join(" · ")}: ${found}곳${found > MOST ? ` 가운데 ${MOST}곳` : ""}`;
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
    const scored = used.length === 0 ? [] : sections.map((section) => score(section, used)).filter(({ met }) => met > 0);
    const most = Math.max(0, ...scored.map(({ met }) => met));
    const found = scored.filter(({ met }) => met === most).sort((a, b) => b.points - a.points);
    status.textContent = told(query.trim(), needles, found.length, found.length > 0 && most < used.length);
    if (found.length === 0) return;
    const search = pattern(used);
    for (const { section } of found.slice(0, MOST)) {
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

// The pages work without this script. With it they follow what happens, keep what is typed, and say when they are offline.
"use strict";
(() => {
  const main = document.getElementById("main");
  const byId = (id) => document.getElementById(id);
  const HIDDEN = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]/g;
  const ARM_MS = 500; // an approval that has just come or moved takes no tap for so long
  const LADDER_MS = [200, 500, 1000, 2000, 4000, 8000];

  // What a person is told ---------------------------------------------------------------------------------------------
  const connection = byId("connection");
  let standing = "";
  const tell = (state) => {
    if (state === standing) return;
    standing = state;
    const words = {
      on: "Connected", again: "Reconnecting: what you see may be old", off: "Offline: what you see is old, and nothing can be sent",
    };
    connection.textContent = words[state];
    connection.className = state === "on" ? "" : "away";
  };
  const say = (text) => { byId("say").textContent = text.replace(HIDDEN, ""); };
  const complain = (text, kind = "") => {
    const place = byId("problem");
    place.hidden = !text;
    place.className = kind;
    place.textContent = text.replace(HIDDEN, "");
    if (text) place.scrollIntoView({ block: "nearest" });
  };

  // What is typed is kept ---------------------------------------------------------------------------------------------
  const stored = (key) => { try { return localStorage.getItem(key); } catch { return null; } };
  const store = (key, value) => { try { value ? localStorage.setItem(key, value) : localStorage.removeItem(key); } catch { /* not offered */ } };
  document.querySelectorAll("[data-draft]").forEach((area) => {
    const key = "draft-" + area.dataset.draft;
    if (!area.value) area.value = stored(key) || "";
    area.addEventListener("input", () => store(key, area.value));
    area.form.addEventListener("submit", () => { if (!area.form.hasAttribute("data-send")) store(key, ""); });
  });

  // An approval takes no tap while a thumb may still mean what stood there before -------------------------------------
  const places = new Map(); // the button's name -> its place and since when
  const nameOf = (button) => (button.closest("article") || main).id + button.value;
  const look = () => {
    const now = performance.now();
    const seen = new Set();
    main.querySelectorAll("[data-arm]").forEach((button) => {
      const box = button.getBoundingClientRect(), name = nameOf(button), old = places.get(name);
      seen.add(name);
      const top = box.top + scrollY;
      if (!old || Math.abs(old.top - top) > 4 || Math.abs(old.left - box.left) > 4) places.set(name, { top, left: box.left, since: old === undefined && !loaded ? -ARM_MS : now });
    });
    for (const name of places.keys()) if (!seen.has(name)) places.delete(name);
  };
  let loaded = false;
  document.addEventListener("click", (event) => {
    const button = event.target.closest && event.target.closest("[data-arm]");
    if (!button) return;
    const place = places.get(nameOf(button));
    if (place && performance.now() - place.since < ARM_MS) {
      event.preventDefault();
      event.stopImmediatePropagation();
      say("The page has just changed. Read it, then answer.");
    }
  }, true);
  document.addEventListener("keydown", (event) => { // a key that is held down answers nothing
    if (event.repeat && event.target.closest && event.target.closest(".decide")) event.preventDefault();
  });

  // Regions that follow -----------------------------------------------------------------------------------------------
  const drawn = new Map(); // id -> what the server has drawn
  main.querySelectorAll("[data-live]").forEach((part) => drawn.set(part.id, part.innerHTML));
  let cursor = Number(main.dataset.cursor || 0);
  let busy = false, again = false, looked = 0;

  const isAtEnd = () => scrollY + innerHeight > document.documentElement.scrollHeight - 160;
  const toEnd = () => scrollTo({ top: document.documentElement.scrollHeight, behavior: "instant" });

  const swap = (fresh) => {
    const before = new Set([...main.querySelectorAll("[data-request]")].map((one) => one.id));
    let changed = false;
    fresh.querySelectorAll("[data-live]").forEach((part) => {
      const old = byId(part.id), text = part.innerHTML;
      if (!old || drawn.get(part.id) === text) return;
      const focus = document.activeElement;
      // What somebody is typing in stays, until it is left.
      if (old.contains(focus) && /^(INPUT|TEXTAREA|SELECT)$/.test(focus.tagName) && focus.value !== focus.defaultValue) return;
      const opened = [...old.querySelectorAll("details[id]")].map((one) => [one.id, one.open]);
      const held = old.contains(focus) ? [focus.closest("[id]") && focus.closest("[id]").id, focus.name, focus.value, focus.tagName] : null;
      drawn.set(part.id, text);
      old.replaceChildren(...document.importNode(part, true).childNodes);
      opened.forEach(([id, open]) => { const one = byId(id); if (one) one.open = open; });
      if (held) {
        const scope = (held[0] && byId(held[0])) || old;
        const same = [...scope.querySelectorAll("button, a, input, textarea, select, summary")].find((one) => one.tagName === held[3] && one.name === held[1] && one.value === held[2]);
        (same || main).focus({ preventScroll: true });
      }
      changed = true;
    });
    const waiting = fresh.getElementById("waiting"), shown = byId("waiting");
    if (waiting && shown && waiting.innerHTML !== shown.innerHTML) shown.replaceChildren(...document.importNode(waiting, true).childNodes);
    document.title = fresh.title || document.title;
    main.querySelectorAll("[data-request]").forEach((one) => { if (!before.has(one.id)) say("It asks: " + one.dataset.request); });
    return changed;
  };

  const append = (fresh) => {
    const log = byId("entries"), area = fresh.getElementById("entries");
    if (!log || !area) return 0;
    let count = 0;
    [...area.children].forEach((entry) => {
      const seq = Number(entry.dataset.seq);
      if (seq <= cursor) return; // it is here already
      log.append(document.importNode(entry, true));
      cursor = seq;
      count += 1;
    });
    cursor = Math.max(cursor, Number(fresh.getElementById("main").dataset.cursor || 0));
    if (count) endTyping();
    return count;
  };

  const refresh = async () => {
    if (busy) { again = true; return; }
    busy = true;
    looked = performance.now();
    try {
      let more = true;
      while (more) {
        again = false;
        const address = new URL(location.href);
        if (main.dataset.events) address.searchParams.set("after", cursor);
        const answer = await fetch(address, { headers: { accept: "text/html", "x-page-part": "1" }, cache: "no-store", redirect: "manual" });
        if (answer.type === "opaqueredirect" || answer.status === 401) { location.reload(); return; }
        const text = await answer.text();
        if (answer.ok) {
          const fresh = new DOMParser().parseFromString(text, "text/html");
          const wasAtEnd = isAtEnd();
          const count = append(fresh);
          if (swap(fresh) || count) {
            if (main.dataset.events && wasAtEnd) toEnd(); else if (count && byId("latest")) byId("latest").hidden = false;
            look();
          }
          more = fresh.getElementById("main").hasAttribute("data-more") || again;
        } else more = false;
        failures = 0;
        if (!source || source.readyState !== 0) tell("on");
      }
    } catch {
      failures += 1;
      tell(navigator.onLine ? "again" : "off");
      clearTimeout(retry);
      retry = setTimeout(refresh, LADDER_MS[Math.min(failures, LADDER_MS.length - 1)]);
    } finally { busy = false; }
  };
  let failures = 0, retry = 0;

  // A session's events: they say that there is something new; the page itself says what ---------------------------------
  let source = null, timer = 0, settling = 0, reopen = 0, lastLook = 0;
  const soon = () => {
    // A session's own page follows at once; the others often enough to show an answer given elsewhere within a second.
    const pause = main.dataset.events ? 60 : Math.max(60, 600 - (performance.now() - looked));
    if (!timer) timer = setTimeout(() => { timer = 0; refresh(); }, pause);
    clearTimeout(settling); // an event may be told a moment before what it changes is stored
    settling = setTimeout(refresh, Math.max(500, pause));
  };
  const typing = byId("typing");
  let typed = "", frame = 0;
  const endTyping = () => { typed = ""; if (typing) { typing.hidden = true; typing.textContent = ""; } };
  const type = (event) => {
    if (event.kind && event.kind !== "agent_message") return;
    typed = (typed + event.text.replace(HIDDEN, "")).slice(-3000);
    if (!frame) frame = requestAnimationFrame(() => {
      frame = 0;
      const wasAtEnd = isAtEnd();
      typing.hidden = !typed;
      typing.textContent = typed;
      if (wasAtEnd) toEnd();
    });
  };
  const happened = (message) => {
    let event = {};
    try { event = JSON.parse(message.data); } catch { /* only a sign of life */ }
    if (event.type === "item_delta") { type(event); return; }
    if (event.type === "item_started" && event.item && event.item.kind === "agent_message") { endTyping(); type({ text: event.item.text || "" }); }
    // Words of a flood may come after the page has got the whole: then its end takes them away.
    if ((event.type === "item_ended" || event.type === "turn_ended") && event.seq <= cursor) endTyping();
    soon();
  };
  const follow = () => {
    if (!window.EventSource || main.hasAttribute("data-quiet")) return;
    if (source) source.close();
    clearTimeout(reopen);
    // The browser's own later tries bring Last-Event-ID; ours begin where the page stands. Other pages hear hints.
    source = new EventSource(main.dataset.events ? main.dataset.events + "?after=" + cursor : "/events");
    source.onopen = () => { tell("on"); refresh(); };
    source.onmessage = happened;
    source.onerror = () => {
      tell(navigator.onLine ? "again" : "off");
      if (source.readyState === 2) { // it is over: look, and ask again
        source = null;
        failures += 1;
        reopen = setTimeout(follow, LADDER_MS[Math.min(failures, LADDER_MS.length - 1)]);
        refresh();
      }
    };
  };
  const wake = () => { if (document.visibilityState === "hidden") return; if (!navigator.onLine) { tell("off"); return; } failures = 0; follow(); refresh(); };
  addEventListener("offline", () => tell("off"));
  addEventListener("online", () => { tell("again"); wake(); });
  addEventListener("pageshow", (event) => { if (event.persisted) wake(); });
  document.addEventListener("visibilitychange", wake);
  const pace = Number(main.dataset.poll || 0);
  if (pace || main.dataset.events) {
    tell(navigator.onLine ? "on" : "off");
    setInterval(() => { // without a stream of events, or with one that has died in silence
      const now = performance.now();
      if (document.visibilityState !== "visible" || (source && source.readyState === 1 && now - lastLook < 15000)) return;
      lastLook = now;
      refresh();
    }, pace || 3000);
    follow();
  }
  if (main.hasAttribute("data-more")) refresh();
  const latest = byId("latest");
  if (latest) {
    latest.addEventListener("click", () => { latest.hidden = true; toEnd(); });
    addEventListener("scroll", () => { if (isAtEnd()) latest.hidden = true; }, { passive: true });
    if (main.dataset.events && !location.hash) toEnd();
  }
  loaded = (look(), true);

  // Forms that leave the page where it is -------------------------------------------------------------------------------
  document.addEventListener("submit", async (event) => {
    const form = event.target;
    if (!form.hasAttribute("data-send")) return;
    event.preventDefault();
    if (form.dataset.sending) return;
    form.dataset.sending = "1";
    complain("");
    try {
      const body = new URLSearchParams(new FormData(form, event.submitter));
      if (form.dataset.body !== String(body)) { // the same order, sent again because no answer came, is carried out once
        form.dataset.body = String(body);
        form.dataset.key = Date.now() + "-" + Math.random();
      }
      const headers = { accept: "text/html", "x-page-part": "1", "idempotency-key": form.dataset.key };
      const answer = await fetch(form.getAttribute("action"), { method: "POST", body, headers });
      delete form.dataset.body;
      if (answer.ok) {
        if (form.hasAttribute("data-clear")) form.querySelectorAll("[data-draft]").forEach((area) => { area.value = ""; store("draft-" + area.dataset.draft, ""); });
        form.dispatchEvent(new CustomEvent("sent"));
        form.querySelectorAll("textarea").forEach((area) => { area.defaultValue = area.value; });
        say("Done.");
        if (answer.status === 200) { // a command behind a slash has something to say, or leads elsewhere
          const fresh = new DOMParser().parseFromString(await answer.text(), "text/html"), told = fresh.getElementById("told"), onward = fresh.getElementById("onward");
          if (onward && onward.getAttribute("href") !== location.pathname) { location.href = onward.getAttribute("href"); return; }
          if (told) complain(told.textContent, "told");
          else if (fresh.querySelector("[name=sure]")) form.submit(); // it destroys something: the page that asks
        }
      } else {
        const fresh = new DOMParser().parseFromString(await answer.text(), "text/html"), place = fresh.getElementById("error");
        if (fresh.querySelector("form[action='/confirm']")) { location.href = "/confirm?back=" + encodeURIComponent(location.pathname); return; }
        complain(place ? place.textContent : "The server refused it (" + answer.status + ").");
      }
    } catch {
      tell(navigator.onLine ? "again" : "off");
      complain("It was not sent: the computer cannot be reached. What you typed is kept; send it again when the line above says so.");
    } finally { delete form.dataset.sending; }
    refresh();
  });
  document.addEventListener("keydown", (event) => { // Enter breaks the line on a phone's keyboard; this sends from a real one
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey) && event.target.form && event.target.form.id === "composer") event.target.form.requestSubmit(byId("orders").querySelector("button"));
  });

  // Comments on lines are collected, over files, and sent as one prompt ---------------------------------------------------
  const review = byId("review");
  if (review) {
    const session = location.pathname.split("/")[2], key = "comments-" + session;
    const read = () => { try { return JSON.parse(stored(key) || "[]"); } catch { return []; } };
    const make = (tag, text, more) => Object.assign(document.createElement(tag), { textContent: text }, more);
    const draw = () => {
      const all = read();
      review.hidden = !all.length;
      review.replaceChildren(make("h2", all.length + (all.length === 1 ? " comment" : " comments")));
      all.forEach((one, place) => {
        const row = make("p", decodeURIComponent(one.path).replace(HIDDEN, "") + ":" + one.line + " " + one.text + " ");
        row.append(make("button", "Remove", { type: "button", onclick: () => { all.splice(place, 1); store(key, all.length ? JSON.stringify(all) : ""); draw(); } }));
        review.append(row);
      });
      const send = make("button", "Send all as one prompt", { type: "button", className: "main" });
      send.addEventListener("click", async () => {
        const body = new URLSearchParams();
        all.forEach((one) => { body.append("path", one.path); body.append("line", one.line); body.append("text", one.text); });
        send.disabled = true;
        try {
          const answer = await fetch("/sessions/" + session + "/comments", { method: "POST", body, headers: { accept: "text/html", "x-page-part": "1" } });
          if (answer.ok) { store(key, ""); location.href = "/sessions/" + session; return; }
          const place = new DOMParser().parseFromString(await answer.text(), "text/html").getElementById("error");
          complain(place ? place.textContent : "The server refused it (" + answer.status + ").");
        } catch { complain("It was not sent: the computer cannot be reached. The comments are kept."); }
        send.disabled = false;
      });
      review.append(send);
    };
    draw();
    const form = byId("comment"), lines = byId("lines");
    if (form) {
      const collect = byId("collect");
      collect.hidden = byId("how").hidden = false;
      collect.addEventListener("click", () => {
        if (!form.reportValidity()) return;
        store(key, JSON.stringify([...read(), { path: form.elements.path.value, line: form.elements.line.value, text: form.elements.text.value }]));
        form.elements.text.value = "";
        draw();
        say("Collected.");
      });
      lines.addEventListener("click", (event) => {
        const line = event.target.closest("i[id]");
        if (!line || String(getSelection())) return;
        lines.querySelectorAll(".on").forEach((one) => one.classList.remove("on"));
        line.classList.add("on");
        form.elements.line.value = line.id.slice(1);
        form.elements.text.focus();
      });
    }
  }

  // Pairing: the code is behind the #, which no browser sends; it leaves the history at once ----------------------------
  const pair = byId("pair");
  if (pair) {
    const code = location.hash.slice(1).split("&")[0];
    if (code) {
      history.replaceState(null, "", location.pathname);
      pair.elements.code.value = code;
      pair.requestSubmit();
    }
  }
})();

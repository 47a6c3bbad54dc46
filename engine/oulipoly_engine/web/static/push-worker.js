// Shows what the server sends by web push. It keeps no page, and stands before no request of one.
"use strict";
const show = (body, tag, more) => registration.showNotification("agents", { body, tag, ...more });

const settle = async (tag, word) => {
  // Browsers want something shown for every message. This takes the notice's place, and goes at once.
  await show(word, tag, { silent: true });
  for (const one of await registration.getNotifications({ tag })) one.close();
};

const answer = async (tag, token, decision) => {
  let problem = "the computer cannot be reached";
  try {
    const headers = { authorization: "Bearer " + token, "content-type": "application/json" };
    const reply = await fetch("/requests/" + encodeURIComponent(tag), {
      method: "POST", credentials: "omit", cache: "no-store", headers, body: JSON.stringify({ decision }),
    });
    if (reply.ok) return;
    problem = (await reply.json()).error.message;
  } catch { /* it is said below */ }
  await show("Not answered: " + problem, tag);
};

const open = async (tag, token) => {
  const page = token ? "/requests/" + encodeURIComponent(tag) : "/";
  const windows = await clients.matchAll({ type: "window", includeUncontrolled: true });
  const there = windows.find((one) => new URL(one.url).pathname === page);
  await (there ? there.focus() : clients.openWindow(page));
};

addEventListener("install", () => skipWaiting());
addEventListener("push", (event) => {
  const told = event.data.json(), words = { deny: "Deny", approve: "Allow" };
  const over = { request_settled: "Answered.", alert_over: "It is over." }[told.event];
  event.waitUntil(over ? settle(told.request_id, over) : show(told.message, told.request_id, {
    data: told.token, requireInteraction: true,
    actions: told.decisions.map((action) => ({ action, title: words[action] })),
  }));
});
addEventListener("notificationclick", (event) => {
  const { tag, data } = event.notification;
  event.notification.close();
  event.waitUntil(event.action ? answer(tag, data, event.action) : open(tag, data));
});

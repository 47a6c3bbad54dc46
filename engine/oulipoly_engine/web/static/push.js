// A browser that can show notices while the page is closed switches them on and off here, for itself.
"use strict";
(() => {
  const part = document.getElementById("push");
  if (!part || !isSecureContext || !("serviceWorker" in navigator && "PushManager" in window && "Notification" in window)) return;
  const show = (state) => part.querySelectorAll("[data-push]").forEach((one) => { one.hidden = one.dataset.push !== state; });
  const complain = (text) => {
    const place = document.getElementById("problem");
    place.hidden = !text;
    place.textContent = text;
    if (text) place.scrollIntoView({ block: "nearest" });
  };
  const call = async (method, told) => {
    const body = told && JSON.stringify(told);
    const answer = await fetch("/me/push", { method, body, headers: { accept: "application/json", "content-type": "application/json" } });
    const found = await answer.json();
    if (!answer.ok) throw new Error(found.error.message);
    return found;
  };
  const known = async () => {
    const worker = await navigator.serviceWorker.getRegistration("/");
    return worker && worker.pushManager.getSubscription();
  };
  const start = async () => {
    if (await Notification.requestPermission() !== "granted") throw new Error("its settings forbid this page to notify you");
    await navigator.serviceWorker.register("/push-worker.js");
    const worker = await navigator.serviceWorker.ready, { public_key: applicationServerKey } = await call("GET");
    const old = await worker.pushManager.getSubscription();
    if (old) await old.unsubscribe(); // it may be bound to another key
    const made = await worker.pushManager.subscribe({ userVisibleOnly: true, applicationServerKey });
    try { await call("PUT", made); } catch (error) { await made.unsubscribe(); throw error; }
  };
  const stop = async () => {
    await call("DELETE");
    const made = await known();
    if (made) await made.unsubscribe();
  };
  part.addEventListener("click", async (event) => {
    const wanted = event.target.dataset.wanted;
    if (!wanted) return;
    event.target.disabled = true;
    complain("");
    try {
      await (wanted === "on" ? start() : stop());
      show(wanted);
      part.querySelector(`[data-push=${wanted}] button`).focus();
    } catch (error) {
      const trust = error.name === "SecurityError" ? "The browser does not trust the certificate of this server. " : "";
      complain("The browser did not do it. " + trust + error.message);
    } finally { event.target.disabled = false; }
  });
  known().catch(() => null).then((made) => show(made && part.hasAttribute("data-on") ? "on" : "off"));
})();

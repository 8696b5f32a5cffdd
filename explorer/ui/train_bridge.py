"""The tab Train's only script: it asks for news while someone looks, and passes on clicks on a run's buttons.

News is asked for every few seconds while a run is alive, rarely otherwise, and never while the list is out of sight or the
window is hidden. What is on the page is told along (a stamp for each part), so that only what changed comes back. The first
look is an event of gradio's, which makes the parts; the others ask train_news, which costs the server far less.
"""

from __future__ import annotations

from typing import Any

import gradio as gr

from explorer.ui import train_news

# Milliseconds between two looks while no run is alive; while one is, the list itself says how many.
IDLE = 15_000
POLL, ACT, CLONE, EXPORT = "poll", "act", "clone", "export"

_SCRIPT = """
const idle = %(idle)d;
const viewer = Math.random().toString(36).slice(2);
const kept = {};
let last = 0, renamed = '', asking = false, chosen = {job: '', at: 0};
const part = (name) => document.querySelector('#train-' + name + ' [data-stamp]')?.dataset.stamp ?? '';
const seen = () => ({
    viewer, job: document.querySelector('#train-job [data-job]')?.dataset.job
        ?? new URL(window.location.href).searchParams.get('job') ?? '',
    history: part('history'), view: part('job'), papers: part('papers'),
    plot: document.querySelector('#train-plot .js-plotly-plot')?.layout?.meta?.stamp ?? '',
});
const remember = (job) => {
    const address = new URL(window.location.href);
    address.searchParams.set('tab', 'train');
    if (job) address.searchParams.set('job', job);
    else address.searchParams.delete('job');
    window.history.replaceState(window.history.state, '', address);
};
// Another tab was opened: its address is no longer this tab's.
const leave = () => {
    const address = new URL(window.location.href);
    if (address.searchParams.get('tab') !== 'train') return;
    address.searchParams.delete('tab');
    address.searchParams.delete('job');
    window.history.replaceState(window.history.state, '', address);
};
// A part that comes anew is as open or closed as a person left it ...
const reopen = () => {
    for (const item of document.querySelectorAll('#train-runs details[data-keep]'))
        if (item.dataset.keep in kept && item.open !== kept[item.dataset.keep]) item.open = kept[item.dataset.keep];
};
// ... and who is in it with the keyboard, or has scrolled its log, stays there.
const placeIn = (part) => {
    const all = (what) => [...part.querySelectorAll(what)];
    const reached = 'button, summary, input, [tabindex]';
    const at = all(reached).indexOf(document.activeElement), tops = all('pre').map((item) => item.scrollTop);
    return () => {
        reopen();
        if (at >= 0) all(reached)[at]?.focus({preventScroll: true});
        all('pre').forEach((item, number) => { item.scrollTop = tops[number] ?? 0; });
    };
};
const figure = () => document.querySelector('#train-plot .js-plotly-plot');
// What came takes the place of what it follows; a part that was changed meanwhile, by an act, is left as it is.
const show = (news, before) => {
    for (const [name, part] of [['history', 'history'], ['job', 'view'], ['papers', 'papers']]) {
        const old = document.querySelector('#train-' + name + ' [data-stamp]');
        if (!(name in news) || old?.dataset.stamp !== before[part]) continue;
        const place = placeIn(old);
        const made = new DOMParser().parseFromString(news[name], 'text/html').body.firstElementChild;
        old.replaceChildren(...made.childNodes);
        old.dataset.stamp = made.dataset.stamp;
        place();
    }
    if (news.plot && figure()?.layout?.meta?.stamp === before.plot)
        window.Plotly.react(figure(), news.plot.data, {...news.plot.layout, autosize: true}, {responsive: true});
};
const ask = async (before) => {
    if (asking) return;
    asking = true;
    try {
        const root = window.gradio_config?.root ?? '';
        const answer = await fetch(root + '%(path)s?' + new URLSearchParams(before),
            {headers: {'%(header)s': '%(key)s'}, signal: AbortSignal.timeout(20000)});
        if (answer.ok) show(await answer.json(), before);
        else trigger('poll', before);
    } catch {  // the server is away; the next look asks again
    } finally { asking = false; }
};
// Where a run is gone and another is shown in its place, the address names that one; where none is left, none.
const follow = () => {
    const address = new URL(window.location.href).searchParams;
    const named = address.get('job'), shown = document.querySelector('#train-job [data-job]')?.dataset.job;
    if (shown === chosen.job || Date.now() - chosen.at > 10000) chosen = {job: '', at: 0};
    if (!named || named === shown || address.get('tab') !== 'train' || renamed || chosen.job) return;
    if (shown || part('job')) remember(shown);
};
const look = () => {
    // The address follows a new name once the run has it.
    if (renamed && document.querySelector('#train-job [data-job]')?.dataset.job === renamed) {
        remember(renamed);
        renamed = '';
    }
    const list = document.querySelector('#train-history');
    if (document.querySelector('#train-parts')?.offsetParent === null) { leave(); return; }
    if (!list || list.offsetParent === null || document.hidden) return;
    follow();
    // By the clock: pages that ask together keep the server awake for less time than pages that ask each on its own.
    const every = Number(list.querySelector('[data-busy]')?.dataset.busy) || idle, turn = Math.floor(Date.now() / every);
    if (turn === last) return;
    last = turn;
    if (part('history') && (!part('job') || (figure() && window.Plotly))) ask(seen()); else trigger('poll', seen());
};
const copy = (button) => {
    const text = button.parentElement.querySelector('code').textContent;
    const done = () => { button.textContent = 'Copied'; setTimeout(() => { button.textContent = 'Copy'; }, 1500); };
    const select = () => window.getSelection().selectAllChildren(button.parentElement.querySelector('code'));
    if (navigator.clipboard) navigator.clipboard.writeText(text).then(done, select); else select();
};
setInterval(look, 250);
document.addEventListener('click', (event) => {
    const button = event.target.closest?.('[data-train]');
    if (!button) return;
    const {train: what, job} = button.dataset;
    if (what === 'copy') { copy(button); return; }
    if (what === 'choose') { remember(job); chosen = {job, at: Date.now()}; }
    const text = button.parentElement.querySelector('[data-text]')?.value ?? '';
    renamed = what === 'rename' ? text.trim() : '';
    if (what === 'clone') { trigger('clone', {job}); return; }
    if (what === 'export') { trigger('export', {job}); return; }
    if (button.closest('.acts')) button.disabled = true;
    trigger('act', {...seen(), what, job, text});
});
document.addEventListener('toggle', (event) => {
    const key = event.target.dataset?.keep;
    if (key) kept[key] = event.target.open;
}, true);
// An act that was refused changes no part: once its outcome is told, the buttons can be pressed again.
new MutationObserver((changes) => {
    const status = document.querySelector('#train-status');
    if (changes.some((change) => status?.contains(change.target)))
        for (const button of document.querySelectorAll('#train-job .acts button:disabled')) button.disabled = false;
    reopen();
}).observe(document.body, {childList: true, subtree: true});
"""


def bridge(key: str) -> gr.HTML:
    """Places the component without a look that carries the script; listen to its events POLL, ACT, CLONE and EXPORT.

    Args:
        key: With which the page asks for news; from train_news.open_news.
    """
    script = _SCRIPT % {"idle": IDLE, "path": train_news.PATH, "header": train_news.KEY_HEADER, "key": key}
    return gr.HTML("", js_on_load=script, container=False, padding=False, elem_classes="bridge", elem_id="train-bridge")


def told(event: gr.EventData) -> dict[str, Any]:
    """Returns what the script sent along, every value as text; whatever else a caller sends is dropped."""
    data = event._data if isinstance(event._data, dict) else {}
    names = ("viewer", "job", "history", "view", "papers", "plot", "what", "text")
    return {name: str(data.get(name) or "")[:200] for name in names}

// The elements with text whose colours no page before this one has shown: one for every combination
// of what decides a contrast, the one with the longest text of its own.  These are the colours of the
// text, its size and weight, and all that lies behind it.  `known` are the combinations that were
// seen.  Returns those that are new here; their elements wait in `window.unseen`.
known => {
    const clear = 'rgba(0, 0, 0, 0),none,1,static,none,normal';
    const behind = new Map([[null, '']]);
    const below = e => {
        if (!behind.has(e)) {
            const s = getComputedStyle(e);
            const drawn = [s.backgroundColor, s.backgroundImage, s.opacity, s.position, s.filter,
                s.mixBlendMode].join();
            behind.set(e, below(e.parentElement) + (drawn === clear ? '' : '/' + drawn));
        }
        return behind.get(e);
    };
    const own = e => [...e.childNodes].filter(n => n.nodeType === Node.TEXT_NODE)
        .map(n => n.data.trim()).join('');
    const seen = new Set(known), found = new Map();
    for (const e of document.body.querySelectorAll('*')) {
        const said = own(e).length;
        if (!said || e.closest('mjx-container') || !e.checkVisibility()) continue;
        const s = getComputedStyle(e);
        const look = [below(e), s.color, s.fontSize, s.fontWeight, s.textShadow].join(';');
        if (!seen.has(look) && said > (found.get(look)?.said ?? 0)) found.set(look, { said, e });
    }
    window.unseen = [...found.values()].map(f => f.e);
    return [...found.keys()];
}

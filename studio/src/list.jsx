// A long list of rows of the same height. Only the visible rows are in the page.

import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";

/** The height of a row, in CSS pixels. */
const ROW = 28;

/** How many rows above and below the visible ones are in the page, too. */
const AROUND = 20;

/**
 * Arrow keys move from row to row; Enter and Delete act on the current row. The Tab key skips what is inside the
 * rows.
 *
 * @param {{label: string, items: any[], keyOf: (item: any, at: number) => string | number,
 *   row: (item: any) => any, onEnter?: (item: any) => void, onDelete?: (row: HTMLElement) => void,
 *   onEnd?: () => void}} props
 */
export function LongList({ label, items, keyOf, row, onEnter, onDelete, onEnd }) {
  const place = useRef(null);
  const [range, setRange] = useState([0, 60]);
  const [, again] = useState(0);
  // The current row of the keyboard, and whether to focus it once it is in the page.
  const at = useRef(-1);
  const isWanted = useRef(false);
  const look = () => {
    if (!place.current) return;
    const { scrollTop, clientHeight } = place.current;
    const last = Math.ceil((scrollTop + clientHeight) / ROW) + AROUND;
    setRange([Math.max(0, Math.floor(scrollTop / ROW) - AROUND), last]);
    if (last >= items.length) onEnd?.();
  };
  useEffect(look, [items]);
  useLayoutEffect(() => {
    const element = isWanted.current && place.current?.querySelector(`[data-at="${at.current}"]`);
    if (!element) return;
    isWanted.current = false;
    element.focus({ preventScroll: true });
  });
  const onKeyDown = (event) => {
    const { target, key } = event;
    const isRow = target.dataset.at !== undefined;
    if (!isRow && target !== place.current) return;
    if (isRow && !isWanted.current) at.current = Number(target.dataset.at);
    const page = Math.max(1, Math.floor(place.current.clientHeight / ROW) - 1);
    const from = at.current;
    const steps = { ArrowDown: from + 1, ArrowUp: from - 1, Home: 0, End: items.length - 1, PageDown: from + page, PageUp: from - page };
    if (key in steps) {
      event.preventDefault();
      const next = Math.min(Math.max(steps[key], 0), items.length - 1);
      const [top, { scrollTop, clientHeight }] = [next * ROW, place.current];
      if (top < scrollTop) place.current.scrollTop = top;
      else if (top + ROW > scrollTop + clientHeight) place.current.scrollTop = top + ROW - clientHeight;
      at.current = next;
      isWanted.current = true;
      again((n) => n + 1);
      look();
    } else if (key === "Enter" && onEnter && items[from]) {
      event.preventDefault();
      onEnter(items[from]);
    } else if (isRow && key === "Delete" && onDelete) {
      event.preventDefault();
      onDelete(target);
    }
  };
  const [first, last] = range;
  return (
    <div class="list" ref={place} onScroll={look} onKeyDown={onKeyDown} tabIndex={0} role="region" aria-label={label}>
      <ul class="window" ref={(list) => list && (list.style.height = `${items.length * ROW}px`)}>
        {items.slice(first, last).map((item, n) => (
          <li key={keyOf(item, first + n)} data-at={first + n} tabIndex={-1}
            ref={(element) => element && (element.style.top = `${(first + n) * ROW}px`)}>
            {row(item)}
          </li>
        ))}
      </ul>
    </div>
  );
}
